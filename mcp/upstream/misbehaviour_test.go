package upstream

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
	"github.com/traposd/traposd/mcpconfig"
)

func TestMisbehaviour(t *testing.T) {
	for mode, check := range map[string]func(t *testing.T, b *bench, e mcp.Entry){
		"noise": func(t *testing.T, b *bench, e mcp.Entry) {
			if _, err := b.call(e, "noisy-result", `{}`); err != nil {
				t.Error(err)
			}
			if n := b.logged("no JSON-RPC message"); n != 1 {
				t.Errorf("the noise was logged %d times", n)
			}
		},
		"stderr-flood": nil,
		"exit-unknown": nil,
		"string-ids":   nil,
		"page-loop": func(t *testing.T, b *bench, e mcp.Entry) {
			if n := len(e.Tools); n < 2 || n > 20 {
				t.Errorf("%d tools", n)
			}
			if b.logged("pages repeat") == 0 {
				t.Error("nothing was said")
			}
		},
		"version=2024-11-05": nil,
		"version=2029-01-01": func(t *testing.T, b *bench, _ mcp.Entry) {
			if b.logged("unknown protocol revision") != 1 {
				t.Error("nothing was said")
			}
		},
		"bad-schemas": func(t *testing.T, b *bench, e mcp.Entry) {
			names := toolNames(e)
			for _, name := range []string{"none", "null", "untyped", "union", "true"} {
				i := slices.Index(names, name)
				if i < 0 {
					t.Errorf("tool %s was left out", name)
					continue
				}
				schema, _ := wire.Get(e.Tools[i].Raw, "inputSchema")
				if kind, _ := wire.Get(schema, "type"); string(kind) != `"object"` {
					t.Errorf("tool %s has schema %s", name, schema)
				}
			}
			if has(names, "string") || has(names, "array") || has(names, "") {
				t.Errorf("tools %v", names)
			}
			if n := b.logged("definitions of the server were left out"); n != 1 {
				t.Errorf("said %d times", n)
			}
		},
		"tools=2000": func(t *testing.T, _ *bench, e mcp.Entry) {
			if n := len(e.Tools); n != 2009 {
				t.Errorf("%d tools", n)
			}
		},
		"slow-start=100": nil,
		"ask-roots":      nil,
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.r.Reconcile([]mcpconfig.Server{helper(t, "bad", mode), helper(t, "good", "ok")})
			good, bad := b.offered("good"), b.offered("bad")
			if check != nil {
				check(t, b, bad)
			}
			if _, err := b.call(bad, "pid", `{}`); err != nil {
				t.Errorf("the bad server: %v", err)
			}
			if _, err := b.call(good, "pid", `{}`); err != nil {
				t.Errorf("the good server beside it: %v", err)
			}
		})
	}
}

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
	b.await("the folders are named", func() bool {
		err := b.status("s").Err
		return strings.Contains(err, "/usr/bin") && !strings.Contains(err, name)
	})
	server.Command = helper(t, "s", "").Command
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
	_, err = b.call(e, "big", `{"bytes":40000000}`)
	var rpc *wire.Error
	if !errors.As(err, &rpc) || rpc.Code != mcp.CodeTooLarge {
		t.Errorf("an answer above the limit: %v", err)
	}
	if _, err = b.call(e, "pid", `{}`); err != nil {
		t.Errorf("the call after: %v", err)
	}
}
