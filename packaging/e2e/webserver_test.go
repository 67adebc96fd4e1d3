//go:build e2e

package e2e

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// webServer is server-everything over HTTP, in a process of the test's own.
type webServer struct {
	b    *bed
	mode string // sse or streamableHttp
	port string
	cmd  *exec.Cmd
	log  syncBuffer
}

func (b *bed) newWebServer(mode string) *webServer {
	b.t.Helper()
	s := &webServer{b: b, mode: mode, port: "0"}
	s.start()
	b.t.Cleanup(func() {
		s.kill()
		if b.t.Failed() {
			b.t.Logf("server-everything %s wrote:\n%s", mode, s.log.String())
		}
	})
	return s
}

func (s *webServer) url(path string) string { return "http://127.0.0.1:" + s.port + path }

// start runs it until kill, at the port that it had before. A connection to somewhere may have that port for a moment:
// then it ends at once, and is started again.
func (s *webServer) start() {
	s.b.t.Helper()
	s.b.await("server-everything "+s.mode, func() bool {
		modules := filepath.Join(s.b.npm, "node_modules")
		s.cmd = exec.Command(filepath.Join(modules, ".bin", "node"), "--require", "./loopback.cjs", //nolint:noctx // ended by kill
			filepath.Join(modules, "@modelcontextprotocol", "server-everything", "dist", "index.js"), s.mode)
		s.cmd.Env = append(s.b.env, "PORT="+s.port)
		s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
		r, w, err := os.Pipe()
		if err != nil {
			s.b.t.Fatal(err)
		}
		s.cmd.ExtraFiles = []*os.File{w}
		err = s.cmd.Start()
		_ = w.Close()
		if err != nil {
			s.b.t.Fatal(err)
		}
		port, _ := io.ReadAll(r) // it ends when the server has written it, or has ended
		_ = r.Close()
		if len(port) == 0 {
			s.kill()
			return false
		}
		s.port = string(port)
		return true
	})
}

func (s *webServer) kill() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}
