package upstream

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/traposd/traposd/mcpconfig"
)

// serviceUnderEdits is a Reconciler in a process of its own whose set never stands still. It writes a line at every
// change of a server's state.
func serviceUnderEdits() {
	dir := os.Getenv("TEST_RUN_DIR")
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	changed := make(chan struct{}, 1)
	r := New(Options{RunDir: dir, Times: quick(), OnStatus: func(s Status) {
		fmt.Println(s.Name, s.State)
		select {
		case changed <- struct{}{}:
		default:
		}
	}})
	child := func(name, mode string, edit int) mcpconfig.Server {
		return mcpconfig.Server{
			Name: name, Transport: mcpconfig.TransportStdio, Command: mcpconfig.NewSecret(self),
			Env: []mcpconfig.EnvVar{
				{Name: "EDIT", Value: mcpconfig.NewSecret(strconv.Itoa(edit))},
				{Name: helperVariable, Value: mcpconfig.NewSecret(mode)},
			},
		}
	}
	for i := 0; ; i++ {
		set := []mcpconfig.Server{
			child("stubborn", "ignore-eof ignore-term grandchild="+dir+"/grandchild", i/3),
			child("stray", "setsid-grandchild="+dir+"/stray", i/4),
		}
		if i%2 == 0 {
			set = append(set, child("brief", "ok", i))
		}
		r.Reconcile(set)
		<-changed
	}
}

// TestKilledServiceLeavesNothing kills a service with SIGKILL at any moment of its edits; after the next start and stop
// nothing of its servers is there.
func TestKilledServiceLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seen := 0
	const most = 50
	for round := 0; round < max(3, most/(2*slowdown-1)) || seen == 0 && round < most; round++ { // longer where all were killed too early
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), helperVariable+"=service-under-edits", "TEST_RUN_DIR="+dir)
		if round%10 > 0 { // the profile of whoever runs the tests may take its time
			cmd.Env = append(cmd.Env, "SHELL=")
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 1 + rand.N(30) {
			lines.Scan()
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		seen += len(inherited(dir))
		_ = out.Close()
		_ = cmd.Wait()
		r := New(Options{RunDir: dir})
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if left := inherited(dir); len(left) > 0 {
			t.Fatalf("round %d: processes %v are left", round, left)
		}
	}
	if seen == 0 {
		t.Error("there was never anything to be left; the test shows nothing")
	}
}

// inherited lists the living processes that have dir in their environment.
func inherited(dir string) []int {
	var pids []int
	found, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range found {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		environ, err := os.ReadFile(path)
		if err == nil && bytes.Contains(environ, []byte("TEST_RUN_DIR="+dir+"\x00")) && living(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}
