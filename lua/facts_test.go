package lua

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/traposd/traposd/lua/craftos"
)

// The waiting forms of the game's functions swallow the events of everybody else.
var waits = regexp.MustCompile(`\bhttp\.websocket\b|\.receive\(|\brednet\b`)

func TestNothingWaitsForASocket(t *testing.T) {
	t.Parallel()
	err := fs.WalkDir(Files(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(Files(), path)
		if err != nil {
			return err
		}
		for n, line := range strings.Split(string(data), "\n") {
			if code, _, _ := strings.Cut(line, "--"); waits.MatchString(code) {
				t.Errorf("%s:%d: %s", path, n+1, strings.TrimSpace(line))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// 30,000 NUL bytes become 180 KB where JSON escapes them; here they travel as base64, in messages that the game takes.
func TestBytesThatJSONInflates(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	_, p := h.connect(craftos.Options{ID: 1})
	nothing := strings.Repeat("\x00", 30_000)
	r := p.exec("write(('\\0'):rep(30000)) return ('\\0'):rep(30000)", time.Minute)
	if !r.OK || string(r.Output) != nothing || string(r.Returns[0].Bytes) != nothing {
		t.Errorf("%+v: %d and %d bytes", r.Kind, len(r.Output), len(r.Returns[0].Bytes))
	}
	if w := p.writeFile("zeroes", nothing, ""); !w.OK || p.readFile("zeroes") != nothing {
		t.Errorf("%+v", w)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.largest > testMaxFrame {
		t.Errorf("a message of %d bytes", p.largest)
	}
}

// A player's program has the computer's four sockets: the cloud says so, and connects once there is room.
func TestNoSocketLeft(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	var open sync.WaitGroup
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open.Add(1)
		defer open.Done()
		up := websocket.Upgrader{}
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _, _ = conn.ReadMessage()
	}))
	t.Cleanup(func() {
		other.CloseClientConnections()
		other.Close()
		open.Wait()
	})
	s := h.settings()
	url := s["cloud.url"]
	delete(s, "cloud.url")
	m := boot(t, craftos.Options{ID: 1, AllowPrivate: true, Settings: s, Files: disk(t, map[string]string{
		"hog.lua": `
			local open = {}
			for i = 1, 4 do open[i] = assert(http.websocket("ws` + strings.TrimPrefix(other.URL, "http") + `?" .. i)) end
			settings.set("cloud.url", "` + url.(string) + `")
			require("/apis/libcloud").connect()
			print("all taken")
			os.pullEvent("let go")
			for i = 1, 4 do open[i].close() end
			print("let go")`,
	})})
	m.awaitScreen(">")
	m.Type("hog\n")
	m.awaitScreen("no socket left")
	m.QueueEvent("let go")
	p := h.next()
	p.awaitServes("exec-lua")
}

// The game tells sockets apart by their address: each of ours has one of its own, so that a player's socket to the same
// gateway is not in the way, nor ours in its.
func TestAddressesAreOurOwn(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	_, p := h.connect(craftos.Options{ID: 1})
	first := p.query
	_ = p.conn.Close()
	p = h.next()
	p.awaitServes("exec-lua")
	if first == "" || p.query == first {
		t.Errorf("connected with the queries %q and %q", first, p.query)
	}
	// A socket of a program to the plain address gets its own answer, and the cloud goes on.
	r := p.exec(`
		local url = settings.get("cloud.url")
		assert(http.websocketAsync(url))
		local _, from, ws = os.pullEvent("websocket_success")
		ws.send("{}")
		local event, where = os.pullEvent()
		while where ~= url do event, where = os.pullEvent() end
		return from == url, event`, time.Minute)
	if !r.OK || r.Returns[0].Value != true || string(r.Returns[1].Bytes) != "websocket_message" {
		t.Errorf("%+v %s", r, r.Error)
	}
}

// The password of a world where executed code may read the settings is no secret from it; the file is where the game puts it.
func TestPasswordInTheSettingsFile(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	_, p := h.connect(craftos.Options{ID: 1})
	if text := p.readFile(".settings"); !strings.Contains(text, testPassword) {
		t.Error("the settings are not where the documents say")
	}
}

// Whoever runs the cloud server by hand and stops it leaves no socket open.
func TestSocketIsClosedOnTheWayOut(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	files := disk(t, nil)
	delete(files, "startup/00_trapos.lua")
	m := boot(t, craftos.Options{ID: 1, AllowPrivate: true, Settings: h.settings(), Files: files})
	m.awaitScreen(">")
	for range 2 {
		m.Type("/servers/cloud\n")
		p := h.next()
		m.QueueEvent("terminate")
		select {
		case <-p.gone:
		case <-time.After(patience):
			t.Fatal("the socket stayed open")
		}
	}
	m.Type("echo still here\n")
	m.awaitScreen("still here")
}
