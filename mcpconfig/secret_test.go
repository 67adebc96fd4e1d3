package mcpconfig

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"testing"
)

func TestSecret(t *testing.T) {
	s := NewSecret("hidden")
	if s.Reveal() != "hidden" || s.IsZero() || !s.Equal(NewSecret("hidden")) || s.Equal(NewSecret("hidde")) || s.Equal(Secret{}) {
		t.Fatal("a secret must give back its text and compare by it")
	}
	if zero := (Secret{}); !zero.IsZero() || zero.Reveal() != "" || !zero.Equal(NewSecret("")) || !NewSecret("").IsZero() {
		t.Fatal("the zero secret holds the empty text")
	}
	encoded, err := json.Marshal(struct {
		A Secret
		B *Secret
		C map[Secret]int
		D Secret `json:",omitzero"`
	}{s, &s, map[Secret]int{s: 1}, Secret{}})
	if want := `{"A":"[redacted]","B":"[redacted]","C":{"[redacted]":1}}`; err != nil || string(encoded) != want {
		t.Fatal(string(encoded), err)
	}
	asXML, err := xml.Marshal(struct {
		XMLName struct{} `xml:"x"`
		A       Secret   `xml:"a"`
	}{A: s})
	if err != nil || string(asXML) != "<x><a>[redacted]</a></x>" {
		t.Fatal(string(asXML), err)
	}
	var binary bytes.Buffer
	if err := gob.NewEncoder(&binary).Encode(struct{ A Secret }{s}); err == nil && bytes.Contains(binary.Bytes(), []byte("hidden")) {
		t.Fatal("gob shows it")
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%100v", "%.2s"} {
		if got := fmt.Sprintf(verb, s); got != redacted {
			t.Errorf("%s: %s", verb, got)
		}
	}
	if s.String() != redacted || s.GoString() != redacted || s.LogValue().String() != redacted {
		t.Error("a rendering shows more")
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "s", s, "list", []Secret{s})
	if bytes.Contains(log.Bytes(), []byte("hidden")) {
		t.Error(log.String())
	}
}
