package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

func set(name string, value any) func(frame) { return func(f frame) { f[name] = value } }

func unset(name string) func(frame) { return func(f frame) { delete(f, name) } }

func TestHelloAccepted(t *testing.T) {
	long := strings.Repeat("x", 200)
	for name, c := range map[string]struct {
		change   []func(frame)
		password string
		traposID string
	}{
		"plain":                  {nil, secret, "12:miner"},
		"no label":               {[]func(frame){unset("label")}, secret, "12:"},
		"label with a colon":     {[]func(frame){set("label", "a:b")}, secret, "12:a:b"},
		"label in utf-8":         {[]func(frame){unset("label"), set("labelBase64", b64("Grüße"))}, secret, "12:Grüße"},
		"label in latin-1":       {[]func(frame){unset("label"), set("labelBase64", b64("Gr\xfc\xdfe"))}, secret, "12:Grüße"},
		"label with a newline":   {[]func(frame){set("label", "a\nb")}, secret, "12:a b"},
		"label too long":         {[]func(frame){set("label", long)}, secret, "12:" + long[:maxLabelLength]},
		"password not ascii":     {[]func(frame){unset("password"), set("passwordBase64", b64("pä\xffss"))}, "pä\xffss", "12:miner"},
		"password in utf-8":      {[]func(frame){set("password", "päss")}, "päss", "12:miner"},
		"no network":             {[]func(frame){unset("networkId")}, secret, "12:miner"},
		"no boot":                {[]func(frame){unset("boot")}, secret, "12:miner"},
		"empty lua table":        {[]func(frame){set("serves", frame{})}, secret, "12:miner"},
		"serves something odd":   {[]func(frame){set("serves", []string{"", "é", "ok"})}, secret, "12:miner"},
		"protocol as a float":    {[]func(frame){set("protocol", json.Number("1.0"))}, secret, "12:miner"},
		"fields of a later time": {[]func(frame){set("colour", "red")}, secret, "12:miner"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, Options{Password: func() string { return c.password }})
			h := helloFrame(12, "miner")
			h["password"] = c.password
			for _, f := range c.change {
				f(h)
			}
			p := b.dial()
			p.send(h)
			ok := p.next()
			if ok["type"] != "hello_ok" || ok["traposId"] != c.traposID {
				t.Fatalf("got %v, want hello_ok for %s", ok, c.traposID)
			}
			if ok["heartbeatSeconds"] != 15.0 || ok["maxFrameBytes"] != 65536.0 || ok["maxInFlight"] != 8.0 {
				t.Errorf("limits: %v", ok)
			}
			list := b.g.Registry().Computers()
			if len(list) != 1 || list[0].TraposID != c.traposID || list[0].State != StateReady || list[0].NetworkID != "default" {
				t.Errorf("registry: %+v", list)
			}
		})
	}
}

func TestHelloRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change []func(frame)
		code   string
		close  int
	}{
		"wrong password":      {[]func(frame){set("password", "hunter2")}, string(CodeUnauthorized), 4401},
		"empty password":      {[]func(frame){set("password", "")}, string(CodeUnauthorized), 4401},
		"no password":         {[]func(frame){unset("password")}, string(CodeUnauthorized), 4401},
		"password a number":   {[]func(frame){set("password", 31337)}, "bad_request", 4400},
		"protocol 2":          {[]func(frame){set("protocol", 2)}, "unsupported_protocol", 4400},
		"no protocol":         {[]func(frame){unset("protocol")}, "unsupported_protocol", 4400},
		"network with spaces": {[]func(frame){set("networkId", "a b")}, "bad_request", 4400},
		"network empty":       {[]func(frame){set("networkId", "")}, "bad_request", 4400},
		"no computer id":      {[]func(frame){unset("computerId")}, "bad_request", 4400},
		"half a computer id":  {[]func(frame){set("computerId", 1.5)}, "bad_request", 4400},
		"negative id":         {[]func(frame){set("computerId", -1)}, "bad_request", 4400},
		"huge id":             {[]func(frame){set("computerId", 1e300)}, "bad_request", 4400},
		"long boot":           {[]func(frame){set("boot", strings.Repeat("x", 65))}, "bad_request", 4400},
		"not a hello":         {[]func(frame){set("type", "ping")}, "bad_request", 4400},
		"base64 broken":       {[]func(frame){set("passwordBase64", "!")}, "bad_request", 4400},
		"too large":           {[]func(frame){set("agent", strings.Repeat("x", 70_000))}, "too_large", 4413},
	} {
		t.Run(name, func(t *testing.T) {
			core, logs := observer.New(zap.DebugLevel)
			b := newBed(t, Options{Logger: zap.New(core)})
			h := helloFrame(12, "miner")
			for _, f := range c.change {
				f(h)
			}
			p := b.dial()
			p.send(h)
			e := p.next()
			if e["type"] != "hello_error" || e["code"] != c.code || e["message"] == "" {
				t.Fatalf("got %v, want hello_error %s", e, c.code)
			}
			if code, reason := p.closed(); code != c.close || reason == "" {
				t.Errorf("closed with %d %q, want %d and a reason", code, reason, c.close)
			}
			if n := len(b.g.Registry().Computers()); n != 0 {
				t.Errorf("%d computers are registered", n)
			}
			eventually(t, "a log line", func() bool { return logs.Len() > 0 })
			for _, l := range logs.All() {
				if s := fmt.Sprint(l.Message, l.ContextMap()); strings.Contains(s, "hunter2") || strings.Contains(s, "31337") || strings.Contains(s, secret) {
					t.Errorf("the log repeats a password: %s", s)
				}
			}
		})
	}
}

func TestHelloNotJSON(t *testing.T) {
	for name, c := range map[string]struct {
		kind int
		text string
	}{
		"rubbish":       {websocket.TextMessage, "\x00\x01"},
		"array":         {websocket.TextMessage, "[]"},
		"null":          {websocket.TextMessage, "null"},
		"invalid utf-8": {websocket.TextMessage, "{\"type\":\"hello\xff\"}"},
		"binary":        {websocket.BinaryMessage, "{}"},
		"nested":        {websocket.TextMessage, strings.Repeat("[", 60_000)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, Options{})
			p := b.dial()
			if err := p.conn.WriteMessage(c.kind, []byte(c.text)); err != nil {
				t.Fatal(err)
			}
			if e := p.next(); e["code"] != "bad_request" {
				t.Errorf("got %v", e)
			}
			if code, _ := p.closed(); code != 4400 {
				t.Errorf("closed with %d", code)
			}
		})
	}
}

func TestHelloLate(t *testing.T) {
	b := newBed(t, Options{HelloTimeout: 20 * time.Millisecond})
	p := b.dial()
	if e := p.next(); e["code"] != "timeout" {
		t.Errorf("got %v", e)
	}
	if code, reason := p.closed(); code != 4408 || !strings.Contains(reason, "no hello") {
		t.Errorf("closed with %d %q", code, reason)
	}
}

func TestPreviousPassword(t *testing.T) {
	b := newBed(t, Options{Password: func() string { return "new" }, PreviousPassword: func() string { return "old" }})
	for i, password := range []string{"new", "old"} {
		b.join(i, "x", set("password", password))
	}
	p := b.dial()
	h := helloFrame(3, "x")
	h["password"] = "older"
	p.send(h)
	if e := p.next(); e["code"] != string(CodeUnauthorized) {
		t.Errorf("got %v", e)
	}
}

func TestNoPasswordLetsNobodyIn(t *testing.T) {
	for name, o := range map[string]Options{
		"empty": {Password: func() string { return "" }, PreviousPassword: func() string { return "" }},
		"nil":   {Password: nil},
	} {
		g := New(o)
		for _, given := range []hello{{}, {Password: secret}} {
			if g.authorized(&given) {
				t.Errorf("%s: somebody came in", name)
			}
		}
	}
}

func TestHelloPrintsRedacted(t *testing.T) {
	h := &hello{Password: "hunter2", PasswordBase64: []byte("hunter2")}
	if s := fmt.Sprintf("%v %+v %s %#v", h, h, h, h); strings.Contains(s, "hunter2") || strings.Contains(s, "104, 117") {
		t.Errorf("printed %s", s)
	}
}

func TestTooManyComputers(t *testing.T) {
	b := newBed(t, Options{MaxComputers: 1})
	b.join(1, "a")
	p := b.dial()
	p.send(helloFrame(2, "b"))
	if e := p.next(); e["code"] != "busy" {
		t.Errorf("got %v", e)
	}
	if code, _ := p.closed(); code != 4429 {
		t.Errorf("closed with %d", code)
	}
	b.join(1, "a", boot("boot-2")) // one that replaces another is not one more
}
