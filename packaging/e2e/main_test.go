//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// programs is where what the tests build is kept, for all of them.
var programs struct {
	mu  sync.Mutex // held while one is built
	dir string
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "te")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programs.dir = dir
	goleak.VerifyTestMain(afterwards{m}, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// afterwards runs the tests, and ends what the HTTP client keeps for later before leaks are looked for.
type afterwards struct{ *testing.M }

func (a afterwards) Run() int {
	code := a.M.Run()
	http.DefaultClient.CloseIdleConnections()
	return code
}

// build builds a program, once for all tests, and gives its path.
func build(t *testing.T, pkg string) string {
	t.Helper()
	programs.mu.Lock()
	defer programs.mu.Unlock()
	program := filepath.Join(programs.dir, path.Base(pkg))
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "e2e", "-o", program, pkg).CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	return program
}
