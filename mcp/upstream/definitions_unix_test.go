//go:build unix

package upstream

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"
)

func TestDefinitionsFileIsOursAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, definitionsName)
	writeFile(t, path, "")
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	d := openDefinitions(dir, zap.NewNop())
	d.learn("a", nil)
	d.close()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
}
