package daemon

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/traposd/traposd/mcpconfig"
)

// canary is part of every value of canaryConfig, and must come out nowhere.
const canary = "cAnArY"

// canaryConfig has servers of every kind that fail in every way, with a canary in each value.
func canaryConfig(t *testing.T, closedPort string) string {
	t.Helper()
	return `{"mcpServers":{
		"missing":   {"command":"/nowhere/` + canary + `1","args":["` + canary + `2"],"env":{"K":"` + canary + `3"}},
		"unlisted":  {"command":"` + canary + `4"},
		"dies":      {"command":"sh","args":["-c","echo $1 >&2; echo $K >&2; echo not json $K $2; exit 7","sh","--token=` + canary + `5","` + canary + `6"],"env":{"K":"` + canary + `7"}},
		"refused":   {"type":"http","url":"http://` + canary + `8:` + canary + `9@127.0.0.1:` + closedPort + `/` + canary + `10?k=` + canary + `11","headers":{"Authorization":"Bearer ` + canary + `12"}},
		"sse":       {"url":"http://127.0.0.1:` + closedPort + `/` + canary + `13"},
		"type":      {"command":["` + canary + `14"],"args":"` + canary + `15","env":"` + canary + `16"},
		"badurl":    {"type":"http","url":"` + canary + `17"},
		"plaintext": {"type":"http","url":"http://` + canary + `18.example/","headers":{"K":"` + canary + `19"}},
		"cwd":       {"command":"sh","cwd":"/nowhere/` + canary + `20"},
		"envfile":   {"command":"sh","envFile":"/nowhere/` + canary + `21"},
		"expand":    {"command":"x","args":["` + canary + `22${UNSET_VARIABLE}"]},
		"header":    {"type":"http","url":"https://127.0.0.1/","headers":{"K":"` + canary + `23\n"}},
		"unknown":   {"command":"true","password":"` + canary + `24","oauth":{"clientSecret":"` + canary + `25"}}
	}}`
}

func TestNoValueComesOutAnywhere(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	_ = listener.Close()
	settings := testSettings(t)
	settings.Password = mcpconfig.NewSecret(canary + "-password")
	settings.Token = mcpconfig.NewSecret(canary + "-token")
	r := start(t, settings, canaryConfig(t, port))
	await(t, "every server to have failed", func() bool {
		failed := 0
		for _, s := range r.serversReport().Servers {
			if s.Error != "" || s.State == "invalid" {
				failed++
			}
		}
		return failed == 13
	})
	shown := shownTexts{}
	shown.add(t, "servers", r.serversReport())
	shown.add(t, "status", r.statusReport())
	shown.add(t, "settings", settings)
	shown.add(t, "loaded", r.reloader.current().set)
	shown.add(t, "servers that run", r.reloader.current().run)
	shown["metrics"] = metricsText(t, r)
	shown.addConsent(t, canaryConfig(t, port))
	client := NewRPCClient(r.MCPURL(), settings.Token)
	for _, name := range []string{"missing", "dies", "refused", "sse", "cwd"} {
		_, err := client.Call(t.Context(), "tools/call", map[string]any{"name": name + "__x"})
		shown["call of "+name] = fmt.Sprint(err)
	}
	wrong := NewRPCClient(r.MCPURL(), mcpconfig.NewSecret("wrong"))
	_, err = wrong.Call(t.Context(), "tools/list", struct{}{})
	shown["wrong token"] = fmt.Sprint(err)
	if err == nil {
		t.Error("a wrong token is accepted")
	}
	if err := client.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := wrong.Close(t.Context()); err != nil {
		t.Error(err)
	}
	// A broken edit, an invalid hello.
	r.write(`{"mcpServers": "` + canary + `26"`)
	await(t, "the broken edit to be seen", func() bool {
		return r.logs.FilterMessage("configuration problem").FilterField(zap.Bool("kept_last_good", true)).Len() > 0
	})
	shown.add(t, "servers, broken", r.serversReport())
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	shown.addLogs(t, r)
	for where, text := range shown {
		if i := strings.Index(text, canary); i >= 0 {
			t.Errorf("%s: …%s…", where, text[max(0, i-80):min(len(text), i+80)])
		}
	}
	if len(shown) < 60 {
		t.Errorf("only %d texts were looked at", len(shown))
	}
}

// shownTexts are texts that may be shown to somebody, by where.
type shownTexts map[string]string

func (s shownTexts) add(t *testing.T, where string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	s[where] = string(data)
	s[where+" %+v"] = fmt.Sprintf("%+v", v)
	s[where+" %#v"] = fmt.Sprintf("%#v", v)
}

// addConsent adds what is told in JSON of a file that is only looked at: a check and what waits for approval.
func (s shownTexts) addConsent(t *testing.T, text string) {
	t.Helper()
	bed := newGateBed(t)
	bed.edit(text)
	if len(bed.pending) < 5 {
		t.Fatalf("only %d entries wait for approval", len(bed.pending))
	}
	s.add(t, "pending", PendingReport{Version: reportVersion, Pending: bed.pending}.Masked())
	check := mcpconfig.Check([]string{filepath.Join(bed.root, ".mcp.json")}, mcpconfig.Options{HomeDir: bed.root})
	s.add(t, "problems of a check", check.Problems)
	for _, source := range check.Sources {
		for _, server := range source.Servers {
			server.Command, server.URL = "", "" // the two values that the form of a check has
			s.add(t, "check of "+server.Name, server)
		}
	}
}

func (s shownTexts) addLogs(t *testing.T, r *running) {
	t.Helper()
	enc := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	for i, entry := range r.logs.All() {
		line, err := enc.EncodeEntry(entry.Entry, entry.Context)
		if err != nil {
			t.Fatal(err)
		}
		s[fmt.Sprintf("log line %d", i)] = line.String()
	}
}

func metricsText(t *testing.T, r *running) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(r.MCPURL(), "/mcp")+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token := r.settings.Token.Reveal(); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %v", resp.Status, err)
	}
	return string(body)
}
