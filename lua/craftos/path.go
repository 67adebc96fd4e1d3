package craftos

import (
	"strings"
)

// maxPathPart is the length of the longest name within a path, as in CC:Tweaked.
const maxPathPart = 255

// cleanPath normalises a path as CC:Tweaked does: no leading slash, no empty parts, "." and ".." resolved. A path
// that leaves the root keeps its leading "..".
func cleanPath(path string) string { return clean(path, false) }

func clean(path string, wildcards bool) string {
	kept := make([]byte, 0, len(path))
	for _, c := range []byte(path) {
		switch {
		case c == '\\':
			kept = append(kept, '/')
		case c < 0x20, strings.IndexByte(`":<>|`, c) >= 0, !wildcards && (c == '*' || c == '?'):
		default:
			kept = append(kept, c)
		}
	}
	path = string(kept)
	var parts []string
	for _, part := range strings.Split(path, "/") {
		part = strings.Trim(part, " ") // from 1.102 on
		switch {
		case part == "" || strings.Trim(part, ".") == "" && len(part) != 2:
			continue
		case part == "..":
			if n := len(parts); n > 0 && parts[n-1] != ".." {
				parts = parts[:n-1]
			} else {
				parts = append(parts, "..")
			}
		default:
			if len(part) > maxPathPart {
				part = strings.TrimSpace(part[:maxPathPart])
			}
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/")
}

// escapes reports whether a clean path leads out of the root.
func escapes(path string) bool { return path == ".." || strings.HasPrefix(path, "../") }

// within reports whether a clean path is the directory or below it.
func within(path, dir string) bool {
	return dir == "" || path == dir || strings.HasPrefix(path, dir+"/")
}

func parentPath(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return ""
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
