package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestUnknownTypeAtOnce(t *testing.T) {
	b := newBed(t, Options{})
	p := b.join(12, "miner")
	_, err := b.g.Registry().Request(t.Context(), "default", "12:miner", "read-file", nil)
	wantCode(t, err, CodeUnknownType)
	p.send(frame{"type": "serve", "types": []string{"read-file"}})
	eventually(t, "the new list", func() bool { return b.g.Registry().Computers()[0].Serves[0] == "read-file" })
	_, err = b.g.Registry().Request(t.Context(), "default", "12:miner", "exec-lua", nil)
	wantCode(t, err, CodeUnknownType)
	done := b.ask(t.Context(), "12:miner", "ping", `{"a":1}`) // served by every computer, advertised by none
	req := p.nextOf("server_request")
	p.ok(req["id"], req["payload"])
	if r := b.await(done); string(r.payload) != `{"a":1}` {
		t.Errorf("got %s, %v", r.payload, r.err)
	}
}

func TestRequestRefusedHere(t *testing.T) {
	b := newBed(t, Options{})
	b.join(12, "miner")
	b.join(7, "miner", network("other"))
	b.join(12, "farm", network("other"))
	for name, c := range map[string]struct {
		network, traposID, kind, payload string
		code                             Code
		says                             string
	}{
		"no such id":      {"default", "13:miner", "ping", "", CodeUnknownComputer, `"13:miner"`},
		"other label":     {"default", "12:farm", "ping", "", CodeUnknownComputer, `there is "12:miner"`},
		"other network":   {"default", "7:miner", "ping", "", CodeUnknownComputer, `network "default"`},
		"ambiguous":       {"", "12", "ping", "", CodeBadRequest, `"12:farm" in network other, "12:miner" in network default`},
		"not a trapos id": {"default", "miner", "ping", "", CodeBadRequest, "<computer id>:<label>"},
		"empty":           {"default", "", "ping", "", CodeBadRequest, "<computer id>:<label>"},
		"bad payload":     {"default", "12", "ping", "{", CodeBadRequest, "json"},
		"no type":         {"default", "12", "", "", CodeBadRequest, "type"},
		"too large":       {"default", "12", "exec-lua", `"` + strings.Repeat("é", 400_000) + `"`, CodeTooLarge, "2400002"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.g.Registry().Request(t.Context(), c.network, c.traposID, c.kind, json.RawMessage(c.payload))
			wantCode(t, err, c.code)
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q does not say %q", err, c.says)
			}
		})
	}
}

func TestFind(t *testing.T) {
	b := newBed(t, Options{})
	b.join(12, "miner")
	b.join(12, "miner", network("other"))
	b.join(7, "a:b", network("other"))
	b.join(8, "")
	for _, c := range []struct{ network, traposID, want string }{
		{"default", "12:miner", "default 12:miner"},
		{"other", "12:miner", "other 12:miner"},
		{"other", "12", "other 12:miner"},
		{"", "7", "other 7:a:b"},
		{"", "7:a:b", "other 7:a:b"},
		{"", "8:", "default 8:"},
		{"default", "8", "default 8:"},
	} {
		got, err := b.g.Registry().find(c.network, c.traposID)
		if err != nil || got.network+" "+got.traposID != c.want {
			t.Errorf("%q %q: got %v, %v", c.network, c.traposID, got, err)
		}
	}
	var order []string
	for _, c := range b.g.Registry().Computers() {
		order = append(order, c.NetworkID+"/"+c.TraposID)
	}
	if s := strings.Join(order, " "); s != "default/8: default/12:miner other/7:a:b other/12:miner" {
		t.Errorf("order: %s", s)
	}
}

func TestComputerAnswersAnError(t *testing.T) {
	for name, c := range map[string]struct {
		answer  frame
		code    Code
		message string
	}{
		"known code":   {frame{"ok": false, "error": frame{"code": "busy", "message": "later"}}, CodeBusy, "later"},
		"unknown code": {frame{"ok": false, "error": frame{"code": "weird", "message": "x\ny"}}, CodeInternal, "x y"},
		"base64":       {frame{"ok": false, "error": frame{"code": "bad_request", "messageBase64": b64("\xfcber")}}, CodeBadRequest, "über"},
		"no error":     {frame{"ok": false}, CodeInternal, "the computer refused and gave no reason"},
		"no ok":        {frame{"payload": 1}, CodeBadRequest, "the computer's answer does not say whether it is ok"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, Options{})
			p := b.join(1, "a")
			done := b.ask(t.Context(), "1:a", "exec-lua", "")
			req := p.nextOf("server_request")
			c.answer["type"], c.answer["id"] = "computer_response", req["id"]
			p.send(c.answer)
			r := b.await(done)
			wantCode(t, r.err, c.code)
			var e *Error
			if errors.As(r.err, &e); e.Message != c.message {
				t.Errorf("message %q, want %q", e.Message, c.message)
			}
		})
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	b := newBed(t, Options{})
	p := b.join(1, "a")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	done := b.ask(ctx, "1:a", "exec-lua", "")
	req := p.nextOf("server_request")
	if ms := req["timeoutMs"].(float64); ms < 1 || ms > 50 {
		t.Errorf("timeoutMs %v", ms)
	}
	r := b.await(done)
	wantCode(t, r.err, CodeTimeout)
	if !errors.Is(r.err, context.DeadlineExceeded) {
		t.Errorf("%v is not context.DeadlineExceeded", r.err)
	}
	if f := p.nextOf("cancel"); f["id"] != req["id"] {
		t.Errorf("cancelled %v, want %v", f["id"], req["id"])
	}

	ctx, cancel = context.WithCancel(t.Context())
	done = b.ask(ctx, "1:a", "exec-lua", "")
	second := p.nextOf("server_request")
	cancel()
	r = b.await(done)
	wantCode(t, r.err, CodeCancelled)
	if !errors.Is(r.err, context.Canceled) {
		t.Errorf("%v is not context.Canceled", r.err)
	}
	if f := p.nextOf("cancel"); f["id"] != second["id"] {
		t.Errorf("cancelled %v, want %v", f["id"], second["id"])
	}

	p.ok(req["id"], "late") // is dropped, and does not disturb
	done = b.ask(t.Context(), "1:a", "exec-lua", "")
	third := p.nextOf("server_request")
	p.ok(third["id"], "mine")
	if r := b.await(done); string(r.payload) != `"mine"` {
		t.Errorf("got %s, %v", r.payload, r.err)
	}
	_, err := b.g.Registry().Request(ctx, "default", "1:a", "ping", nil)
	wantCode(t, err, CodeCancelled)
}

// TestQueue fills the slots and the queue, sees the ninth request wait, in order, and the next one refused.
func TestQueue(t *testing.T) {
	const queue = 3
	b := newBed(t, Options{QueueLength: queue})
	p := b.join(1, "a")
	reg := b.g.Registry()
	c, _ := reg.find("default", "1:a")
	load := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.calls) + len(c.queue)
	}
	var waiting []<-chan result
	for i := range maxInFlight + queue {
		waiting = append(waiting, b.ask(t.Context(), "1:a", "exec-lua", fmt.Sprint(i)))
		eventually(t, "the request to be queued", func() bool { return load() == i+1 })
	}
	_, err := reg.Request(t.Context(), "default", "1:a", "exec-lua", nil)
	wantCode(t, err, CodeBusy)

	var ids []any
	for i := range maxInFlight {
		f := p.nextOf("server_request")
		if f["payload"] != float64(i) {
			t.Fatalf("request %d came in place %d", int(f["payload"].(float64)), i)
		}
		ids = append(ids, f["id"])
	}
	p.send(frame{"type": "ping", "t": 1})
	if f := p.next(); f["type"] != "pong" {
		t.Fatalf("got %v: more than %d requests are under way", f, maxInFlight)
	}
	for i := range waiting {
		p.ok(ids[i], i)
		if r := b.await(waiting[i]); string(r.payload) != fmt.Sprint(i) {
			t.Fatalf("request %d: %s, %v", i, r.payload, r.err)
		}
		if len(ids) < len(waiting) {
			f := p.nextOf("server_request")
			if f["payload"] != float64(len(ids)) {
				t.Fatalf("got request %v, want %d", f["payload"], len(ids))
			}
			ids = append(ids, f["id"])
		}
	}
}

// TestCancelledInTheQueue gives up a request that was never sent: the computer hears nothing of it.
func TestCancelledInTheQueue(t *testing.T) {
	b := newBed(t, Options{})
	p := b.join(1, "a")
	var ids []any
	for range maxInFlight {
		b.ask(t.Context(), "1:a", "exec-lua", "1")
		ids = append(ids, p.nextOf("server_request")["id"])
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := b.ask(ctx, "1:a", "exec-lua", "2")
	c, _ := b.g.Registry().find("default", "1:a")
	eventually(t, "the request to be queued", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.queue) == 1 })
	cancel()
	wantCode(t, b.await(done).err, CodeCancelled)
	for _, id := range ids {
		p.ok(id, nil)
	}
	p.send(frame{"type": "ping", "t": 1})
	if f := p.next(); f["type"] != "pong" {
		t.Errorf("got %v, want nothing but the pong", f)
	}
}

// TestAbandonedSlots times eight requests out that a frozen computer has not consumed. Nothing more may be sent to it, or
// its event queue would overflow; once it proves by a pong that it goes on, the slots are free.
func TestAbandonedSlots(t *testing.T) {
	b := newBed(t, Options{})
	p := b.join(1, "a")
	ctx, cancel := context.WithCancel(t.Context())
	var first []<-chan result
	for range maxInFlight {
		first = append(first, b.ask(ctx, "1:a", "exec-lua", "1"))
	}
	for range maxInFlight {
		p.nextOf("server_request")
	}
	cancel()
	for _, ch := range first {
		wantCode(t, b.await(ch).err, CodeCancelled)
	}
	done := b.ask(t.Context(), "1:a", "exec-lua", "2")
	cancels := 0
	var pings []any
	p.send(frame{"type": "ping", "t": 5})
	for cancels < maxInFlight || len(pings) == 0 {
		switch f := p.next(); f["type"] {
		case "cancel":
			cancels++
		case "ping":
			pings = append(pings, f["t"])
		case "pong":
		default:
			t.Fatalf("got %v while the computer was frozen", f)
		}
	}
	for len(pings) > 0 {
		p.send(frame{"type": "pong", "t": pings[0]})
		pings = pings[1:]
	}
	for {
		f := p.next()
		if f["type"] == "ping" { // those that were cancelled after the first ping need a second one
			p.send(frame{"type": "pong", "t": f["t"]})
			continue
		}
		if f["type"] == "server_request" {
			p.ok(f["id"], "two")
			break
		}
	}
	if r := b.await(done); string(r.payload) != `"two"` {
		t.Errorf("got %s, %v", r.payload, r.err)
	}
}
