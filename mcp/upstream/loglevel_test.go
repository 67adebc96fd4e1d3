package upstream

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/traposd/traposd/mcp/wire"
	"github.com/traposd/traposd/mcpconfig"
)

// loggingServer is a server of a session revision that notes the levels it is set to.
type loggingServer struct {
	t      *testing.T
	levels chan string
}

func (f *loggingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	m, err := wire.Parse(body)
	if err != nil {
		f.t.Errorf("we sent %s: %v", body, err)
		return
	}
	switch m.Method {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "1")
		answer(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"s","version":"1"}}`)
	case "tools/list":
		answer(w, m, `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`)
	case "logging/setLevel":
		f.levels <- string(m.Params)
		answer(w, m, `{}`)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// A server that comes up after clients have set the log level, for the first time or again, is set to it.
func TestServersThatComeLateGetTheLogLevel(t *testing.T) {
	f := &loggingServer{t: t, levels: make(chan string, 10)}
	server := remoteServer("s", serve(t, f), mcpconfig.TransportHTTP)
	var (
		level atomic.Value
		asked atomic.Int32
	)
	b := start(t, func(o *Options) {
		o.LogLevel = func() (string, bool) {
			text, ok := level.Load().(string)
			asked.Add(1)
			return text, ok
		}
	})
	b.r.Reconcile([]mcpconfig.Server{server})
	b.offered("s")
	b.await("the level is looked for", func() bool { return asked.Load() == 1 })
	if len(f.levels) > 0 {
		t.Errorf("set to %s, which nobody wanted", <-f.levels)
	}
	level.Store("debug")
	if err := b.r.Restart("s"); err != nil {
		t.Fatal(err)
	}
	if got := <-f.levels; got != `{"level":"debug"}` {
		t.Errorf("after a restart: %s", got)
	}
	b.r.Reconcile(nil)
	b.await("it is gone", func() bool { _, there := b.entry("s"); return !there })
	level.Store("error")
	b.r.Reconcile([]mcpconfig.Server{server})
	if got := <-f.levels; got != `{"level":"error"}` {
		t.Errorf("after it was added again: %s", got)
	}
}
