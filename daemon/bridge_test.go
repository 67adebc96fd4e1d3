package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/traposd/traposd/mcpconfig"
)

// bridged connects the SDK's client through a bridge, whose end is awaited with the test's.
func bridged(t *testing.T, settings Settings, view BridgeView, revision string, opts *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	toBridge, fromClient := io.Pipe()
	toClient, fromBridge := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Bridge(t.Context(), settings.RuntimeDir, settings.Token, view, toBridge, fromBridge)
		_ = fromBridge.Close()
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, opts)
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: toClient, Writer: fromClient}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		if err := <-ended; err != nil {
			t.Errorf("the bridge ended with %v", err)
		}
	})
	return session
}

// A client behind the bridge sees what a client of the listener sees, and survives a restart of the service.
func TestBridgeSurvivesARestart(t *testing.T) {
	settings := testSettings(t)
	settings.Token = mcpconfig.NewSecret("listener-token")
	first := start(t, settings, demoEntries(t, "dice"))
	first.awaitReady("dice")
	changed := make(chan struct{}, 64)
	session := bridged(t, settings, BridgeView{}, "2025-11-25", &sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}})
	call := func() {
		t.Helper()
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "dice__roll", Arguments: map[string]any{"sides": 2}})
		if err != nil || result.IsError {
			t.Fatalf("%v %v", result, err)
		}
	}
	call()
	first.write(demoEntries(t, "dice", "words"))
	<-changed
	if err := first.end(); err != nil {
		t.Fatal(err)
	}
	second := start(t, settings, demoEntries(t, "dice", "words"))
	second.awaitReady("dice")
	call()
	await(t, "the client's session in the new service", func() bool { return len(second.listener.Sessions()) == 1 })
}

func TestBridgeOfTheStatelessRevision(t *testing.T) {
	settings := testSettings(t)
	r := start(t, settings, demoEntries(t, "dice"))
	r.awaitReady("dice")
	session := bridged(t, settings, BridgeView{}, "2026-07-28", nil)
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || !slices.ContainsFunc(list.Tools, func(tool *sdk.Tool) bool { return tool.Name == "dice__roll" }) {
		t.Fatalf("%v %v", list, err)
	}
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "dice__roll", Arguments: map[string]any{"sides": 2}})
	if err != nil || result.IsError {
		t.Fatalf("%v %v", result, err)
	}
	if n := len(r.listener.Sessions()); n != 0 {
		t.Errorf("a stateless client has %d sessions", n)
	}
}

// A client on stdio can have what others ask for in their url.
func TestBridgeToAView(t *testing.T) {
	settings := testSettings(t)
	r := start(t, settings, demoEntries(t, "dice", "words"))
	r.awaitReady("dice")
	r.awaitReady("words")
	for _, row := range []struct {
		view BridgeView
		want []string
	}{
		{BridgeView{Path: "s/dice"}, []string{"roll"}},
		{BridgeView{Compact: true}, []string{"find-tools", "call-tool"}},
		{BridgeView{Path: "s/words", Compact: true}, []string{"find-tools", "call-tool"}},
	} {
		session := bridged(t, settings, row.view, "2025-11-25", nil)
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if !slices.Equal(names, row.want) {
			t.Errorf("%+v: %q", row.view, names)
		}
	}
	for _, path := range []string{"x/dice", "s", "s/", "s/..", "w/a/b", "/mcp"} {
		if err := (BridgeView{Path: path}).Valid(); !errors.Is(err, ErrUsage) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got, err := (BridgeView{Path: "s/a b?c%20"}).at("http://127.0.0.1:1/mcp"); err != nil || got != "http://127.0.0.1:1/mcp/s/a%20b%3Fc%2520" {
		t.Errorf("%s %v", got, err)
	}
}

// Without a service, the client's first request is answered with what to do.
func TestBridgeWithoutAService(t *testing.T) {
	settings := testSettings(t)
	in := strings.NewReader("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n{\"jsonrpc\":\"2.0\",\"id\":1.50,\"method\":\"initialize\",\"params\":{}}\n")
	var out strings.Builder
	err := Bridge(t.Context(), settings.RuntimeDir, mcpconfig.Secret{}, BridgeView{}, in, &out)
	if !errors.Is(err, ErrNotRunning) {
		t.Errorf("got %v", err)
	}
	var answer struct {
		ID    json.RawMessage
		Error struct{ Message string }
	}
	if err := json.Unmarshal([]byte(out.String()), &answer); err != nil {
		t.Fatalf("%v in %q", err, out.String())
	}
	if string(answer.ID) != "1.50" || !strings.Contains(answer.Error.Message, "traposd run") {
		t.Errorf("answered %s", out.String())
	}
}

// What is no JSON-RPC is answered and costs nothing else.
func TestBridgeOfGarbage(t *testing.T) {
	settings := testSettings(t)
	start(t, settings, `{"mcpServers":{}}`)
	in := strings.NewReader("not json\n\n[]\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\"}\n")
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Bridge(t.Context(), settings.RuntimeDir, mcpconfig.Secret{}, BridgeView{}, in, writer)
		_ = writer.Close()
	}()
	var lines []string
	for s := bufio.NewScanner(reader); s.Scan(); {
		lines = append(lines, s.Text())
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(lines) != 3 || !strings.Contains(lines[0], "-32700") || !strings.Contains(lines[1], "-32600") {
		t.Errorf("answered %q", lines)
	}
}
