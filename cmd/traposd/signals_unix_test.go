//go:build unix

package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// foreground is `traposd run` in a process of its own.
type foreground struct {
	cmd *exec.Cmd
	log *os.File // its stderr
	out *bufio.Reader
	mcp string // host:port
}

var mcpAddress = regexp.MustCompile(`"mcp":"http://([^/"]+)/mcp"`)

func startService(t *testing.T) *foreground {
	t.Helper()
	run, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), awaitLimit)
	t.Cleanup(cancel)
	s := &foreground{cmd: exec.CommandContext(ctx, "traposd", "run"), log: read, out: bufio.NewReader(read)}
	t.Cleanup(func() { _ = read.Close() })
	s.cmd.Env = append(os.Environ(), "TRAPOS_RUNTIME_DIR="+run, "TRAPOS_CONFIG_DIR="+filepath.Join(run, "c"), "TRAPOS_STATE_DIR="+filepath.Join(run, "s"),
		"TRAPOS_MCP_ADDR=127.0.0.1:0", "TRAPOS_GATEWAY_ADDR=off", "TRAPOS_LOG_FORMAT=json")
	s.cmd.Stderr = write
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	s.mcp = mcpAddress.FindStringSubmatch(s.await(t, `"listening"`))[1]
	return s
}

// await reads the log up to the line with that text.
func (s *foreground) await(t *testing.T, text string) string {
	t.Helper()
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			t.Fatalf("the log ended before %s: %v", text, err)
		}
		if strings.Contains(line, text) {
			return line
		}
	}
}

func (s *foreground) signal(t *testing.T, sig os.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

func TestHangupDoesNotEndAStop(t *testing.T) {
	s := startService(t)
	ctx, cancel := context.WithTimeout(t.Context(), awaitLimit)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.mcp)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	// Half a request keeps the stop going for a moment.
	if _, err := io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	s.signal(t, syscall.SIGTERM)
	s.await(t, `"stopping"`)
	s.signal(t, syscall.SIGHUP)
	if err := s.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestServiceOutlivesTheReaderOfItsLog(t *testing.T) {
	s := startService(t)
	_ = s.log.Close()
	began := time.Now()
	s.signal(t, syscall.SIGTERM) // the stop is logged
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}
