//go:build linux

package upstream

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/traposd/traposd/mcpconfig"
)

// living reports whether a process of that number lives; a zombie does not.
func living(pid int) bool {
	_, ok := readProcess(pid)
	return ok
}

func (b *bench) awaitPID(file string) int {
	b.t.Helper()
	pid := 0
	b.await("a grandchild is there", func() bool {
		pid, _ = strconv.Atoi(fileText(file))
		return pid > 0
	})
	return pid
}

func TestNothingIsLeft(t *testing.T) {
	for _, mode := range []string{
		"ok", "silent", "ignore-eof", "ignore-eof ignore-term", "stderr-flood ignore-eof", "noise",
		"grandchild=FILE", "grandchild=FILE ignore-eof ignore-term", "setsid-grandchild=FILE", "silent grandchild=FILE setsid-grandchild=FILE2",
	} {
		for _, end := range []string{"removed", "closed", "crashed"} {
			t.Run(mode+" "+end, func(t *testing.T) {
				t.Parallel()
				b := start(t)
				dir := t.TempDir()
				b.r.Reconcile([]mcpconfig.Server{helper(t, "s", strings.ReplaceAll(mode, "FILE", dir+"/pid"))})
				if !strings.Contains(mode, "silent") {
					b.offered("s")
				}
				var pids []int
				for _, file := range []string{"/pid", "/pid2"} {
					if strings.Contains(mode, strings.Replace(file, "/pid", "=FILE", 1)) {
						pids = append(pids, b.awaitPID(dir+file))
					}
				}
				pid := 0
				b.await("the child is there", func() bool { pid = b.childOf("s"); return pid != 0 })
				pids = append(pids, pid)
				begun := time.Now()
				switch end {
				case "removed":
					b.r.Reconcile(nil)
					b.await("it is gone from the status", func() bool { return len(b.r.Status()) == 0 })
				case "closed":
					b.close()
				case "crashed":
					if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
						t.Fatal(err)
					}
				}
				for _, pid := range pids {
					b.await("process "+strconv.Itoa(pid)+" is gone", func() bool { return !living(pid) })
				}
				if took := time.Since(begun); took > patience/2 {
					t.Errorf("it took %v", took)
				}
			})
		}
	}
}

// childOf is the process of a server, whether it is ready or not.
func (b *bench) childOf(name string) int {
	for _, s := range b.r.Status() {
		if s.Name == name && s.PID != 0 {
			return s.PID
		}
	}
	return 0
}

func TestShellWrapper(t *testing.T) {
	t.Parallel()
	b := start(t)
	server := helper(t, "s", "ok")
	self := server.Command.Reveal()
	server.Command = mcpconfig.NewSecret("/bin/sh")
	server.Args = []mcpconfig.Secret{mcpconfig.NewSecret("-c"), mcpconfig.NewSecret(`"` + self + `"; true`)}
	b.r.Reconcile([]mcpconfig.Server{server})
	e := b.offered("s")
	result, err := b.call(e, "pid", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	inner, _ := strconv.Atoi(text(t, result))
	outer := b.status("s").PID
	if inner == outer {
		t.Fatal("the shell replaced itself; the test shows nothing")
	}
	if err := syscall.Kill(outer, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.await("the wrapped server goes with its shell", func() bool { return !living(inner) })
}

func TestServersStopAllAtOnce(t *testing.T) {
	t.Parallel()
	const one = 2 * time.Second // for each of both waits
	b := start(t, func(o *Options) { o.Times.StdinClose, o.Times.Terminate = one, one })
	var servers []mcpconfig.Server
	for i := range 8 {
		servers = append(servers, helper(t, "s"+strconv.Itoa(i), "ignore-eof ignore-term"))
	}
	b.r.Reconcile(servers)
	for _, s := range servers {
		b.offered(s.Name)
	}
	begun := time.Now()
	b.close()
	if took := time.Since(begun); took < 2*one-10*time.Millisecond || took > 8*one {
		t.Errorf("eight stubborn servers took %v to stop; %v is what one is given", took, 2*one)
	}
}

// TestServiceStopIsHasty gives servers all the time in the world, which the end of the service cuts short: also for those
// that are being stopped already, and for those whose own child is what does not end.
func TestServiceStopIsHasty(t *testing.T) {
	t.Parallel()
	b := start(t, func(o *Options) { o.Times.StdinClose, o.Times.Terminate = time.Hour, time.Hour })
	dir := t.TempDir()
	var servers []mcpconfig.Server
	for i, mode := range []string{
		"ignore-eof ignore-term", "ignore-eof ignore-term grandchild=" + dir + "/a", "grandchild=" + dir + "/b",
		"ignore-eof ignore-term", "grandchild=" + dir + "/c", "ok",
	} {
		servers = append(servers, helper(t, "s"+strconv.Itoa(i), mode))
	}
	b.r.Reconcile(servers)
	var pids []int
	for _, s := range servers {
		b.offered(s.Name)
		pids = append(pids, b.status(s.Name).PID)
	}
	for _, file := range []string{"/a", "/b", "/c"} {
		pids = append(pids, b.awaitPID(dir+file))
	}
	b.r.Reconcile(servers[:3])
	b.await("the well-behaved one is gone", func() bool { return !living(pids[5]) })
	begun := time.Now()
	b.close() // fails after patience
	if took := time.Since(begun); took < closingStdin+closingTerminate-10*time.Millisecond {
		t.Errorf("it took %v: somebody was not given the time", took)
	}
	for _, pid := range pids {
		if living(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
}

// TestEntryThatComesAndGoesIsBounded: runs of it that do not end keep the next one waiting, when there are too many.
func TestEntryThatComesAndGoesIsBounded(t *testing.T) {
	t.Parallel()
	b := start(t, func(o *Options) { o.Times.StdinClose, o.Times.Terminate = time.Hour, time.Hour })
	server := helper(t, "s", "ignore-eof ignore-term")
	var pids []int
	for range maxRetiring {
		b.r.Reconcile([]mcpconfig.Server{server})
		pids = append(pids, b.awaitState("s", StateReady).PID)
		b.r.Reconcile(nil)
	}
	b.r.Reconcile([]mcpconfig.Server{server, helper(t, "other", "ok")})
	b.awaitState("other", StateReady)
	if s := b.awaitState("s", StateStarting); s.PID != 0 || b.attempts("s") != 0 {
		t.Errorf("beside %d earlier runs: %+v", maxRetiring, s)
	}
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.awaitState("s", StateReady)
}

func TestPipesAreNotInherited(t *testing.T) {
	b := start(t)
	b.r.Reconcile([]mcpconfig.Server{helper(t, "a", "ok"), helper(t, "b", "ok"), helper(t, "c", "ok")})
	holders := map[string]string{} // of each pipe that is some server's stdin, stdout or stderr
	names := []string{"a", "b", "c"}
	for _, name := range names {
		b.offered(name)
		for fd := range 3 {
			holders[pipeOf(t, b.status(name).PID, strconv.Itoa(fd))] = name
		}
	}
	if len(holders) != 9 {
		t.Fatalf("three servers have %d pipes: %v", len(holders), holders)
	}
	for _, name := range names {
		pid := b.status(name).PID
		fds, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			if owner, ok := holders[pipeOf(t, pid, fd.Name())]; ok && owner != name {
				t.Errorf("server %s holds a pipe of server %s", name, owner)
			}
		}
	}
}

func pipeOf(t *testing.T, pid int, fd string) string {
	t.Helper()
	target, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/fd/" + fd)
	if err != nil {
		return "" // closed meanwhile
	}
	return target
}

// TestManyRestartsLeakNothing restarts servers 200 times (fewer under the race detector), every other
// time by killing them, and looks for what has grown.
func TestManyRestartsLeakNothing(t *testing.T) {
	const servers, warmUp, restarts = 4, 5, 10 + 40/slowdown // the latter two for each of the servers
	b := start(t, func(o *Options) {
		o.Logger, o.OnStatus = nil, nil // the test keeps what they get
		o.RunDir, o.StateDir = t.TempDir(), t.TempDir()
		o.Times.BackoffMin, o.Times.BackoffMax = time.Millisecond, time.Millisecond
	})
	var list []mcpconfig.Server
	pids := map[string]int{}
	for i := range servers {
		list = append(list, shell(t, "s"+itoa(i), "t"))
	}
	b.r.Reconcile(list)
	for _, server := range list {
		pids[server.Name] = b.awaitState(server.Name, StateReady).PID
	}
	restart := func(n int) {
		for i := range n {
			for name, old := range pids {
				if i%2 == 1 {
					if err := b.r.Restart(name); err != nil {
						t.Fatal(err)
					}
				} else if err := syscall.Kill(old, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			for name, old := range pids {
				b.await("another one serves", func() bool {
					s := b.status(name)
					pids[name] = s.PID
					return s.State == StateReady && s.PID != 0 && s.PID != old && !living(old)
				})
			}
		}
	}
	restart(warmUp)
	before := measure(t)
	restart(restarts)
	var after footprint
	b.await("all is as before", func() bool {
		after = measure(t)
		return after.descriptors <= before.descriptors && after.goroutines <= before.goroutines && after.children <= servers &&
			after.heap < before.heap+256<<10
	})
	t.Logf("before %+v, after %+v", before, after)
}

// footprint is what this process holds.
type footprint struct {
	descriptors, goroutines, children int
	heap                              uint64 // bytes that are reachable
}

func measure(t *testing.T) footprint {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{len(fds), runtime.NumGoroutine(), countChildren(t), m.HeapAlloc}
}

// countChildren counts the children of this process, zombies included.
func countChildren(t *testing.T) int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range stats {
		_, after, _ := strings.Cut(fileText(path), ") ")
		if fields := strings.Fields(after); len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			n++
		}
	}
	return n
}

// TestRunFile kills a whole service with SIGKILL and lets the next one find what it left.
func TestRunFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"=service", "TEST_RUN_DIR="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := start(t)
	grandchild := b.awaitPID(dir + "/pid")
	stray := b.awaitPID(dir + "/pid2")
	child := 0
	b.await("the service says which child it has", func() bool {
		child, _ = strconv.Atoi(fileText(dir + "/ready"))
		return child > 0
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	b.await("the child dies with the service", func() bool { return !living(child) })
	if !living(grandchild) || !living(stray) {
		t.Fatal("the grandchildren died by themselves; the test shows nothing")
	}
	r := New(Options{RunDir: dir})
	if living(grandchild) || living(stray) {
		t.Error("grandchildren of the killed service still run")
	}
	if err := r.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if fileText(dir+"/"+runFileName) != "" {
		t.Error("the run file is still there after a proper end")
	}
}

// TestRunFileSparesStrangers puts the number of a process that is not ours into a run file.
func TestRunFileSparesStrangers(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"=ignore-eof")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	writeFile(t, dir+"/"+runFileName, `{"run":"OTHER","boot":"`+bootID()+`","children":[{"pid":`+strconv.Itoa(pid)+`,"start":`+strconv.FormatUint(startOf(pid)-1, 10)+`}]}`)
	r := New(Options{RunDir: dir})
	if !living(pid) {
		t.Error("a stranger was killed")
	}
	if err := r.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
