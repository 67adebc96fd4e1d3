package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func (p *peer) asks(id, kind string, payload any) {
	p.send(frame{"type": "computer_request", "id": id, "request": kind, "payload": payload, "timeoutMs": 60_000})
}

func TestComputerRequests(t *testing.T) {
	b := newBed(t, Options{})
	p := b.join(1, "ä")
	b.join(2, "b", unset("serves"))
	b.join(3, "c", network("other"))
	for _, c := range []struct {
		kind    string
		payload any
		want    string
	}{
		{"ping", frame{"é": 1}, `map[é:1]`},
		{"ping", nil, `<nil>`},
		{"whoami", frame{}, `map[computerId:1 networkId:default traposId:1:ä]`},
		{"computers", frame{}, `map[computers:[map[computerId:1 label:ä serves:[exec-lua write-file] state:ready traposId:1:ä] ` +
			`map[computerId:2 label:b serves:[] state:ready traposId:2:b]]]`},
	} {
		p.asks("c1", c.kind, c.payload)
		f := p.nextOf("server_response")
		if f["id"] != "c1" || f["ok"] != true || fmt.Sprint(f["payload"]) != c.want {
			t.Errorf("%s: got %v, want %s", c.kind, f, c.want)
		}
	}
	for kind, code := range map[string]string{"relay": string(CodeUnauthorized), "exec-lua": "unknown_type", "": "unknown_type"} {
		p.asks("c2", kind, frame{})
		f := p.nextOf("server_response")
		if f["ok"] != false || f["error"].(map[string]any)["code"] != code {
			t.Errorf("%s: got %v, want %s", kind, f, code)
		}
	}
}

func TestRelay(t *testing.T) {
	b := newBed(t, Options{AllowRelay: true})
	p, q := b.join(1, "a"), b.join(2, "b")
	b.join(3, "c", network("other"))
	p.asks("r1", "relay", frame{"to": "2:b", "request": "exec-lua", "payload": frame{"x": 1}})
	req := q.nextOf("server_request")
	if req["request"] != "exec-lua" || fmt.Sprint(req["payload"]) != "map[x:1]" || req["timeoutMs"].(float64) > 60_000 {
		t.Errorf("got %v", req)
	}
	p.asks("r1", "ping", nil)
	if f := p.nextOf("server_response"); f["error"].(map[string]any)["code"] != "duplicate" {
		t.Errorf("got %v, want duplicate", f)
	}
	q.ok(req["id"], "done")
	if f := p.nextOf("server_response"); f["payload"] != "done" {
		t.Errorf("got %v", f)
	}
	for to, code := range map[string]string{"3:c": "unknown_computer", "": "bad_request"} {
		p.asks("r2", "relay", frame{"to": to, "request": "exec-lua"})
		if f := p.nextOf("server_response"); f["error"].(map[string]any)["code"] != code {
			t.Errorf("to %q: got %v, want %s", to, f, code)
		}
	}
	p.asks("r3", "relay", frame{"to": "2", "request": "exec-lua"})
	id := q.nextOf("server_request")["id"]
	p.send(frame{"type": "cancel", "id": "r3"})
	if f := q.nextOf("cancel"); f["id"] != id {
		t.Errorf("cancelled %v, want %v", f["id"], id)
	}
	p.asks("r4", "relay", frame{"to": "2", "request": "exec-lua"})
	id = q.nextOf("server_request")["id"]
	p.reset() // its requests go with it
	if f := q.nextOf("cancel"); f["id"] != id {
		t.Errorf("cancelled %v, want %v", f["id"], id)
	}
}

func TestRelayBusy(t *testing.T) {
	b := newBed(t, Options{AllowRelay: true})
	p := b.join(1, "a")
	b.join(2, "b")
	for i := range maxAsked {
		p.asks(fmt.Sprint(i), "relay", frame{"to": "2", "request": "exec-lua"})
	}
	p.asks("more", "ping", nil)
	if f := p.nextOf("server_response"); f["id"] != "more" || f["error"].(map[string]any)["code"] != "busy" {
		t.Errorf("got %v", f)
	}
}

func TestLargeAnswerToAComputer(t *testing.T) {
	const size = 150_000
	b := newBed(t, Options{AllowRelay: true})
	p, q := b.join(1, "a"), b.join(2, "b")
	p.asks("r", "relay", frame{"to": "2", "request": "exec-lua"})
	id := q.nextOf("server_request")["id"]
	q.sendChunks("s", frame{"type": "computer_response", "id": id, "ok": true, "payload": strings.Repeat("x", size)}, 40_000)
	if f := p.receiveChunks(nil); len(f["payload"].(string)) != size {
		t.Errorf("got %d bytes", len(f["payload"].(string)))
	}
}

func TestAnswerLargerThanAComputerTakes(t *testing.T) {
	s := loneSession(t)
	if err := s.admit("r", func() {}); err != nil {
		t.Fatal(err)
	}
	s.respond("r", []byte(`"`+strings.Repeat("x", maxComputerAssembled)+`"`), nil)
	var f inbound
	if err := json.Unmarshal(s.responses[0].frame, &f); err != nil || f.Error == nil || f.Error.Code != CodeTooLarge {
		t.Errorf("got %+v, %v", f.Error, err)
	}
}

// The hook sees both computers, and its word goes back to the one that asked.
func TestRelayHook(t *testing.T) {
	var b *bed
	b = newBed(t, Options{Relay: func(ctx context.Context, r RelayRequest) (json.RawMessage, error) {
		what := r.From.TraposID + " " + r.To.NetworkID + "/" + r.To.TraposID + " " + r.Type + " " + string(r.Payload)
		switch r.Type {
		case "refused":
			return nil, &Error{Code: CodeUnauthorized, Message: what}
		case "broken":
			return nil, errors.New("what broke")
		}
		return b.g.Registry().Request(ctx, r.To.NetworkID, r.To.TraposID, r.Type, json.RawMessage(`{"changed":true}`))
	}})
	p, q := b.join(1, "a"), b.join(2, "b")
	b.join(3, "c", network("other"))
	p.asks("r1", "relay", frame{"to": "2", "request": "exec-lua", "payload": frame{"x": 1}})
	req := q.nextOf("server_request")
	if fmt.Sprint(req["payload"]) != "map[changed:true]" {
		t.Errorf("got %v", req)
	}
	q.ok(req["id"], "done")
	if f := p.nextOf("server_response"); f["payload"] != "done" {
		t.Errorf("got %v", f)
	}
	for _, c := range []struct{ to, kind, code, message string }{
		{"2", "refused", "unauthorized", `1:a default/2:b refused {"x":1}`},
		{"2", "broken", "internal", "what broke"},
		{"3:c", "refused", "unknown_computer", ""},
	} {
		p.asks("r2", "relay", frame{"to": c.to, "request": c.kind, "payload": frame{"x": 1}})
		f := p.nextOf("server_response")
		if e := f["error"].(map[string]any); e["code"] != c.code || c.message != "" && e["message"] != c.message {
			t.Errorf("%s to %s: got %v", c.kind, c.to, f)
		}
	}
}
