package daemon

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func TestFindRuntimeDir(t *testing.T) {
	dir := shortDir(t)
	t.Setenv("TMPDIR", dir)
	own, other := filepath.Join(dir, "x", "traposd"), filepath.Join(dir, "traposd-"+strconv.Itoa(os.Getuid()))
	env := map[string]string{"RUNTIME_DIRECTORY": own, "HOME": dir}
	find := func(want string) {
		t.Helper()
		if got, err := FindRuntimeDir(func(name string) string { return env[name] }); err != nil || got != want {
			t.Errorf("%s %v, want %s", got, err, want)
		}
	}
	listen := func(dir string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", socketPath(dir))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
	}
	if !hasControlSocket(filepath.Join("/run/user", strconv.Itoa(os.Getuid()), "traposd")) && !hasControlSocket("/run/traposd") {
		find(own) // where nothing is, the message says where it was looked for
	}
	listen(other)
	if !hasControlSocket(filepath.Join("/run/user", strconv.Itoa(os.Getuid()), "traposd")) {
		find(other)
	}
	listen(own)
	find(own)
	env["TRAPOS_RUNTIME_DIR"] = filepath.Join(dir, "said")
	find(env["TRAPOS_RUNTIME_DIR"])
}
