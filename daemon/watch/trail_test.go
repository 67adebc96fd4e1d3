//go:build unix

package watch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTrace resolves paths in a small world: real is a directory with file, links lead to it and elsewhere.
func TestTrace(t *testing.T) {
	dir := realDir(t)
	if err := os.MkdirAll(filepath.Join(dir, "real", "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "real", "file"), "")
	for link, target := range map[string]string{
		"dirlink": "real", "abslink": filepath.Join(dir, "real"), "filelink": "./real//deep/../file", "dangling": "none/of/it",
		"loop": "loop/x", "up": "real/deep/..",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ path, dirs, names string }{
		{"real/file", "real", "real real/file"},
		{"real/none", "real", "real real/none"},
		{"real/no/no/no", "real", "real real/no"},
		{"real/file/x", "real", "real real/file"},
		{"real/deep", "real", "real real/deep"},
		{"dirlink/file", ". real", "dirlink real real/file"},
		{"abslink/file", ". real", "abslink real real/file"},
		{"filelink", ". real", "filelink real real/deep real/file"},
		{"dangling", ".", "dangling none"},
		{"up/file", ". real", "real real/deep real/file up"},
		{"dirlink/../real/file", ". real", "dirlink real real/file"},
		{"dirlink/deep/../file", ". real", "dirlink real real/deep real/file"},
		{"loop", ".", "loop"},
	} {
		got := trace(dir + "/" + c.path)
		if dirs := below(t, dir, got.dirs); dirs != c.dirs {
			t.Errorf("%s: watches %q, want %q", c.path, dirs, c.dirs)
		}
		if names := strings.TrimPrefix(below(t, dir, got.names), ". "); names != c.names {
			t.Errorf("%s: cares for %q, want %q", c.path, names, c.names)
		}
	}
}

// below are the paths that are in dir, relative to it, sorted, each once.
func below(t *testing.T, dir string, paths []string) string {
	t.Helper()
	var in []string
	for _, p := range paths {
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(rel, "..") {
			in = append(in, rel)
		}
	}
	slices.Sort(in)
	return strings.Join(slices.Compact(in), " ")
}
