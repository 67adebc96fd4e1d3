package upstream

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
	"github.com/traposd/traposd/mcpconfig"
)

func TestOnlyChangedServersAreTouched(t *testing.T) {
	t.Parallel()
	b := start(t)
	a, c, d := helper(t, "a", "ok"), helper(t, "c", "ok"), helper(t, "d", "ok")
	if got := b.r.Reconcile([]mcpconfig.Server{a, c, d}); len(got.Started) != 3 {
		t.Errorf("outcome %+v", got)
	}
	pids := map[string]int{}
	for _, name := range []string{"a", "c", "d"} {
		b.offered(name)
		pids[name] = b.status(name).PID
	}
	changed := helper(t, "c", "tool=new")
	changed.Source, changed.Cwd = c.Source, c.Cwd
	a.Source.Line = 12 // a position is no change
	got := b.r.Reconcile([]mcpconfig.Server{changed, a})
	if len(got.Changed) != 1 || got.Changed[0] != "c" || len(got.Unchanged) != 1 || len(got.Stopped) != 1 || got.Stopped[0] != "d" {
		t.Errorf("outcome %+v", got)
	}
	b.await("the new tool is there and the old server gone", func() bool {
		e, ok := b.entry("c")
		_, still := b.entry("d")
		return ok && has(toolNames(e), "new") && !still
	})
	b.await("only what is configured runs", func() bool { return !alive(pids["c"]) && !alive(pids["d"]) && len(b.r.Status()) == 2 })
	if b.status("a").PID != pids["a"] || b.status("a").Source.Line != 12 {
		t.Errorf("the unchanged server was touched: %+v", b.status("a"))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.entries) != 2 || b.entries[0].Name != "c" {
		t.Errorf("the order is not that of the set: %v", b.entries)
	}
}

func TestCallsInFlightSurviveAChange(t *testing.T) {
	t.Parallel()
	b := start(t)
	server := helper(t, "s", "ok")
	b.r.Reconcile([]mcpconfig.Server{server})
	e := b.offered("s")
	old := b.status("s").PID
	done := make(chan error, 1)
	go func() {
		_, err := b.call(e, "slow", `{"ms":700}`)
		done <- err
	}()
	if _, err := b.call(e, "pid", `{}`); err != nil {
		t.Fatal(err)
	}
	changed := helper(t, "s", "tool=new")
	b.r.Reconcile([]mcpconfig.Server{changed})
	b.await("the new one serves", func() bool { return b.status("s").PID != old })
	if err := <-done; err != nil {
		t.Errorf("the call in flight failed: %v", err)
	}
	b.await("the old one is gone", func() bool { return !alive(old) })
}

func TestChangeThatDoesNotComeUp(t *testing.T) {
	t.Parallel()
	b := start(t)
	server := helper(t, "s", "ok")
	b.r.Reconcile([]mcpconfig.Server{server})
	e := b.offered("s")
	pid := b.status("s").PID
	b.r.Reconcile([]mcpconfig.Server{helper(t, "s", "fail=bad_luck")})
	s := b.awaitState("s", StateDegraded)
	if !strings.Contains(s.Err, "exited (code 7): bad luck") || s.PID != pid {
		t.Errorf("status %+v", s)
	}
	if _, err := b.call(e, "pid", `{}`); err != nil {
		t.Errorf("the old one does not serve any more: %v", err)
	}
	b.r.Reconcile([]mcpconfig.Server{server})
	if s := b.awaitState("s", StateReady); s.Err != "" {
		t.Errorf("status %+v", s)
	}
}

func TestCrashAndRevival(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.r.Reconcile([]mcpconfig.Server{helper(t, "s", "ok")})
	e := b.offered("s")
	pid := b.status("s").PID
	changes := b.changes
	_, err := b.call(e, "exit", `{"code":7}`)
	var rpc *wire.Error
	if !errors.As(err, &rpc) || rpc.Code != mcp.CodeServerDown || rpc.Message != `server "s" exited (code 7): npm error 404 not found` {
		t.Errorf("error %v", err)
	}
	result, err := b.call(e, "pid", `{}`)
	if err != nil || text(t, result) == strconv.Itoa(pid) {
		t.Errorf("result %s, error %v", result, err)
	}
	if s := b.status("s"); s.Restarts != 1 || s.State != StateReady {
		t.Errorf("status %+v", s)
	}
	if b.changes != changes {
		t.Errorf("a crash with a quick revival changed the catalogue %d times", b.changes-changes)
	}
}

func TestServerThatNeverComesUp(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.r.Reconcile([]mcpconfig.Server{helper(t, "bad", "fail=the_input_device_is_not_a_TTY"), helper(t, "good", "ok")})
	b.offered("good")
	s := b.awaitState("bad", StateBackingOff)
	if s.Err != "exited (code 7): the input device is not a TTY" {
		t.Errorf("status %+v", s)
	}
	b.await("it is tried again and again", func() bool { return b.status("bad").Restarts >= 3 })
}

func TestOfferIsWithdrawnWhenRevivalFails(t *testing.T) {
	t.Parallel()
	b := start(t)
	flag := t.TempDir() + "/fail"
	b.r.Reconcile([]mcpconfig.Server{helper(t, "s", "fail-if="+flag)})
	e := b.offered("s")
	writeFile(t, flag, "x")
	_, err := b.call(e, "exit", `{"code":1}`)
	if err == nil {
		t.Fatal("no error")
	}
	b.await("its tools are withdrawn", func() bool { _, ok := b.entry("s"); return !ok })
}

func TestFastServerDoesNotWaitForSlowOne(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.r.Reconcile([]mcpconfig.Server{helper(t, "silent", "silent"), helper(t, "fast", "ok")})
	b.offered("fast")
	if s := b.status("silent"); s.State != StateStarting {
		t.Errorf("status %+v", s)
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.r.Reconcile([]mcpconfig.Server{helper(t, "s", "ok")})
	b.offered("s")
	before := b.awaitState("s", StateReady)
	if err := b.r.Restart("s"); err != nil {
		t.Fatal(err)
	}
	b.await("another process serves", func() bool { p := b.status("s").PID; return p != 0 && p != before.PID })
	now := b.status("s")
	if !now.Since.After(before.Since) || now.State != StateReady || now.Restarts != 0 {
		t.Errorf("status %+v, before %+v", now, before)
	}
	b.await("the restart is reported", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		last := b.states[len(b.states)-1]
		return last.PID == now.PID && last.Since.Equal(now.Since)
	})
	b.r.Reconcile([]mcpconfig.Server{helper(t, "s", "tool=new")})
	b.await("the changed one serves", func() bool { e, _ := b.entry("s"); return has(toolNames(e), "new") })
	if s := b.status("s"); !s.Since.After(now.Since) {
		t.Errorf("status %+v, before %+v", s, now)
	}
	if err := b.r.Restart("other"); !errors.Is(err, ErrUnknownServer) {
		t.Errorf("error %v", err)
	}
}

// TestTransitionsAreReportedOnce: each with one event and one line in the log.
func TestTransitionsAreReportedOnce(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.r.Reconcile([]mcpconfig.Server{helper(t, "s", "ok")})
	e := b.offered("s")
	if _, err := b.call(e, "exit", `{"code":7}`); err == nil {
		t.Fatal("it did not exit")
	}
	b.await("it is back", func() bool { return b.status("s").Restarts == 1 && b.status("s").State == StateReady })
	b.r.Reconcile([]mcpconfig.Server{helper(t, "s", "fail=bad_luck")})
	b.awaitState("s", StateDegraded)
	off := helper(t, "s", "ok")
	off.Disabled = true
	b.r.Reconcile([]mcpconfig.Server{off})
	b.awaitState("s", StateOff)
	off.Disabled = false
	b.r.Reconcile([]mcpconfig.Server{off})
	b.awaitState("s", StateReady)
	b.r.Reconcile(nil)
	b.await("it is gone", func() bool { return len(b.r.Status()) == 0 })
	var got []State
	b.mu.Lock()
	for _, s := range b.states {
		got = append(got, s.State)
	}
	b.mu.Unlock()
	want := []State{
		StateStarting, StateReady, StateBackingOff, StateStarting, StateReady, StateDegraded, StateOff, StateStarting, StateReady, StateStopping,
	}
	if !slices.Equal(got, want) {
		t.Errorf("states %v, want %v", got, want)
	}
	for message, times := range map[string]int{
		"server starting": 3, "server ready": 3, "server down": 1, "the changed server does not come up": 1, "server off": 1, "server stopping": 1,
	} {
		n := b.logs.Filter(func(e observer.LoggedEntry) bool {
			again := e.Level == zap.DebugLevel && message != "server starting" // the same failure once more
			return strings.HasPrefix(e.Message, message) && !again
		}).Len()
		if n != times {
			t.Errorf("%q was logged %d times, want %d", message, n, times)
		}
	}
}

func TestDisabledServer(t *testing.T) {
	t.Parallel()
	b := start(t)
	server := helper(t, "s", "ok")
	b.r.Reconcile([]mcpconfig.Server{server})
	b.offered("s")
	pid := b.status("s").PID
	server.Disabled = true
	b.r.Reconcile([]mcpconfig.Server{server})
	b.awaitState("s", StateOff)
	b.await("its process is gone", func() bool { return !alive(pid) })
	if _, ok := b.entry("s"); ok {
		t.Error("it still offers something")
	}
	server.Disabled = false
	b.r.Reconcile([]mcpconfig.Server{server})
	b.offered("s")
}

// TestManyEditsLeaveWhatIsConfigured edits at every moment of a server's start: before its process is there, while it
// shakes hands, and when it has just taken the old one's place.
func TestManyEditsLeaveWhatIsConfigured(t *testing.T) {
	t.Parallel()
	const edits = 50
	b := start(t)
	other := helper(t, "other", "ok")
	b.r.Reconcile([]mcpconfig.Server{other})
	b.offered("other")
	kept := b.status("other").PID
	pids := map[int]bool{}
	for i := range edits {
		server, tool := helper(t, "s", "tool=t"+strconv.Itoa(i)), "t"+strconv.Itoa(i)
		server.Source.Workspace = ""
		attempts := b.attempts("s")
		b.r.Reconcile([]mcpconfig.Server{server, other})
		switch i % 3 {
		case 1:
			b.await("it is being started", func() bool { return b.attempts("s") > attempts })
		case 2:
			b.await("it serves", func() bool { e, _ := b.entry("s"); return has(toolNames(e), tool) })
		}
		pids[b.status("s").PID] = true
	}
	b.await("the last one serves", func() bool {
		e, _ := b.entry("s")
		return has(toolNames(e), "t"+strconv.Itoa(edits-1))
	})
	delete(pids, 0)
	delete(pids, b.status("s").PID)
	for pid := range pids {
		b.await("earlier ones are gone", func() bool { return !alive(pid) })
	}
	if len(pids) < edits/4 {
		t.Errorf("only %d processes were seen; the test shows little", len(pids))
	}
	if got := b.status("other").PID; got != kept {
		t.Errorf("the other server has process %d instead of %d", got, kept)
	}
}
