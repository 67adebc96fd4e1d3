package gateway

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/zap"
)

// loneSession is a session of a registered computer whose frames go nowhere.
func loneSession(t testing.TB) *session {
	g := New(Options{Password: func() string { return secret }, MaxAssembledBytes: 4096, Logger: zap.NewNop()})
	s := &session{
		g: g, stop: make(chan struct{}), finished: make(chan struct{}), ended: true, // so that no writer starts
		assembler: assembler{limit: g.opts.MaxAssembledBytes, total: &g.assembling},
	}
	c := &computer{reg: g.registry}
	s.control = nil
	c.session, s.computer = s, c
	c.identity = identity{network: "default", computerID: 1, traposID: "1:"}
	t.Cleanup(func() {
		for _, cancel := range s.asked {
			cancel()
		}
	})
	return s
}

// FuzzFrame gives any bytes to the decoder and the handler of frames. Nothing may panic, and what is answered must be an
// ASCII frame of the protocol.
func FuzzFrame(f *testing.F) {
	for _, text := range []string{
		`{"type":"serve","types":["exec-lua"]}`, `{"type":"serve","types":{}}`, `{"type":"pong","t":1}`,
		`{"type":"computer_response","id":"r1","ok":true,"payload":{"a":[1,"\u00e9"]}}`,
		`{"type":"computer_response","id":"r1","ok":false,"error":{"code":"busy","messageBase64":"/w=="}}`,
		`{"type":"computer_request","id":"c1","request":"whoami","payload":{}}`,
		`{"type":"computer_request","id":"c\"1","request":"ping","payload":"é\u007f"}`,
		`{"type":"cancel","id":"r1"}`, `{"type":"chunk","id":"s","seq":0,"last":true,"data":"e30="}`,
		`{"type":"chunk","id":"s","seq":1e300,"data":""}`, `{"type":"chunk_ack","id":"r1","seq":-1}`, `{"TYPE":"ping","t":1}`,
		`{"type":"ping","t":123}`, `{"type":null}`, `[]`, `{"type":"ping","t":1e9999}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := loneSession(t)
		cl := &call{id: "r1", done: make(chan reply, 1), sent: true}
		s.computer.calls = map[string]*call{"r1": cl}
		s.ended = false
		s.writing = true // the frames stay where they are queued
		err := s.handle(data, false)
		for _, frame := range s.control {
			checkOutgoing(t, frame)
		}
		for _, o := range s.responses {
			checkOutgoing(t, o.frame)
		}
		if err == nil {
			_ = s.handle(data, true)
		}
		select {
		case r := <-cl.done:
			if r.err == nil && !json.Valid(r.payload) {
				t.Errorf("the answer %q is not json", r.payload)
			}
			if r.err != nil && (!utf8.ValidString(r.err.Message) || strings.ContainsAny(r.err.Message, "\n\r")) {
				t.Errorf("the message %q is not a line of text", r.err.Message)
			}
		default:
		}
		s.assembler.close()
		if n := s.g.assembling.Load(); n != 0 {
			t.Errorf("%d bytes are still counted", n)
		}
	})
}

func checkOutgoing(t *testing.T, frame []byte) {
	t.Helper()
	var head struct {
		Type string `json:"type"`
	}
	if !isASCII(frame) {
		t.Errorf("%q is not ascii", frame)
	}
	if err := json.Unmarshal(frame, &head); err != nil || head.Type == "" {
		t.Errorf("%q is not a frame: %v", frame, err)
	}
}

func FuzzHello(f *testing.F) {
	for _, text := range []string{
		`{"type":"hello","protocol":1,"password":"x","networkId":"default","computerId":12,"label":"miner","boot":"ab","serves":["exec-lua"],"agent":"a"}`,
		`{"type":"hello","protocol":1,"passwordBase64":"/w==","computerId":0,"labelBase64":"/w==","serves":{}}`,
		`{"type":"hello","protocol":1,"nonce":"0123456789abcdef","proof":"00","computerId":1}`,
		`{"type":"hello","protocol":"1","computerId":9007199254740993}`, `{"type":"hello","protocol":1,"networkId":null,"computerId":1}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, id, err := decodeHello(data)
		if err != nil {
			return
		}
		if !validNetwork(id.network) || id.computerID < 0 || !utf8.ValidString(id.traposID) || len(id.label) > maxLabelLength {
			t.Errorf("accepted %+v", id)
		}
		before, label, ok := strings.Cut(id.traposID, ":")
		if !ok || label != id.label || before == "" {
			t.Errorf("%q does not split into its parts", id.traposID)
		}
		checkOutgoing(t, appendHelloOK(nil, id.traposID, 15, 65536, proofOf(proverGateway, secret, "challenge", "nonce", id)))
	})
}

// FuzzASCII: escaping changes the bytes and not the meaning.
func FuzzASCII(f *testing.F) {
	for _, text := range []string{`"é😀\u007f"`, `{"a":"\\\"\u2028"}`, "\"\x7f\""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return
		}
		text := appendASCII(nil, data)
		before, err := decodeAny(data)
		if err != nil {
			t.Fatalf("%q is valid and cannot be decoded: %v", data, err)
		}
		after, err := decodeAny(text)
		if err != nil || !isASCII(text) {
			t.Fatalf("%q became %q: %v", data, text, err)
		}
		a, _ := json.Marshal(before)
		b, _ := json.Marshal(after)
		if !bytes.Equal(a, b) {
			t.Errorf("%q became %q", data, text)
		}
		var s string
		if quoted := appendString(nil, string(data)); json.Unmarshal(quoted, &s) != nil || !isASCII(quoted) {
			t.Errorf("%q was quoted as %q", data, quoted)
		}
	})
}

// decodeAny keeps numbers as they are written: valid JSON may hold one that no float64 can.
func decodeAny(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}
