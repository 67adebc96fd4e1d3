package daemon

import (
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestOwnFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), ownFileName)
	before := ownFile{allowedHosts: []string{"old"}, allowedOrigins: []string{"https://old.example"}}
	if got, problems := readOwnFile(path, before); !got.equal(ownFile{}) || problems != nil {
		t.Errorf("no file: %v %v", got, problems)
	}
	for _, want := range []struct {
		text    string
		file    ownFile
		problem string
	}{
		{
			text: "// c\n{\"allowedHosts\": [\"a.lan\", \"b\",], \"servers\": {}, \"policy\": []}",
			file: ownFile{allowedHosts: []string{"a.lan", "b"}},
		},
		{
			text:    "{\n \"allowedHosts\": \"canary\",\n \"allowedOrigins\": [\"https://x.example\"]}",
			file:    ownFile{allowedHosts: []string{"old"}, allowedOrigins: []string{"https://x.example"}},
			problem: ":2:18: ",
		},
		{
			text:    "{\"allowedOrigins\": [\"https://x.example\",\n  7]}",
			file:    ownFile{allowedOrigins: before.allowedOrigins},
			problem: ":2:3: ",
		},
		{text: `{"allowedHosts": [""]}`, file: ownFile{allowedHosts: []string{"old"}}, problem: ":1:19: "},
		{text: `{"mcpServers": {}}`, problem: "servers stand under `servers`"},
		{text: `{"allowedHost": []}`, problem: "is no setting"},
		{text: `{"allowedHosts": [`, file: before},
		{text: `[]`, file: before},
	} {
		text := want.text
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, problems := readOwnFile(path, before)
		if !got.equal(want.file) {
			t.Errorf("%s: %+v", text, got)
		}
		if (want.problem == "") != (len(problems) == 0) {
			t.Errorf("%s: problems %v", text, problems)
		}
		for _, p := range problems {
			if !strings.Contains(p.String(), want.problem) || strings.Contains(p.String(), "canary") {
				t.Errorf("%s: %s", text, p)
			}
		}
	}
}

// An edit of traposd.json changes what the guard lets through, live.
func TestAllowedHostsAreAppliedLive(t *testing.T) {
	settings := testSettings(t)
	r := start(t, settings, `{"mcpServers":{}}`)
	status := func() int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.MCPURL(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "gateway.lan"
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer http.DefaultClient.CloseIdleConnections()
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if got := status(); got != http.StatusForbidden {
		t.Fatalf("a foreign host is answered with %d", got)
	}
	if err := os.MkdirAll(settings.ConfigDir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(settings.ConfigDir, ownFileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"allowedHosts": ["gateway.lan"]}`)
	await(t, "the host to be allowed", func() bool { return status() == http.StatusOK })
	write(`{"allowedHosts": "gateway.lan"}`)
	await(t, "the problem", func() bool { return len(r.serversReport().Problems) == 1 })
	if got := status(); got != http.StatusOK {
		t.Errorf("a broken edit took the last good list away: %d", got)
	}
	write(`{}`)
	await(t, "the host to be refused", func() bool { return status() == http.StatusForbidden })
}

func (f ownFile) equal(other ownFile) bool {
	return slices.Equal(f.allowedHosts, other.allowedHosts) && slices.Equal(f.allowedOrigins, other.allowedOrigins) &&
		reflect.DeepEqual(f.filters, other.filters) && reflect.DeepEqual(f.policy, other.policy)
}
