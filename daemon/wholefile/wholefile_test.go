package wholefile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, data := range [][]byte{[]byte("first, and longer"), []byte("second"), {}} {
		if err := Replace(path, data, 0o640); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, data) {
			t.Errorf("holds %q, %v; want %q", got, err, data)
		}
	}
	onlyEntry(t, dir)
}

func TestReplaceALink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(t.TempDir(), "link")
	if err := os.WriteFile(target, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Logf("no links here, a file is as good: %v", err)
	}
	if err := Replace(link, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(target); string(got) != "kept" {
		t.Errorf("the link was followed: %q", got)
	}
	if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() {
		t.Errorf("no regular file in the link's place: %v, %v", info, err)
	}
}

func TestReplaceLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "f", "inside"), 0o700); err != nil { // cannot be renamed over
		t.Fatal(err)
	}
	if err := Replace(filepath.Join(dir, "f"), []byte("x"), 0o600); err == nil {
		t.Error("a folder was replaced")
	}
	onlyEntry(t, dir)
	if err := Replace(filepath.Join(dir, "missing", "f"), []byte("x"), 0o600); err == nil {
		t.Error("a file was made in a folder that is not there")
	}
}

func onlyEntry(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "f" {
		t.Errorf("the folder holds %v, %v; want f alone", entries, err)
	}
}
