//go:build unix

package daemon

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Connections on which nobody finishes what they began.
func TestStopWaitsForNoIdler(t *testing.T) {
	settings := testSettings(t)
	r := start(t, settings, `{"mcpServers":{}}`)
	gateway := strings.TrimSuffix(strings.TrimPrefix(r.GatewayURL(), "ws://"), "/gateway")
	for _, idler := range []struct{ network, address, sends string }{
		{"tcp", r.mcpAddr.String(), ""},
		{"tcp", r.mcpAddr.String(), "POST /mcp HTTP/1.1\r\nHo"},
		{"tcp", r.mcpAddr.String(), "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"},
		{"tcp", r.mcpAddr.String(), "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 99\r\n\r\n{"},
		{"tcp", gateway, ""},
		{"tcp", gateway, "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"},
		{"unix", socketPath(settings.RuntimeDir), ""},
		{"unix", socketPath(settings.RuntimeDir), "POST /v1/approvals HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{"},
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), idler.network, idler.address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, idler.sends); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	if err := r.end(); err != nil {
		t.Errorf("the stop failed: %v", err)
	}
	if took := time.Since(began); took > stopTimeout/3 {
		t.Errorf("the stop took %s", took)
	}
}

func TestWorkspacesAddedAtOneTime(t *testing.T) {
	settings := testSettings(t)
	r := start(t, settings, `{"mcpServers":{}}`)
	client := NewControlClient(settings.RuntimeDir)
	const many = 20
	errs := make([]error, many)
	var wg sync.WaitGroup
	for i := range many {
		dir := t.TempDir()
		wg.Go(func() { _, errs[i] = client.AddWorkspace(t.Context(), Workspace{Path: dir}) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	stored, err := readWorkspaces(r.settings.StateDir)
	if err != nil || len(stored) != many {
		t.Errorf("%d of %d workspaces are in %s (%v)", len(stored), many, filepath.Base(workspacesPath(r.settings.StateDir)), err)
	}
}

func TestURLOfAWildcardAddress(t *testing.T) {
	for _, ip := range []net.IP{net.IPv4zero, net.IPv6unspecified} {
		d := &Daemon{mcpAddr: &net.TCPAddr{IP: ip, Port: 7}}
		if got, want := d.MCPURL(), "http://127.0.0.1:7/mcp"; got != want {
			t.Errorf("%s: got %s, want %s", ip, got, want)
		}
	}
}
