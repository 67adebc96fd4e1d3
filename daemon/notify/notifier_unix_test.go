//go:build unix

package notify

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("NOTIFY_TEST_INHERIT") != "" {
		inherit()
		return
	}
	goleak.VerifyTestMain(m)
}

// manager is the receiving end of NOTIFY_SOCKET.
type manager struct {
	t    *testing.T
	conn *net.UnixConn
}

func newManager(t *testing.T) *manager {
	t.Helper()
	dir, err := os.MkdirTemp("", "no") // short: a socket's path has little room
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "n")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return &manager{t, conn}
}

// next is the next message, line by line.
func (m *manager) next() []string {
	m.t.Helper()
	if err := m.conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		m.t.Fatal(err)
	}
	var buf [4096]byte
	n, err := m.conn.Read(buf[:])
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(buf[:n]), "\n"), "\n")
}

func (m *manager) expect(want ...string) {
	m.t.Helper()
	if got := m.next(); strings.Join(got, "|") != strings.Join(want, "|") {
		m.t.Errorf("got %q, want %q", got, want)
	}
}

func TestALife(t *testing.T) {
	m := newManager(t)
	n := New()
	if err := n.Ready("1 server;\n0 computers"); err != nil {
		t.Fatal(err)
	}
	m.expect("READY=1", "STATUS=1 server; 0 computers")
	if err := n.Reloading(); err != nil {
		t.Fatal(err)
	}
	got := m.next()
	stamp, isStamp := strings.CutPrefix(got[len(got)-1], "MONOTONIC_USEC=")
	if usec, err := strconv.ParseInt(stamp, 10, 64); got[0] != "RELOADING=1" || !isStamp || err != nil || usec <= 0 {
		t.Errorf("reloading: %q", got)
	}
	if err := n.Stopping(); err != nil {
		t.Fatal(err)
	}
	m.expect("STOPPING=1", "STATUS=stopping")
}

func TestRunFeedsTheWatchdogAndTellsAStatusOnce(t *testing.T) {
	m := newManager(t)
	t.Setenv("WATCHDOG_USEC", "60000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	n := New()
	var status atomic.Value
	status.Store("1 server")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); n.Run(ctx, func() string { return status.Load().(string) }) }()
	m.expect("STATUS=1 server", "WATCHDOG=1")
	m.expect("WATCHDOG=1")
	status.Store("2 servers")
	for {
		got := m.next()
		if len(got) == 2 && got[0] == "STATUS=2 servers" && got[1] == "WATCHDOG=1" {
			break
		}
		if len(got) != 1 || got[0] != "WATCHDOG=1" {
			t.Fatalf("got %q", got)
		}
	}
	cancel()
	<-done
}

func TestAnothersWatchdogIsNotFed(t *testing.T) {
	newManager(t)
	t.Setenv("WATCHDOG_USEC", "60000")
	t.Setenv("WATCHDOG_PID", "1")
	if n := New(); n.watchdog != 0 {
		t.Errorf("feeds every %v", n.watchdog)
	}
}

func TestNobodyListens(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	n := New()
	if n != nil {
		t.Fatal("a notifier for nobody")
	}
	for _, err := range []error{n.Ready("x"), n.Reloading(), n.Stopping()} {
		if err != nil {
			t.Error(err)
		}
	}
	n.Run(t.Context(), nil)
}

func TestAManagerThatIsGoneIsAnError(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "gone"))
	if err := New().Ready("x"); err == nil {
		t.Error("no error")
	}
}
