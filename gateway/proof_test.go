package gateway

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

const testNonce = "0123456789abcdef"

// askChallenge begins a hello that is to be proven, and returns it with the gateway's nonce.
func (p *peer) askChallenge(id int, label string, change ...func(frame)) (h frame, challenge string) {
	p.t.Helper()
	h = helloFrame(id, label)
	delete(h, "password")
	h["nonce"] = testNonce
	for _, f := range change {
		f(h)
	}
	p.send(h)
	answer := p.next()
	challenge, _ = answer["nonce"].(string)
	if answer["type"] != "challenge" || len(challenge) != 32 {
		p.t.Fatalf("got %v, want a challenge", answer)
	}
	return h, challenge
}

// prove is what a computer that knows a password sends as its proof.
func prove(h frame, password, challenge string) string {
	id := &identity{network: fmt.Sprint(h["networkId"]), computerID: h["computerId"].(int), boot: fmt.Sprint(h["boot"])}
	return proofOf(proverComputer, password, challenge, fmt.Sprint(h["nonce"]), id)
}

// The example of PROTOCOL.md, computed by other means.
func TestProofVector(t *testing.T) {
	id := &identity{network: "default", computerID: 12, boot: "9f3c21aa"}
	for who, want := range map[prover]string{
		proverComputer: "dd194b5490e22bedf4a816408c5fb19ba376c416962998d4519df4a39925f566",
		proverGateway:  "37b5d2b08ae6c48cc60c5e9f779db7caea04edb46d50dc60ca2cecee631e3aa3",
	} {
		if got := proofOf(who, "correct horse", "00112233445566778899aabbccddeeff", testNonce, id); got != want {
			t.Errorf("the %s's proof is %s, want %s", who, got, want)
		}
	}
}

func TestChallengeProvesBothSides(t *testing.T) {
	for name, o := range map[string]Options{
		"offered":         {},
		"demanded":        {RequireChallenge: true},
		"former password": {Password: func() string { return "new" }, PreviousPassword: func() string { return secret }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, o)
			seen := map[string]bool{}
			for i := range 3 {
				p := b.dial()
				h, challenge := p.askChallenge(i, "a")
				if seen[challenge] {
					t.Error("a nonce was used twice")
				}
				seen[challenge] = true
				h["proof"] = prove(h, secret, challenge)
				p.send(h)
				ok := p.next()
				id := &identity{network: "default", computerID: i, boot: "boot-1"}
				if ok["type"] != "hello_ok" || ok["proof"] != proofOf(proverGateway, secret, challenge, testNonce, id) {
					t.Fatalf("got %v", ok)
				}
			}
			if n := len(b.g.Registry().Computers()); n != 3 {
				t.Errorf("%d computers are registered", n)
			}
		})
	}
}

// Whatever is not the proof for this connection, this computer and this boot opens nothing, and says nothing about the secret.
func TestChallengeRefused(t *testing.T) {
	b := newBed(t, Options{})
	first := b.dial()
	h, challenge := first.askChallenge(1, "a")
	recorded := prove(h, secret, challenge)

	for name, c := range map[string]struct {
		change []func(frame)           // of both hellos
		second func(frame, string)     // changes the second one, given the challenge
		proof  func(frame, string) any // what it is sent as
		code   Code
	}{
		"another password": {proof: func(h frame, c string) any { return prove(h, "hunter2", c) }, code: CodeUnauthorized},
		"empty password":   {proof: func(h frame, c string) any { return prove(h, "", c) }, code: CodeUnauthorized},
		"no proof":         {proof: func(frame, string) any { return "" }, code: CodeUnauthorized},
		"a number":         {proof: func(frame, string) any { return 7 }, code: CodeBadRequest},
		"replayed":         {proof: func(frame, string) any { return recorded }, code: CodeUnauthorized},
		"the gateway's own": {proof: func(h frame, c string) any {
			return proofOf(proverGateway, secret, c, testNonce, &identity{network: "default", computerID: 1, boot: "boot-1"})
		}, code: CodeUnauthorized},
		"of another computer": {second: func(h frame, _ string) { h["computerId"] = 2 }, code: CodeUnauthorized},
		"of another network":  {second: func(h frame, _ string) { h["networkId"] = "other" }, code: CodeUnauthorized},
		"of another boot":     {second: func(h frame, _ string) { h["boot"] = "boot-2" }, code: CodeUnauthorized},
		"of another nonce":    {second: func(h frame, _ string) { h["nonce"] = "fedcba9876543210" }, code: CodeBadRequest},
		"the password too":    {second: func(h frame, _ string) { h["password"] = secret }, code: CodeBadRequest},
		"not a hello":         {second: func(h frame, _ string) { h["type"] = "serve" }, code: CodeBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			p := b.dial()
			p.t = t
			h, challenge := p.askChallenge(1, "a", c.change...)
			h["proof"] = prove(h, secret, challenge)
			if c.second != nil {
				c.second(h, challenge)
			}
			if c.proof != nil {
				h["proof"] = c.proof(h, challenge)
			}
			p.send(h)
			if e := p.next(); e["type"] != "hello_error" || e["code"] != string(c.code) || e["proof"] != nil {
				t.Errorf("got %v, want %s", e, c.code)
			}
			if code, _ := p.closed(); code != closeCodeOf(c.code) {
				t.Errorf("closed with %d", code)
			}
		})
	}
	h["proof"] = recorded // and where it belongs it still opens
	first.send(h)
	if ok := first.next(); ok["type"] != "hello_ok" {
		t.Errorf("got %v", ok)
	}
}

func TestNonceIsChecked(t *testing.T) {
	for _, nonce := range []any{"short", strings.Repeat("x", 65), "0123456789abcde\n", 7} {
		b := newBed(t, Options{})
		p := b.dial()
		h := helloFrame(1, "a")
		delete(h, "password")
		h["nonce"] = nonce
		p.send(h)
		if e := p.next(); e["code"] != string(CodeBadRequest) {
			t.Errorf("%v: got %v", nonce, e)
		}
	}
}

// A gateway that demands the challenge does not judge a password that was sent in the clear: its answer is the same for the
// right one and a wrong one. One that does not goes on taking it.
func TestPasswordInTheClear(t *testing.T) {
	core, logs := observer.New(zap.DebugLevel)
	b := newBed(t, Options{RequireChallenge: true, Logger: zap.New(core)})
	var told []string
	for _, password := range []string{secret, "hunter2"} {
		p := b.dial()
		h := helloFrame(1, "a")
		h["password"], h["nonce"] = password, testNonce
		p.send(h)
		e := p.next()
		if e["code"] != string(CodeUnauthorized) {
			t.Fatalf("got %v", e)
		}
		told = append(told, fmt.Sprint(e))
		p.closed()
	}
	if told[0] != told[1] || !strings.Contains(told[0], "clear text") {
		t.Errorf("told %v", told)
	}
	eventually(t, "a log line", func() bool { return logs.Len() > 0 })
	for _, l := range logs.All() {
		if s := fmt.Sprint(l.Message, l.ContextMap()); strings.Contains(s, "hunter2") || strings.Contains(s, secret) {
			t.Errorf("the log repeats a password: %s", s)
		}
	}
}

// Guessing by proofs is slowed down as guessing by passwords is.
func TestProofsAreThrottled(t *testing.T) {
	inBubble(t, Options{HelloTimeout: time.Minute}, func(t *testing.T, _ *Gateway, dial func() *peer) {
		judged := func(password string) time.Duration {
			p := dial()
			h, challenge := p.askChallenge(1, "a")
			h["proof"] = prove(h, password, challenge)
			start := time.Now()
			p.send(h)
			p.next()
			took := time.Since(start)
			_ = p.conn.Close()
			return took
		}
		for range throttleScore {
			judged("hunter2")
		}
		if d := judged("hunter2"); d < time.Second || d > throttleMax {
			t.Errorf("after %d wrong proofs one is judged after %v", throttleScore, d)
		}
	})
}

func TestSecondHelloLate(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, g *Gateway, dial func() *peer) {
		p := dial()
		p.askChallenge(1, "a")
		if e := p.next(); e["code"] != string(CodeTimeout) {
			t.Errorf("got %v", e)
		}
		p.closed()
		_ = p.conn.Close()
		left := dial()
		left.askChallenge(1, "a") // one that goes after the challenge leaves nothing
		_ = left.conn.Close()
		synctest.Wait()
		if n := g.pending.Load(); n != 0 {
			t.Errorf("%d connections are pending", n)
		}
	})
}
