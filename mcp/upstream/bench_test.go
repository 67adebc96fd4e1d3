package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
	"github.com/traposd/traposd/mcpconfig"
)

// The relay's calls stand beside bare echoes over the same transport, which do nothing but carry one message there and
// one back: what is above them is ours.

// swift is the least a server can be: it answers initialize, tools/list and tools/call with fixed bytes.
func swift(m *wire.Message) json.RawMessage {
	switch m.Method {
	case "initialize":
		return json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"e","version":"1"}}`)
	case "tools/list":
		return json.RawMessage(`{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`)
	}
	return json.RawMessage(`{"content":[{"type":"text","text":"hello"}]}`)
}

// swiftStdio answers on stdin and stdout.
func swiftStdio() {
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		m, err := wire.Parse(line)
		if err != nil || !m.IsRequest() {
			continue
		}
		if _, err := os.Stdout.Write(append(wire.Response(m.ID, swift(m)).Append(nil), '\n')); err != nil {
			return
		}
	}
}

func swiftHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m, err := wire.Parse(body)
	if err != nil || r.Method != http.MethodPost || !m.IsRequest() {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(wire.Response(m.ID, swift(m)).Append(nil))
}

var benchParams = json.RawMessage(`{"name":"t","arguments":{"text":"hello"}}`)

// parallel runs call b.N times, the given number at once.
func parallel(b *testing.B, clients int, call func() error) {
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for c := range clients {
		share := b.N / clients
		if c < b.N%clients {
			share++
		}
		wg.Go(func() {
			for range share {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func relayed(b *testing.B, server mcpconfig.Server) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(itoa(clients), func(b *testing.B) {
			t := start(b, func(o *Options) { o.Logger = nil })
			t.r.Reconcile([]mcpconfig.Server{server})
			e := t.offered("s")
			client := &asker{}
			parallel(b, clients, func() error {
				_, err := e.Server.Call(context.Background(), mcp.Request{Method: "tools/call", Params: benchParams, Client: client})
				return err
			})
		})
	}
}

func itoa(n int) string { return string(formatID(int64(n))) }

func BenchmarkStdioCall(b *testing.B) { relayed(b, helper(b, "s", "swift")) }

func BenchmarkHTTPCall(b *testing.B) {
	relayed(b, remoteServer("s", serve(b, http.HandlerFunc(swiftHTTP)), mcpconfig.TransportHTTP))
}

// BenchmarkStdioEcho is the limit for BenchmarkStdioCall/1: one line to the same child and one back.
func BenchmarkStdioEcho(b *testing.B) {
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"=swift")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewReader(out)
	request := append((&wire.Message{ID: formatID(1), Method: "tools/call", Params: benchParams}).Append(nil), '\n')
	parallel(b, 1, func() error {
		if _, err := in.Write(request); err != nil {
			return err
		}
		_, err := lines.ReadSlice('\n')
		return err
	})
	b.StopTimer()
	_ = in.Close()
	_ = cmd.Wait()
}

// BenchmarkHTTPEcho is the limit for BenchmarkHTTPCall: one POST to the same handler.
func BenchmarkHTTPEcho(b *testing.B) {
	url := serve(b, http.HandlerFunc(swiftHTTP))
	request := (&wire.Message{ID: formatID(1), Method: "tools/call", Params: benchParams}).Append(nil)
	for _, clients := range []int{1, 16, 64} {
		b.Run(itoa(clients), func(b *testing.B) {
			transport := &http.Transport{MaxIdleConnsPerHost: clients}
			defer transport.CloseIdleConnections()
			client := http.Client{Transport: transport}
			parallel(b, clients, func() error {
				req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader(request))
				if err != nil {
					return err
				}
				resp, err := client.Do(req)
				if err != nil {
					return err
				}
				defer func() { _ = resp.Body.Close() }()
				_, err = io.Copy(io.Discard, resp.Body)
				return err
			})
		})
	}
}

// BenchmarkEditToOffered is the time from a changed entry to its new tool in the catalogue, the start of the child
// included.
func BenchmarkEditToOffered(b *testing.B) {
	t := start(b, func(o *Options) { o.Logger = nil })
	for i := range b.N {
		name := "t" + itoa(i)
		t.r.Reconcile([]mcpconfig.Server{helper(b, "s", "tool="+name)})
		t.await("the tool is offered", func() bool {
			e, _ := t.entry("s")
			return has(toolNames(e), name)
		})
	}
}
