package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"traposd": main})
}

// TestScripts drives the real program: each file of testdata/script is a session at a shell.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"await":      await,
			"await-file": awaitFile,
			"occupy":     occupy,
			"terminate":  terminate,
			"hangup":     hangup,
			"alive":      alive,
			"wait-for-exit": func(ts *testscript.TestScript, neg bool, args []string) {
				waitForExit(ts, args)
			},
		},
	})
}

// setup gives each script folders and free ports of its own.
func setup(env *testscript.Env) error {
	run, err := os.MkdirTemp("", "tr") // short: a socket's path has little room
	if err != nil {
		return err
	}
	env.Defer(func() { _ = os.RemoveAll(run) })
	env.Setenv("TRAPOS_RUNTIME_DIR", run)
	for _, name := range []string{"CONFIG", "STATE"} {
		dir := filepath.Join(env.WorkDir, ".traposd", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		env.Setenv("TRAPOS_"+name+"_DIR", dir)
	}
	env.Setenv("TRAPOS_MCP_ADDR", "127.0.0.1:0")
	env.Setenv("TRAPOS_GATEWAY_ADDR", "127.0.0.1:0")
	names := []string{"TRAPOS_SERVER_PASSWORD"}
	for _, entry := range env.Vars {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	env.Values[variables] = names
	return nil
}

// exits CODE COMMAND… runs a command and checks its exit code; stdout and stderr match against what it printed.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// variables is the key of the names of the variables that a script's commands see.
const variables = "variables"

const awaitLimit = 20 * time.Second

// await REGEXP COMMAND… repeats a command until its stdout matches, which must be so within awaitLimit. If the expression
// has a group, its text becomes $MATCH. Nothing is logged of the attempts before the last.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: await REGEXP COMMAND…")
	}
	poll(ts, args[0], func(ctx context.Context) string {
		cmd := exec.CommandContext(ctx, lookIn(ts.Getenv("PATH"), args[1]), args[2:]...)
		cmd.Dir = ts.MkAbs(".")
		for _, name := range ts.Value(variables).([]string) {
			cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
		}
		out, err := cmd.Output()
		if err != nil {
			return ""
		}
		return string(out)
	})
}

// await-file REGEXP FILE waits until a file's content matches, as await does.
func awaitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await-file REGEXP FILE")
	}
	poll(ts, args[0], func(context.Context) string {
		data, err := os.ReadFile(ts.MkAbs(args[1]))
		if err != nil {
			return ""
		}
		return string(data)
	})
}

func poll(ts *testscript.TestScript, expression string, read func(context.Context) string) {
	re := regexp.MustCompile("(?s)" + expression)
	ctx, cancel := context.WithTimeout(context.Background(), awaitLimit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		last := read(ctx)
		if found := re.FindStringSubmatch(last); found != nil {
			if len(found) > 1 {
				ts.Setenv("MATCH", found[1])
			}
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			ts.Fatalf("not within %v: %s\nlast seen: %s", awaitLimit, expression, last)
		}
	}
}

// lookIn finds a program in the script's own PATH, which is not the test's.
func lookIn(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		for _, suffix := range []string{"", ".exe"} {
			if file := filepath.Join(dir, name+suffix); isFile(file) {
				return file
			}
		}
	}
	return name
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// terminate FILE asks the process whose id is in the file to end, as a service manager does; hangup FILE asks it to reload.
func terminate(ts *testscript.TestScript, neg bool, args []string) { ask(ts, neg, args, askToEnd) }

func hangup(ts *testscript.TestScript, neg bool, args []string) { ask(ts, neg, args, askToReload) }

func ask(ts *testscript.TestScript, neg bool, args []string, signal func(pid int) error) {
	if neg || len(args) != 1 {
		ts.Fatalf("the argument is a file that holds a process id")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	ts.Check(signal(pid))
}

// occupy NAME listens on a free port until the script ends; $NAME is its address.
func occupy(ts *testscript.TestScript, _ bool, args []string) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv(args[0], l.Addr().String())
}

// alive PID checks that a process exists; ! alive PID that it does not.
func alive(ts *testscript.TestScript, neg bool, args []string) {
	if running(ts, args) == neg {
		ts.Fatalf("process %s: alive is %v", args[0], neg)
	}
}

// wait-for-exit PID waits until a process does not exist any more.
func waitForExit(ts *testscript.TestScript, args []string) {
	for deadline := time.Now().Add(awaitLimit); running(ts, args); {
		if time.Now().After(deadline) {
			ts.Fatalf("process %s has not ended", args[0])
		}
		<-time.After(20 * time.Millisecond)
	}
}

func running(ts *testscript.TestScript, args []string) bool {
	pid, err := strconv.Atoi(strings.TrimSpace(args[0]))
	ts.Check(err)
	return processExists(pid)
}
