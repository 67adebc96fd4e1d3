package gateway

import (
	"strings"
	"sync"
	"testing"
)

func TestStats(t *testing.T) {
	b := newBed(t, Options{})
	if s := b.g.Stats(); s.FramesReceived+s.FramesSent+s.BytesReceived+s.BytesSent != 0 || len(s.Refused) != 0 || s.Computers[StateReady] != 0 {
		t.Errorf("before anything: %+v", s)
	}
	p := b.join(12, "miner") // a hello and its hello_ok
	joined := b.g.Stats()
	if joined.FramesReceived != 1 || joined.FramesSent != 1 || joined.BytesReceived == 0 || joined.BytesSent == 0 || joined.Computers[StateReady] != 1 {
		t.Errorf("one computer: %+v", joined)
	}
	done := b.ask(t.Context(), "12:miner", "ping", `{}`)
	p.ok(p.nextOf("server_request")["id"], strings.Repeat("x", 1000))
	b.await(done)
	answered := b.g.Stats()
	if answered.FramesReceived != 2 || answered.FramesSent != 2 || answered.BytesReceived < joined.BytesReceived+1000 || answered.BytesSent <= joined.BytesSent {
		t.Errorf("one request more: %+v, before %+v", answered, joined)
	}
	for range 2 {
		stranger := b.dial()
		hello := helloFrame(13, "x")
		hello["password"] = "wrong"
		stranger.send(hello)
		stranger.closed()
	}
	if s := b.g.Stats(); s.Refused[CodeUnauthorized] != 2 || len(s.Refused) != 1 || s.Computers[StateReady] != 1 {
		t.Errorf("two refused: %+v", s)
	}
}

// Each request is observed once, also one that is refused before anything is sent.
func TestObserve(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	b := newBed(t, Options{Observe: func(o Observation) {
		mu.Lock()
		defer mu.Unlock()
		if o.Duration < 0 {
			t.Errorf("%+v", o)
		}
		seen[o.Type+" "+string(o.Outcome)]++
	}})
	p := b.join(12, "miner")
	done := b.ask(t.Context(), "12", "ping", `{}`)
	p.ok(p.nextOf("server_request")["id"], 1)
	b.await(done)
	b.await(b.ask(t.Context(), "12", "dig", `{}`))
	b.await(b.ask(t.Context(), "13", "ping", `{}`))
	b.await(b.ask(t.Context(), "12", "", `{}`))
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"ping ok", "dig unknown_type", "ping unknown_computer", " bad_request"} {
		if seen[want] != 1 {
			t.Errorf("%q was seen %d times", want, seen[want])
		}
	}
	if len(seen) != 4 {
		t.Errorf("%v", seen)
	}
}
