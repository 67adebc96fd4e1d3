package lua

import (
	"io/fs"
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
