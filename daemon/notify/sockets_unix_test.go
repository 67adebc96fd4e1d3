//go:build unix

package notify

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// inherit is the process that systemd would start: it tells what it found.
func inherit() {
	if err := os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()+len(os.Getenv("NOTIFY_TEST_OTHER")))); err != nil {
		panic(err)
	}
	sockets, err := Sockets()
	names := []string{}
	for name, l := range sockets {
		names = append(names, name+"="+l.Addr().String())
	}
	slices.Sort(names)
	again, _ := Sockets()
	fmt.Println(strings.Join(names, " "), len(again), os.Getenv("LISTEN_FDNAMES"))
	if err != nil {
		fmt.Println(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

func TestSocketsAreTakenByName(t *testing.T) {
	var files []*os.File
	var addrs []string
	for range 2 {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		file, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		files, addrs = append(files, file), append(addrs, l.Addr().String())
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	run := func(names string, extra []*os.File, env ...string) string {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.ExtraFiles = extra
		cmd.Env = append(os.Environ(), append(env, "NOTIFY_TEST_INHERIT=1", "LISTEN_FDS="+strconv.Itoa(len(extra)), "LISTEN_FDNAMES="+names)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	both := "gateway=" + addrs[1] + " mcp=" + addrs[0] + " 0"
	if got := run("mcp:gateway", files); got != both {
		t.Errorf("got %q, want %q", got, both)
	}
	if got := run("mcp:gateway", files, "NOTIFY_TEST_OTHER=x"); got != "0" {
		t.Errorf("sockets of another process: %q", got)
	}
	got := run("mcp:odd:mcp", []*os.File{files[0], null, files[1]})
	if !strings.HasPrefix(got, "mcp="+addrs[0]+" 0") || !strings.Contains(got, `"odd" is of no use`) || !strings.Contains(got, `second inherited socket is called "mcp"`) {
		t.Errorf("odd ones: %q", got)
	}
}
