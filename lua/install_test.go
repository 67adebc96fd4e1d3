package lua

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/traposd/traposd/lua/craftos"
)

// As a player does it: one command, the password, and the computer is there after its reboot.
func TestInstall(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	m := boot(t, craftos.Options{ID: 5, AllowPrivate: true, Files: fstest.MapFS{
		"startup.lua":      {Data: []byte("print('my own startup') while true do os.pullEvent() end")},
		"startup/mine.lua": {Data: []byte("_G.mine = true")},
	}})
	m.awaitScreen("my own startup")
	m.QueueEvent("terminate")
	m.awaitScreen(">")
	m.Type("wget run " + h.server.URL + "/install.lua\n")
	m.awaitScreen("Password of the gateway:")
	m.Type(testPassword + "\n")
	m.awaitScreen("traposd test:")
	p := h.next()
	p.awaitServes("exec-lua")
	if p.hello.ComputerID != 5 || !strings.HasPrefix(p.hello.Agent, "traposd-lua/test ") {
		t.Errorf("hello: %+v", p.hello)
	}
	err := fs.WalkDir(Files(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == versionFile {
			return err
		}
		want, err := fs.ReadFile(Files(), path)
		if err != nil {
			return err
		}
		if got, err := m.ReadFile(path); err != nil || string(got) != string(want) {
			t.Errorf("%s was not installed: %v", path, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	m.awaitScreen("my own startup") // it runs, and does not keep the servers from running

	upgrade(t, h, m, p)
}

// upgrade runs the installer again from afar, over a damaged and a stale file, and then the uninstaller.
func upgrade(t *testing.T, h *host, m *machine, p *peer) {
	t.Helper()
	p.writeFile("apis/libjson.lua.old", "mine", "write")
	p.writeFile("apis/libadvice.lua", "damaged", "write")
	r := p.exec("shell.run('wget', 'run', '"+h.server.URL+"/install.lua')", time.Minute)
	if r.Kind != "exit" || !strings.Contains(string(r.Output), "1 new or changed") {
		t.Errorf("%+v %s\n%s", r, r.Error, r.Output)
	}
	<-p.gone
	p = h.next()
	p.awaitServes("exec-lua")
	if strings.Contains(p.readFile("apis/libadvice.lua"), "damaged") {
		t.Error("a damaged file was not replaced")
	}
	r = p.exec("shell.run('wget', 'run', '"+h.server.URL+"/install.lua', 'uninstall') return settings.get('cloud.url')", time.Minute)
	if !r.OK || !strings.Contains(string(r.Output), "Uninstalled") || r.Returns[0].Type != "nil" {
		t.Errorf("%+v %s\n%s", r, r.Error, r.Output)
	}
	for path, want := range map[string]bool{
		"servers/cloud.lua": false, "startup/00_trapos.lua": false, "startup.user.lua": false, ".trapos/installed": false,
		"startup.lua": true, "startup/mine.lua": true, "apis/libjson.lua.old": true,
	} {
		if _, err := m.ReadFile(path); (err == nil) != want {
			t.Errorf("%s: there is %v, want %v", path, err == nil, want)
		}
	}
}

// Whatever goes wrong before everything has arrived, nothing on the computer changes.
func TestInstallRefusals(t *testing.T) {
	t.Parallel()
	damage := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/lua/servers/cloud.lua" {
				_, _ = w.Write([]byte("print('not what was announced')"))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	missing := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/lua/servers/cloud.lua" {
				http.NotFound(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	for name, c := range map[string]struct {
		wrap  func(http.Handler) http.Handler
		files fstest.MapFS
		disk  int64
		words string
	}{
		"damaged":      {damage, fstest.MapFS{}, 0, "servers/cloud.lua arrived damaged"},
		"missing":      {missing, fstest.MapFS{}, 0, "Nothing was changed."},
		"no room":      {nil, fstest.MapFS{}, 50_000, "Nothing was changed."},
		"two startups": {nil, fstest.MapFS{"startup": {Data: []byte("")}, "startup.lua": {Data: []byte("")}}, 0, "delete the one you do not use"},
	} {
		handler := Handler("test")
		if c.wrap != nil {
			handler = c.wrap(handler)
		}
		server := httptest.NewServer(handler)
		m := boot(t, craftos.Options{ID: 5, AllowPrivate: true, Files: c.files, DiskBytes: c.disk})
		m.awaitScreen(">")
		m.Type("wget run " + server.URL + "/install.lua\n")
		m.awaitScreen(c.words)
		for _, path := range []string{"apis/libjson.lua", "startup/00_trapos.lua", ".trapos/installed", ".settings", "startup.user.lua"} {
			if _, err := m.ReadFile(path); err == nil {
				t.Errorf("%s: %s was written", name, path)
			}
		}
		server.Close()
	}
}
