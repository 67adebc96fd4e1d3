package upstream

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/traposd/traposd/mcpconfig"
)

func TestServersThatFailSayWhy(t *testing.T) {
	for mode, want := range map[string]string{
		"crash-after=initialize": "exited (code 7): panic: out of cheese",
		"crash-after=tools/list": "exited (code 7): panic: out of cheese",
		"fail=npm_error_404":     "exited (code 7): npm error 404",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.r.Reconcile([]mcpconfig.Server{helper(t, "s", mode)})
			if s := b.awaitState("s", StateBackingOff); s.Err != want {
				t.Errorf("status says %q", s.Err)
			}
		})
	}
}

func TestStartHasALimit(t *testing.T) {
	t.Parallel()
	b := start(t)
	server := helper(t, "s", "silent secret=hush-hush-hush")
	server.StartupTimeout = 300 * 1e6
	server.Env = append(server.Env, mcpconfig.EnvVar{Name: "TOKEN", Value: mcpconfig.NewSecret("hush-hush-hush")})
	b.r.Reconcile([]mcpconfig.Server{server})
	s := b.awaitState("s", StateBackingOff)
	if !strings.HasPrefix(s.Err, "did not come up within 300ms") {
		t.Errorf("status says %q", s.Err)
	}
}

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	b := start(t)
	server := helper(t, "s", "secret=hush-hush-hush crash-after=tools/call")
	server.Env = append(server.Env, mcpconfig.EnvVar{Name: "TOKEN", Value: mcpconfig.NewSecret("hush-hush-hush")})
	b.r.Reconcile([]mcpconfig.Server{server})
	e := b.offered("s")
	_, err := b.call(e, "pid", `{}`)
	if err == nil || !strings.Contains(err.Error(), "the token is "+masked) {
		t.Errorf("error %v", err)
	}
	if strings.Contains(b.everythingLogged(), "hush-hush") || strings.Contains(err.Error(), "hush-hush") {
		t.Error("the secret was shown")
	}
}

func TestCommandThatIsNotThere(t *testing.T) {
	t.Parallel()
	b := start(t)
	server := helper(t, "s", "ok")
	name := "traposd-no-such-command"
	server.Command = mcpconfig.NewSecret(name)
	dir := t.TempDir()
	server.Env = append(server.Env, mcpconfig.EnvVar{Name: "PATH", Value: mcpconfig.NewSecret(dir)})
	b.r.Reconcile([]mcpconfig.Server{server})
	s := b.awaitState("s", StateBackingOff)
	if s.Err != "its command was not found in the PATH that its entry sets" {
		t.Errorf("status says %q", s.Err)
	}
	server.Env = server.Env[:len(server.Env)-1]
	b.r.Reconcile([]mcpconfig.Server{server})
	b.await("the folders are counted", func() bool {
		err := b.status("s").Err
		return strings.HasPrefix(err, "its command was not found in ") && strings.Contains(err, "folders: install it") && !strings.Contains(err, name)
	})
	if all := b.everythingLogged(); !strings.Contains(all, `"/usr/bin"`) || strings.Contains(all, name) {
		t.Error("the log does not have all folders, or has the command")
	}
	self := helper(t, "s", "").Command.Reveal()
	server.Command = mcpconfig.NewSecret(dir + "/server") // it is there a moment later, and found without an edit
	server.Env = helper(t, "s", "ok").Env
	b.r.Reconcile([]mcpconfig.Server{server})
	b.await("it is missed", func() bool { return strings.Contains(b.status("s").Err, "a path at which there is nothing") })
	if err := os.Symlink(self, dir+"/server"); err != nil {
		t.Fatal(err)
	}
	b.awaitState("s", StateReady)
	server.Command = mcpconfig.NewSecret(self)
	server.Cwd = mcpconfig.NewSecret(dir + "/nothing")
	b.r.Reconcile([]mcpconfig.Server{server})
	b.await("the folder is blamed", func() bool {
		err := b.status("s").Err
		return strings.Contains(err, "cwd") && !strings.Contains(err, dir)
	})
}

func TestBigMessages(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.r.Reconcile([]mcpconfig.Server{helper(t, "s", "ok")})
	e := b.offered("s")
	const size = (16 << 20) / slowdown
	result, err := b.call(e, "big", fmt.Sprintf(`{"bytes":%d}`, size))
	if err != nil || len(result) < size {
		t.Errorf("%d bytes, error %v", len(result), err)
	}
	big := `"` + strings.Repeat("y", size) + `"`
	result, err = b.call(e, "echo", big)
	if err != nil || !strings.Contains(result, big) {
		t.Errorf("%d bytes, error %v", len(result), err)
	}
	if _, err = b.call(e, "pid", `{}`); err != nil {
		t.Errorf("the call after: %v", err)
	}
}
