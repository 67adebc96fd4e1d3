//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// limit bounds every wait. A cold npx takes 10 s here and minutes on a slow line.
const limit = 3 * time.Minute

// bed is one running traposd with a workspace of its own.
type bed struct {
	t         *testing.T
	dir       string // holds all of it; its last element is a name that nothing else has
	program   string
	npm       string // the folder that setup filled
	env       []string
	workspace string
	log       syncBuffer
	service   *exec.Cmd
	url       string // of the listener
	gateway   string
}

// syncBuffer keeps what a process writes.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *syncBuffer) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf.Reset()
}

// newBed lays out the folders of a service.
func newBed(t *testing.T) *bed {
	t.Helper()
	npm := os.Getenv("E2E_DIR")
	if npm == "" {
		t.Fatal("E2E_DIR is not set: run packaging/e2e/setup DIR first, and set it to DIR")
	}
	dir, err := os.MkdirTemp("", "te")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &bed{t: t, dir: dir, npm: npm, program: build(t, "github.com/traposd/traposd/cmd/traposd"), workspace: filepath.Join(dir, "work")}
	for _, d := range []string{b.workspace, filepath.Join(dir, "run")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.env = append(os.Environ(),
		"TRAPOS_SERVER_PASSWORD=x", "TRAPOS_MCP_ADDR=127.0.0.1:0", "TRAPOS_GATEWAY_ADDR=127.0.0.1:0", "TRAPOS_LOG_FORMAT=json",
		"TRAPOS_RUNTIME_DIR="+filepath.Join(dir, "run"), "TRAPOS_CONFIG_DIR="+filepath.Join(dir, "config"), "TRAPOS_STATE_DIR="+filepath.Join(dir, "state"),
		"npm_config_cache="+filepath.Join(npm, "npm-cache"),
		"PATH="+filepath.Join(npm, "node_modules", ".bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	return b
}

func (b *bed) mustRun(cmd *exec.Cmd) string {
	b.t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

// command is a command in the bed's environment.
func (b *bed) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(b.t.Context(), name, args...)
	cmd.Env = b.env
	return cmd
}

// write replaces the workspace's .mcp.json as editors do: a new file renamed over it.
func (b *bed) write(config string) {
	b.t.Helper()
	path := filepath.Join(b.workspace, ".mcp.json")
	if err := os.WriteFile(path+"~", []byte(config), 0o600); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Rename(path+"~", path); err != nil {
		b.t.Fatal(err)
	}
}

// start runs the service and waits until it answers.
func (b *bed) start() {
	b.t.Helper()
	b.t.Cleanup(func() {
		b.kill()
		if b.t.Failed() {
			b.t.Logf("the service's log:\n%s", b.log.String())
		}
	})
	b.launch()
	b.awaitListener()
}

// launch runs the service; its log begins anew. Whoever calls it kills or stops it.
func (b *bed) launch() {
	b.t.Helper()
	b.log.Reset()
	b.url, b.gateway = "", ""
	b.service = exec.Command(b.program, "run", "--workspace", b.workspace) //nolint:noctx // it is ended by stop or kill
	b.service.Env, b.service.Stderr = b.env, &b.log
	if err := b.service.Start(); err != nil {
		b.t.Fatal(err)
	}
}

// awaitListener waits until the service answers, and notes where.
func (b *bed) awaitListener() {
	b.t.Helper()
	b.await("the listener", func() bool {
		for line := range strings.Lines(b.log.String()) {
			var event struct{ Msg, MCP, Gateway string }
			if json.Unmarshal([]byte(line), &event) == nil && event.Msg == "listening" {
				b.url, b.gateway = event.MCP, event.Gateway
			}
		}
		return b.url != ""
	})
}

// kill ends the service with SIGKILL, unless it has ended.
func (b *bed) kill() {
	if b.service != nil && b.service.ProcessState == nil {
		_ = b.service.Process.Kill()
		_ = b.service.Wait()
	}
}

// stop ends the service as a service manager does, and fails if it takes longer than its bound.
func (b *bed) stop() {
	b.t.Helper()
	if err := b.service.Process.Signal(syscall.SIGTERM); err != nil {
		b.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- b.service.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			b.t.Errorf("the service ended with %v", err)
		}
	case <-time.After(15 * time.Second):
		b.t.Fatal("the service did not end within 15 s of SIGTERM")
	}
}

func (b *bed) await(what string, there func() bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond) // most of these start a process each time
	defer tick.Stop()
	for !there() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			if b.service != nil && b.service.ProcessState == nil {
				_ = b.service.Process.Signal(syscall.SIGQUIT) // its goroutines go into the log
				_ = b.service.Wait()
			}
			b.t.Fatalf("waited %v for %s in vain", limit, what)
		}
	}
}

// server is one row of `traposd servers --json`.
type server struct {
	Name, State, Error, Transport string
	PID, Tools                    int
	Since                         time.Time
}

// servers are all rows, by name.
func (b *bed) servers() map[string]server {
	b.t.Helper()
	var report struct{ Servers []server }
	out := b.mustRun(b.command(b.program, "servers", "--json"))
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		b.t.Fatal(err)
	}
	rows := map[string]server{}
	for _, s := range report.Servers {
		rows[s.Name] = s
	}
	return rows
}

func (b *bed) server(name string) server {
	b.t.Helper()
	return b.servers()[name]
}

// inspect asks through the inspector's command line, as a person would.
func (b *bed) inspect(args ...string) string {
	b.t.Helper()
	args = append([]string{"--cli", b.url, "--transport", "http"}, args...)
	cmd := b.command(filepath.Join(b.npm, "node_modules", ".bin", "mcp-inspector"), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		b.t.Fatalf("mcp-inspector %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}
