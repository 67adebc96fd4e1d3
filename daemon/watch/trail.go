package watch

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many symbolic links a path may pass through: the kernel's own limit (path_resolution(7)).
const maxLinks = 40

// trail is what the resolution of one path depends on, as it was at one moment. Its paths are real: no component but the
// last is a symbolic link.
type trail struct {
	dirs  []string // the directories to watch; all existed
	names []string // the entries whose change may change what the path leads to, each in some directory
}

// trace follows path, which is absolute, as the kernel would.
func trace(path string) trail {
	var t trail
	dir, rest := split(path)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			dir = filepath.Dir(dir) // dir is real, so that its parent is the one it is spelled in
			continue
		}
		next := filepath.Join(dir, name)
		t.names = append(t.names, next)
		info, err := os.Lstat(next)
		switch {
		case err == nil && info.Mode()&fs.ModeSymlink != 0:
			t.dirs = append(t.dirs, dir)
			target, err := os.Readlink(next)
			if links++; err != nil || links > maxLinks {
				return t
			}
			root, more := dir, components(target)
			if filepath.IsAbs(target) {
				root, more = split(target)
			}
			dir, rest = root, append(more, rest...)
		case err != nil, len(rest) == 0, !passable(info):
			// The last one, or the way ends here: something may yet appear in dir.
			t.dirs = append(t.dirs, dir)
			return t
		default:
			dir = next
		}
	}
	return t
}

// passable says whether there can be entries below it. A Windows junction is neither directory nor link to Go.
func passable(info fs.FileInfo) bool { return info.IsDir() || info.Mode()&fs.ModeIrregular != 0 }

// split takes an absolute path apart.
func split(path string) (root string, rest []string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), components(path[len(volume):])
}

// components are the parts of a path without the empty ones and dots.
func components(path string) []string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
	kept := parts[:0]
	for _, p := range parts {
		if p != "." {
			kept = append(kept, p)
		}
	}
	return kept
}
