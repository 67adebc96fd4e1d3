package lua

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/traposd/traposd/lua/craftos"
)

// TestCloud runs all of these on one computer.
func TestCloud(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	m, p := h.connect(craftos.Options{ID: 1})
	for _, c := range []struct {
		name string
		test func(*testing.T, *machine, *peer)
	}{
		{"pingAndUnknownType", pingAndUnknownType},
		{"requestsOfPrograms", requestsOfPrograms},
		{"lostChunk", lostChunk},
		{"repeatedRequest", repeatedRequest},
		{"adviceForEachFailure", adviceForEachFailure},
	} {
		t.Run(c.name, func(t *testing.T) {
			m.t, p.t = t, t
			c.test(t, m, p)
		})
	}
	m.t, p.t = t, t
}

func pingAndUnknownType(t *testing.T, _ *machine, p *peer) {
	if f := p.call("ping", map[string]any{"n": 1.5, "s": "é", "deep": map[string]any{"list": []int{1, 2}}}); f.OK == nil || !*f.OK ||
		!sameJSON(t, f.Payload, `{"n":1.5,"s":"é","deep":{"list":[1,2]}}`) {
		t.Errorf("ping: %s", f.Payload)
	}
	f := p.call("make-coffee", map[string]any{})
	if f.OK == nil || *f.OK || f.Error.Code != "unknown_type" {
		t.Errorf("an unknown type: %+v", f)
	}
	answer := make(chan frame, 1)
	p.mu.Lock()
	p.calls[""] = answer
	p.mu.Unlock()
	p.write(frame{Type: "ping", T: 1234567890123})
	if f = p.await(answer); f.Type != "pong" || f.T != 1234567890123 {
		t.Errorf("pong: %+v", f)
	}
}

func sameJSON(t *testing.T, a json.RawMessage, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	ja, _ := json.Marshal(x)
	jb, _ := json.Marshal(y)
	return string(ja) == string(jb)
}

func TestNothingHappensWithoutAnAddress(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	m := boot(t, craftos.Options{ID: 1, Files: disk(t, nil), AllowPrivate: true, Settings: map[string]any{"cloud.password": testPassword}})
	m.awaitScreen(">")
	m.Type("cloud\n")
	m.awaitScreen("not set; set it: cloud url")
	if len(h.hellos) != 0 {
		t.Error("it connected")
	}
	// and it needs no reboot once the address is known
	m.Type("cloud url " + strings.TrimSuffix(h.url(), "/gateway") + "\n")
	p := h.next()
	p.awaitServes("exec-lua")
}

func TestWrongPasswordIsToldAndMended(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	s := h.settings()
	s["cloud.password"] = "wrong"
	m := boot(t, craftos.Options{ID: 1, Files: disk(t, nil), AllowPrivate: true, Settings: s})
	m.awaitScreen("refused: wrong password")
	m.awaitScreen("cloud password")
	m.Type("cloud password\n")
	m.awaitScreen("Password of the gateway:")
	m.Type(testPassword + "\n")
	p := h.next()
	p.awaitServes("exec-lua")
	m.awaitScreen("connected as 1:")
}

func TestForbiddenAddressPrintsTheRule(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	m := boot(t, craftos.Options{ID: 1, Files: disk(t, nil), Settings: h.settings()})
	m.awaitScreen("[[http.rules]]")
	m.awaitScreen(`host = "127.0.0.0/8"`)
	m.awaitScreen(`action = "allow"`)
}

func TestSwitchedOffWorldsPrintTheSetting(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for want, o := range map[string]craftos.Options{
		"http.enabled = true":           {DisableHTTP: true},
		"http.websocket_enabled = true": {DisableWebsockets: true},
	} {
		o.Files, o.Settings, o.AllowPrivate = disk(t, nil), h.settings(), true
		m := boot(t, o)
		m.awaitScreen(want)
		m.Type("echo still here\n")
		m.awaitScreen("still here")
	}
}

// Each of the game's words for a connection that failed leads to advice of its own, by a name or an address.
func adviceForEachFailure(t *testing.T, _ *machine, p *peer) {
	r := p.exec(`
		local advice = require("apis.libadvice")
		for _, message in ipairs({"Domain not permitted", "Websocket connections are disabled", "Too many websockets already open",
			"Unknown host", "Invalid handshake response", "Could not create a secure connection", "URL malformed", "Invalid scheme 'x'", "Timed out", "Could not connect"}) do
			local lines = advice.forSocket(message, "ws://[::1]:4444/gateway")
			if lines[1]:find("cannot connect", 1, true) or not lines[2] then error(message) end
		end
		return advice.forSocket("anything else", "ws://h/")[1], advice.hostOf("ws://[::1]:4444/gateway"), advice.hostOf("wss://h:1/x"),
			advice.hostOf("h")`, time.Minute)
	if !r.OK {
		t.Fatalf("%s", r.Error)
	}
	for i, want := range []string{"cannot connect to ws://h/: anything else. Trying again.", "::1", "h", ""} {
		if got := string(r.Returns[i].Bytes); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestReconnect(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	_, p := h.connect(craftos.Options{ID: 1})
	boot := p.hello.Boot
	// An answer that becomes ready while there is no connection arrives by the next one, and the code has run once.
	_, lost := p.start("exec-lua", map[string]any{"sourceBase64": b64("_G.ran = (_G.ran or 0) + 1 os.pullEvent('go') return 'late'")}, time.Minute)
	until(t, "it runs", func() bool { return p.exec("return _G.ran", time.Minute).Returns[0].Value == 1.0 })
	_ = p.conn.Close()
	again := h.next()
	again.awaitServes("exec-lua")
	if again.hello.Boot != boot {
		t.Error("a reconnect changed the boot nonce")
	}
	late := make(chan frame, 1)
	again.mu.Lock()
	p.mu.Lock()
	for id, c := range p.calls {
		if c == lost {
			again.calls[id] = late
		}
	}
	again.lastID = p.lastID
	p.mu.Unlock()
	again.mu.Unlock()
	if r := again.exec("os.queueEvent('go') return _G.ran", time.Minute); r.Returns[0].Value != 1.0 {
		t.Errorf("it ran %v times", r.Returns[0].Value)
	}
	if r := again.result(again.await(late)); !r.OK || string(r.Returns[0].Bytes) != "late" {
		t.Errorf("the late answer: %+v", r)
	}
}

func requestsOfPrograms(t *testing.T, _ *machine, p *peer) {
	p.mu.Lock()
	p.questers = func(f frame) frame {
		yes := true
		if f.Request == "whoami" {
			return frame{Type: "server_response", ID: f.ID, OK: &yes, Payload: json.RawMessage(`{"traposId":"1:","computerId":1}`)}
		}
		return frame{Type: "server_response", ID: f.ID, OK: new(bool), Error: &frameError{Code: "unauthorized", Message: "not allowed"}}
	}
	p.mu.Unlock()
	r := p.exec(`
		local cloud = require("apis.libcloud")
		local me = assert(cloud.request("whoami"))
		local nothing, problem = cloud.request("relay", {to = "2:"})
		local status = cloud.status()
		return me.traposId, nothing, problem.code, problem.message, status.state, table.concat(status.serves, " ")`, time.Minute)
	if !r.OK {
		t.Fatalf("%s", r.Error)
	}
	var got []string
	for _, v := range r.Returns {
		got = append(got, v.Type+":"+string(v.Bytes))
	}
	want := "string:1: nil: string:unauthorized string:not allowed string:ready string:computer-info delete-file edit-file exec-lua list-files move-file " +
		"read-file read-screen reboot-computer send-event send-keys write-file"
	if strings.Join(got, " ") != want {
		t.Errorf("got %s", strings.Join(got, " "))
	}
}

// A program of the player's serves a type of its own beside ours, and takes it back.
func TestServeFromAProgram(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	m, p := h.connect(craftos.Options{ID: 1, Files: disk(t, map[string]string{"double.lua": `
		local loop = require("/apis/eventloop").create()
		local cloud = require("/apis/libcloud")
		local stop
		stop = cloud.serve("double", function(payload)
			if not payload.n then return nil, {code = "bad_request", message = "n is missing"} end
			if payload.n == 0 then error("zero") end
			if payload.n < 0 then loop.after(0.1, function() stop() loop.stop() end) end
			sleep(0.05)
			return {n = payload.n * 2}
		end, {eventloop = loop})
		loop.run()
		print("served enough")`})})
	m.awaitScreen(">")
	m.Type("double\n")
	p.awaitServes("double")
	if f := p.call("double", map[string]any{"n": 21}); !*f.OK || string(f.Payload) != `{"n":42}` {
		t.Errorf("%+v %s", f, f.Payload)
	}
	if f := p.call("double", map[string]any{}); *f.OK || f.Error.Code != "bad_request" || f.Error.Message != "n is missing" {
		t.Errorf("%+v", f)
	}
	if f := p.call("double", map[string]any{"n": 0}); *f.OK || f.Error.Code != "internal" || !strings.Contains(f.Error.Message, "zero") {
		t.Errorf("%+v", f)
	}
	p.call("double", map[string]any{"n": -1})
	m.awaitScreen("served enough")
	if f := p.call("double", map[string]any{"n": 1}); *f.OK || f.Error.Code != "unknown_type" {
		t.Errorf("%+v", f)
	}
}

func TestControlTAndTheShellLeaveTheServersAlone(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	m, p := h.connect(craftos.Options{ID: 1, Files: disk(t, map[string]string{"wait.lua": "print('waiting') sleep(1000)"})})
	m.awaitScreen(">")
	m.Type("wait\n")
	m.awaitScreen("waiting")
	m.QueueEvent("terminate")
	m.awaitScreen("Terminated")
	if r := p.exec("return 1", time.Minute); !r.OK {
		t.Errorf("after ctrl+t: %+v", r)
	}
	m.Type("/servers/cloud\n")
	m.awaitScreen("it is running already")
	m.Type("cloud disconnect\n")
	<-p.gone
	m.Type("cloud connect\n")
	p = h.next()
	p.awaitServes("exec-lua")
}

// What the cloud has to say stands above the line that is being typed, where the screen can tell what is on it.
func TestMessagesLeaveThePromptAlone(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	m, p := h.connect(craftos.Options{ID: 1, Files: disk(t, map[string]string{ // as multishell does on advanced computers
		"startup/00_a.lua": "term.redirect(window.create(term.current(), 1, 1, term.getSize()))",
	})})
	m.awaitScreen("connected as 1:")
	m.Type("echo still")
	m.awaitScreen("> echo still")
	p.writeText([]byte(`{"type":"hello_error","code":"internal","message":"mind the gap"}`))
	m.awaitScreen("mind the gap > echo still")
	m.Type(" typing\n")
	m.awaitScreen("> echo still typing still typing")
}

func TestOversizedRequestIsRefused(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	files := disk(t, nil)
	wire := string(files["apis/libwire.lua"].Data)
	files["apis/libwire.lua"].Data = []byte(strings.Replace(wire, "2 * 1024 * 1024", "200 * 1024", 1)) // 2 MiB take long to send
	_, p := h.connect(craftos.Options{ID: 1, Files: files})
	f := p.call("write-file", map[string]any{"path": "x", "dataBase64": strings.Repeat("A", 300_000)})
	if f.OK == nil || *f.OK || f.Error.Code != "too_large" {
		t.Errorf("%+v", f)
	}
	if r := p.exec("return 1", time.Minute); !r.OK {
		t.Errorf("afterwards: %+v", r)
	}
}

func TestLabelsOfAnyBytes(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	_, p := h.connect(craftos.Options{ID: 1, Label: "a:b\xe9"})
	if string(p.hello.LabelB64) != "a:b\xe9" {
		t.Errorf("label %q %q", p.hello.Label, p.hello.LabelB64)
	}
}

// A program may ask before there is a connection; the question is kept.
func TestRequestBeforeTheConnection(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.greet = make(chan struct{})
	m := boot(t, craftos.Options{ID: 1, AllowPrivate: true, Settings: h.settings(), Files: disk(t, map[string]string{"startup/50_ask.lua": `
		print("asking")
		local answer, problem = require("/apis/libcloud").request("whoami", {}, {timeout = 60})
		print(answer and answer.name or problem.message)`})})
	m.awaitScreen("asking")
	h.receive() // it is there, and has no hello_ok yet
	asked := make(chan frame, 1)
	close(h.greet)
	p := h.next()
	yes := true
	p.mu.Lock()
	p.questers = func(f frame) frame {
		select {
		case asked <- f:
		default:
		}
		return frame{Type: "server_response", ID: f.ID, OK: &yes, Payload: json.RawMessage(`{"name":"caf\u00e9 is open"}`)}
	}
	p.mu.Unlock()
	m.awaitScreen("is open")
	if f := <-asked; f.Request != "whoami" || f.TimeoutMs != 60000 {
		t.Errorf("%+v", f)
	}
}

// A gateway that is there and says nothing is left, whether it is silent from the start or later.
func TestSilentGatewayIsLeft(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.greet = make(chan struct{})
	files := disk(t, nil)
	link := string(files["apis/liblink.lua"].Data)
	link = strings.Replace(link, "LIMIT_SILENT = 65, 10, 60", "LIMIT_SILENT = 65, 0.4, 0.4", 1)
	files["apis/liblink.lua"].Data = []byte(strings.Replace(link, "local WATCH = 5", "local WATCH = 0.1", 1))
	m := boot(t, craftos.Options{ID: 1, AllowPrivate: true, Settings: h.settings(), Files: files})
	h.receive()
	h.receive()
	m.awaitScreen("does not answer the greeting")
	close(h.greet)
	first := h.next()
	<-first.gone
	second := h.next()
	if first.hello.Boot != second.hello.Boot {
		t.Error("another boot")
	}
}

// A chunk that was lost makes its request fail, and no other.
func lostChunk(t *testing.T, _ *machine, p *peer) {
	answer := make(chan frame, 1)
	p.mu.Lock()
	p.calls["lost"] = answer
	p.mu.Unlock()
	no, yes, first, third := false, true, 0, 2
	p.write(frame{Type: "chunk", ID: "lost", Seq: &first, Last: &no, Data: []byte(`{"type":"server_request","id":"lost","request":"exec-lua",`)})
	p.write(frame{Type: "chunk", ID: "lost", Seq: &third, Last: &yes, Data: []byte(`"payload":{}}`)})
	if f := p.await(answer); *f.OK || f.Error.Code != "bad_request" || !strings.Contains(f.Error.Message, "lost") {
		t.Errorf("%+v", f.Error)
	}
	// A stream that was cancelled half-way is forgotten, and what still comes of it ignored.
	p.write(frame{Type: "chunk", ID: "half", Seq: &first, Last: &no, Data: []byte(`{"type":"server_request","id":"half","request":"ping",`)})
	p.write(frame{Type: "cancel", ID: "half"})
	second := 1
	p.mu.Lock()
	p.calls["half"] = answer
	p.mu.Unlock()
	p.write(frame{Type: "chunk", ID: "half", Seq: &second, Last: &yes, Data: []byte(`"payload":{}}`)})
	if r := p.exec("return 1", time.Minute); !r.OK {
		t.Errorf("afterwards: %+v", r)
	}
	select {
	case f := <-answer:
		t.Errorf("the cancelled one was answered: %+v", f)
	default:
	}
}

// A request that comes twice is carried out once.
func repeatedRequest(t *testing.T, _ *machine, p *peer) {
	payload, err := json.Marshal(map[string]any{"sourceBase64": b64("_G.ran = (_G.ran or 0) + 1")})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p.write(frame{Type: "server_request", ID: "same", Request: "exec-lua", Payload: payload, TimeoutMs: 60000})
	}
	until(t, "it ran", func() bool { return p.exec("return _G.ran", time.Minute).Returns[0].Value != nil })
	if r := p.exec("sleep(0.2) return _G.ran", time.Minute); r.Returns[0].Value != 1.0 {
		t.Errorf("it ran %v times", r.Returns[0].Value)
	}
}
