package gateway

import (
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// reset ends a connection as a rebooting computer does: without a close frame.
func (p *peer) reset() {
	if c, ok := p.conn.NetConn().(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	_ = p.conn.Close()
}

func TestReplacedByAnotherBoot(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	b := newBed(t, Options{Logger: zap.New(core)})
	old := b.join(1, "a")
	done := b.ask(t.Context(), "1:a", "exec-lua", "")
	old.nextOf("server_request")
	fresh := b.join(1, "a", boot("boot-2"))
	wantCode(t, b.await(done).err, CodeDisconnected)
	if code, reason := old.closed(); code != 4409 || !strings.Contains(reason, "newer") {
		t.Errorf("closed with %d %q", code, reason)
	}
	done = b.ask(t.Context(), "1:a", "exec-lua", "")
	fresh.ok(fresh.nextOf("server_request")["id"], 1)
	if r := b.await(done); r.err != nil {
		t.Error(r.err)
	}
	if n := logs.FilterField(zap.String("code", "duplicate")).Len(); n != 1 {
		t.Errorf("%d lines name the duplicate", n)
	}
	if n := len(b.g.Registry().Computers()); n != 1 {
		t.Errorf("%d computers", n)
	}
}

// TestTwoWorldsClaimOneIdentity: the boot that was pushed out comes back, which no rebooted computer can.
func TestTwoWorldsClaimOneIdentity(t *testing.T) {
	b := newBed(t, Options{})
	b.join(1, "a")
	second := b.join(1, "a", boot("boot-2"))
	p := b.dial()
	p.send(helloFrame(1, "a"))
	e := p.next()
	if e["code"] != "duplicate" || !strings.Contains(e["message"].(string), second.conn.LocalAddr().String()) {
		t.Errorf("got %v, want duplicate and the address of the other one", e)
	}
	if code, _ := p.closed(); code != 4409 {
		t.Errorf("closed with %d", code)
	}
	second.reset()
	eventually(t, "the second to be gone", func() bool { return len(b.g.Registry().Computers()) == 0 })
	b.join(1, "a")
}

func TestSameBootTakesTheCallsOver(t *testing.T) {
	b := newBed(t, Options{})
	for name, lose := range map[string]func(*peer){"half-open": func(*peer) {}, "reset": (*peer).reset} {
		t.Run(name, func(t *testing.T) {
			old := b.join(1, "a", boot(name))
			done := b.ask(t.Context(), "1:a", "exec-lua", "")
			id := old.nextOf("server_request")["id"]
			lose(old)
			if name == "reset" {
				eventually(t, "the computer to be away", func() bool { return len(b.g.Registry().Computers()) == 0 })
				_, err := b.g.Registry().Request(t.Context(), "default", "1:a", "ping", nil)
				wantCode(t, err, CodeDisconnected)
			}
			fresh := b.join(1, "a", boot(name))
			fresh.ok(id, "kept")
			if r := b.await(done); string(r.payload) != `"kept"` {
				t.Fatalf("got %s, %v", r.payload, r.err)
			}
			fresh.send(frame{"type": "ping", "t": 1})
			if f := fresh.next(); f["type"] != "pong" {
				t.Errorf("got %v: a request was sent twice", f)
			}
		})
	}
}

func TestLostConnection(t *testing.T) {
	b := newBed(t, Options{ReconnectGrace: 30 * time.Millisecond})
	p := b.join(1, "a")
	done := b.ask(t.Context(), "1:a", "exec-lua", "")
	p.nextOf("server_request")
	p.reset()
	wantCode(t, b.await(done).err, CodeDisconnected)
	eventually(t, "the computer to be forgotten", func() bool {
		_, err := b.g.Registry().find("default", "1:a")
		return err != nil
	})
}

func TestClosedOnPurpose(t *testing.T) {
	b := newBed(t, Options{ReconnectGrace: time.Hour})
	p := b.join(1, "a")
	done := b.ask(t.Context(), "1:a", "exec-lua", "")
	p.nextOf("server_request")
	if err := p.conn.WriteControl(8, []byte{3, 232}, time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, b.await(done).err, CodeDisconnected)
}

func TestRelabelled(t *testing.T) {
	b := newBed(t, Options{})
	b.join(1, "a")
	p := b.join(1, "b") // the same boot
	b.join(1, "c", boot("boot-2"))
	var ids []string
	for _, c := range b.g.Registry().Computers() {
		ids = append(ids, c.TraposID)
	}
	if s := strings.Join(ids, " "); s != "1:b 1:c" {
		t.Errorf("got %s, want the label of the same boot replaced and the other computer beside it", s)
	}
	done := b.ask(t.Context(), "1:b", "exec-lua", "")
	p.ok(p.nextOf("server_request")["id"], 1)
	if r := b.await(done); r.err != nil {
		t.Error(r.err)
	}
}

func TestClose(t *testing.T) {
	b := newBed(t, Options{})
	p, silent := b.join(1, "a"), b.dial()
	done := b.ask(t.Context(), "1:a", "exec-lua", "")
	p.nextOf("server_request")
	closed := make(chan error, 1)
	go func() { closed <- b.g.Close(t.Context()) }()
	wantCode(t, b.await(done).err, CodeDisconnected)
	for _, p := range []*peer{p, silent} {
		if code, _ := p.closed(); code != 1001 {
			t.Errorf("closed with %d", code)
		}
		_ = p.conn.Close()
	}
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("close does not return")
	}
	_, err := b.g.Registry().Request(t.Context(), "default", "1:a", "ping", nil)
	if err == nil {
		t.Error("a request to a closed gateway succeeded")
	}
}

func TestOnChange(t *testing.T) {
	changes := make(chan struct{}, 64)
	b := newBed(t, Options{OnChange: func() { changes <- struct{}{} }})
	want := func(what string) {
		t.Helper()
		select {
		case <-changes:
		case <-time.After(patience):
			t.Fatalf("no change for: %s", what)
		}
	}
	p := b.join(1, "a")
	want("connect")
	p.send(frame{"type": "serve", "types": []string{"x"}})
	want("serve")
	p.send(frame{"type": "serve", "types": []string{"x"}})
	p.reset()
	want("disconnect")
	if len(changes) > 0 {
		t.Error("an unchanged list counts as a change")
	}
}
