package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// receiveChunks assembles one chunked frame, acknowledging as a computer does, and checks the window.
func (p *peer) receiveChunks(stop func(seq int) bool) frame {
	p.t.Helper()
	var text []byte
	for seq := 0; ; seq++ {
		c := p.nextOf("chunk")
		if c["seq"] != float64(seq) {
			p.t.Fatalf("chunk %v in place %d", c["seq"], seq)
		}
		data, err := base64.StdEncoding.DecodeString(c["data"].(string))
		if err != nil {
			p.t.Fatal(err)
		}
		text = append(text, data...)
		if c["last"] == true {
			break
		}
		if stop != nil && stop(seq) {
			return c
		}
		p.send(frame{"type": "chunk_ack", "id": c["id"], "seq": seq})
	}
	if !isASCII(text) {
		p.t.Error("the assembled frame is not ascii")
	}
	var f frame
	if err := json.Unmarshal(text, &f); err != nil {
		p.t.Fatal(err)
	}
	return f
}

// sendChunks sends a frame in chunks of size bytes and waits for the acknowledgements.
func (p *peer) sendChunks(stream string, f any, size int) {
	p.t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		p.t.Fatal(err)
	}
	for seq := 0; ; seq++ {
		n := min(size, len(text))
		last := n == len(text)
		p.send(frame{"type": "chunk", "id": stream, "seq": seq, "last": last, "data": text[:n]})
		if last {
			return
		}
		text = text[n:]
		if ack := p.nextOf("chunk_ack"); ack["id"] != stream || ack["seq"] != float64(seq) {
			p.t.Fatalf("chunk %d of %s acknowledged as %v", seq, stream, ack)
		}
	}
}

func TestChunksBothWays(t *testing.T) {
	b := newBed(t, Options{})
	p := b.join(1, "a")
	file := strings.Repeat("0123456789abcdef", 900*1024/16)
	payload, _ := json.Marshal(map[string]string{"dataBase64": b64(file)})
	done := b.ask(t.Context(), "1:a", "write-file", string(payload))
	req := p.receiveChunks(nil)
	if got := req["payload"].(map[string]any)["dataBase64"]; got != b64(file) {
		t.Fatal("the file was changed on the way")
	}
	output := strings.Repeat("y", 200_000)
	p.sendChunks("s1", frame{"type": "computer_response", "id": req["id"], "ok": true, "payload": output}, 40_000)
	if r := b.await(done); r.err != nil || len(r.payload) != len(output)+2 {
		t.Fatalf("got %d bytes, %v", len(r.payload), r.err)
	}
}

func TestChunkWindow(t *testing.T) {
	b := newBed(t, Options{})
	p := b.join(1, "a")
	payload := `"` + strings.Repeat("x", 1<<20) + `"`
	ctx, cancel := context.WithCancel(t.Context())
	done := b.ask(ctx, "1:a", "exec-lua", payload)
	for range chunkWindow {
		p.nextOf("chunk")
	}
	next := b.ask(t.Context(), "1:a", "exec-lua", "2")
	p.send(frame{"type": "ping", "t": 1})
	if f := p.next(); f["type"] != "pong" {
		t.Fatalf("got %v, want nothing beyond the window but the pong", f)
	}
	cancel() // ends the stream too, and the next request is not held up
	wantCode(t, b.await(done).err, CodeCancelled)
	p.nextOf("cancel")
	p.ok(p.nextOf("server_request")["id"], 1)
	if r := b.await(next); r.err != nil {
		t.Error(r.err)
	}
}

// TestChunkedRequestSurvivesAReconnect: the only request that may be sent again is one whose end was never written.
func TestChunkedRequestSurvivesAReconnect(t *testing.T) {
	b := newBed(t, Options{})
	p := b.join(1, "a")
	done := b.ask(t.Context(), "1:a", "exec-lua", `"`+strings.Repeat("x", 1<<20)+`"`)
	p.receiveChunks(func(seq int) bool { return seq == 2 })
	fresh := b.join(1, "a")
	req := fresh.receiveChunks(nil)
	fresh.ok(req["id"], len(req["payload"].(string)))
	if r := b.await(done); string(r.payload) != fmt.Sprint(1<<20) {
		t.Errorf("got %s, %v", r.payload, r.err)
	}
}

// TestChunkedRequestRefusedEarly: what is left of a request that is answered before its end is not sent.
func TestChunkedRequestRefusedEarly(t *testing.T) {
	b := newBed(t, Options{})
	p := b.join(1, "a")
	done := b.ask(t.Context(), "1:a", "exec-lua", `"`+strings.Repeat("x", 1<<20)+`"`)
	id := p.nextOf("chunk")["id"]
	p.send(frame{"type": "computer_response", "id": id, "ok": false, "error": frame{"code": "too_large", "message": "no"}})
	wantCode(t, b.await(done).err, CodeTooLarge)
	if f := p.nextOf("cancel"); f["id"] != id {
		t.Errorf("cancelled %v, want %v", f["id"], id)
	}
	done = b.ask(t.Context(), "1:a", "exec-lua", "1")
	p.ok(p.nextOf("server_request")["id"], 1)
	if r := b.await(done); r.err != nil {
		t.Error(r.err)
	}
}

func TestAnswerTooLarge(t *testing.T) {
	b := newBed(t, Options{MaxAssembledBytes: 100_000})
	p := b.join(1, "a")
	done := b.ask(t.Context(), "1:a", "exec-lua", "")
	id := p.nextOf("server_request")["id"]
	type response struct { // id after the payload, as Lua may have it
		Type    string         `json:"type"`
		Payload map[string]any `json:"payload"`
		OK      bool           `json:"ok"`
		ID      any            `json:"id"`
	}
	big := strings.Repeat("x", 300_000)
	p.sendChunks("s1", response{"computer_response", map[string]any{"id": "nested", "out": big}, true, id}, 40_000)
	wantCode(t, b.await(done).err, CodeTooLarge)
	p.sendChunks("s2", frame{"type": "computer_request", "id": "c1", "request": "ping", "payload": big}, 40_000)
	if f := p.nextOf("server_response"); f["id"] != "c1" || f["error"].(map[string]any)["code"] != "too_large" {
		t.Errorf("got %v", f)
	}
	done = b.ask(t.Context(), "1:a", "exec-lua", "") // the connection lives
	p.ok(p.nextOf("server_request")["id"], 1)
	if r := b.await(done); r.err != nil {
		t.Error(r.err)
	}
}

func TestAssembler(t *testing.T) {
	type step struct {
		id       string
		seq      float64
		last     bool
		data     string
		code     Code // of the error that ends the connection
		complete string
		reject   Code
	}
	for name, steps := range map[string][]step{
		"one chunk":     {{id: "a", last: true, data: "xyz", complete: "xyz"}},
		"two streams":   {{id: "a", data: "1"}, {id: "b", data: "2"}, {id: "a", seq: 1, last: true, data: "3", complete: "13"}, {id: "b", seq: 1, last: true, complete: "2"}},
		"begins again":  {{id: "a", data: "1"}, {id: "a", data: "2"}, {id: "a", seq: 1, last: true, data: "3", complete: "23"}},
		"skips":         {{id: "a", data: "1"}, {id: "a", seq: 2, code: CodeBadRequest}},
		"repeats":       {{id: "a", data: "1"}, {id: "a", seq: 1}, {id: "a", seq: 1, code: CodeBadRequest}},
		"half a number": {{id: "a", data: "1"}, {id: "a", seq: 0.5, code: CodeBadRequest}},
		"no beginning":  {{id: "a", seq: 1}, {id: "a", last: true, data: "x", complete: "x"}},
		"no id":         {{code: CodeBadRequest}},
		"too many":      {{id: "a", data: "1"}, {id: "b"}, {id: "c"}, {id: "a", seq: 1, data: "2"}, {id: "d"}, {id: "e"}, {id: "b", seq: 1}, {id: "a", seq: 2, last: true, data: "3", complete: "123"}},
		"too large":     {{id: "a", data: "123456"}, {id: "a", seq: 1, data: "123456"}, {id: "a", seq: 2, last: true, reject: CodeTooLarge}},
		"shared limit":  {{id: "a", data: "123456"}, {id: "b", data: "123456"}, {id: "b", seq: 1, last: true, reject: CodeTooLarge}, {id: "a", seq: 1, last: true, complete: "123456"}},
	} {
		t.Run(name, func(t *testing.T) {
			var total atomic.Int64
			a := assembler{limit: 10, total: &total}
			for i, s := range steps {
				got, err := a.add(&inbound{ID: s.id, Seq: s.seq, Last: s.last, Data: []byte(s.data)})
				if (err == nil) != (s.code == "") || (err != nil && err.Code != s.code) {
					t.Fatalf("step %d: error %v, want %q", i, err, s.code)
				}
				if string(got.frame) != s.complete || got.reject != s.reject || got.complete != (s.complete != "" || s.reject != "") {
					t.Fatalf("step %d: %+v", i, got)
				}
			}
			a.close()
			if total.Load() != 0 || a.held != 0 || len(a.streams) != 0 {
				t.Errorf("after close: total %d, held %d, %d streams", total.Load(), a.held, len(a.streams))
			}
		})
	}
}

func TestAssemblerWithoutEnd(t *testing.T) {
	var total atomic.Int64
	a := assembler{limit: 10, total: &total}
	data := bytes.Repeat([]byte("x"), 11)
	if _, err := a.add(&inbound{ID: "a", Data: data}); err != nil {
		t.Fatal(err)
	}
	a.streams["a"].discarded = maxDiscarded - len(data)
	if _, err := a.add(&inbound{ID: "a", Seq: 1, Data: data}); err != nil {
		t.Fatal(err)
	}
	_, err := a.add(&inbound{ID: "a", Seq: 2, Data: data})
	wantCode(t, err, CodeTooLarge)
}

func TestChunkedFrameThatNobodyTakes(t *testing.T) {
	b := newBed(t, Options{Heartbeat: 5 * time.Millisecond, Unresponsive: 40 * time.Millisecond})
	p := b.join(1, "a")
	done := b.ask(t.Context(), "1:a", "exec-lua", `"`+strings.Repeat("x", 1<<20)+`"`)
	p.nextOf("chunk")
	stop := make(chan struct{})
	go func() { // it answers pings, but acknowledges nothing
		defer close(stop)
		for {
			f, err := p.read()
			if err != nil {
				return
			}
			if f["type"] == "ping" {
				p.send(frame{"type": "pong", "t": f["t"]})
			}
			if f["type"] == "cancel" {
				return
			}
		}
	}()
	wantCode(t, b.await(done).err, CodeTimeout)
	<-stop
}

func TestTopFields(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"a","id":"b"}`:                           "a b",
		`{"payload":{"type":"x","id":"y"},"id":"b"}`:      " b",
		`{"payload":["type","id","z"],"type":"a"}`:        "a ",
		`{"s":"\"type\":\"x\"","type":"a","id":"q\"r"}`:   `a q"r`,
		`{"type" : "a", "n":1, "b":true,"x":"type","id"`:  "a ",
		`{"id":"b","payload":"type","k":{"a":[{"b":{}}]}`: " b",
	} {
		for _, size := range []int{1, 3, len(text)} {
			var f topFields
			for rest := []byte(text); len(rest) > 0; {
				n := min(size, len(rest))
				f.write(rest[:n])
				rest = rest[n:]
			}
			if got := f.typ + " " + f.id; got != want {
				t.Errorf("%s in pieces of %d: %q, want %q", text, size, got, want)
			}
		}
	}
}
