package mcp

import (
	"net/http/httptest"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// A client that goes on with a lost session is told of once in a while, and its name cannot break the line.
func TestLostSessionIsNoted(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	l := NewListener(Options{Catalogue: NewCatalogue(), Logger: zap.New(core)})
	defer func() { _ = l.Close(t.Context()) }()
	for range 5 {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/mcp", nil)
		r.Host = "127.0.0.1"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(headerSession, "gone")
		r.Header.Set("User-Agent", "client\x1b[2J")
		w := httptest.NewRecorder()
		if _, known := l.sessionOf(w, r); known || w.Code != 404 {
			t.Fatalf("%v %d", known, w.Code)
		}
	}
	if all := logs.All(); len(all) != 1 || all[0].ContextMap()["agent"] != `"client\x1b[2J"` {
		t.Errorf("%v", logs.All())
	}
}
