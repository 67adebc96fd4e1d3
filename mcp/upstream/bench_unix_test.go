//go:build unix

package upstream

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/traposd/traposd/mcpconfig"
)

// shellServer is a server that starts in a few milliseconds. It counts on our ids.
const shellServer = `while read -r line; do case "$line" in
*'"initialize"'*) echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}';;
*'"tools/list"'*) echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"TOOL","inputSchema":{"type":"object"}}]}}';;
esac; done`

func shell(t testing.TB, name, tool string) mcpconfig.Server {
	t.Helper()
	server := helper(t, name, "")
	server.Command = mcpconfig.NewSecret("/bin/sh")
	server.Args = []mcpconfig.Secret{mcpconfig.NewSecret("-c"), mcpconfig.NewSecret(strings.ReplaceAll(shellServer, "TOOL", tool))}
	return server
}

// BenchmarkEditToOffered is the time from a changed entry to its new tool in what the catalogue is given: the start of
// a process that is ready in a few milliseconds, its handshake, and the swap.
func BenchmarkEditToOffered(b *testing.B) {
	t := start(b, func(o *Options) { o.Logger = nil })
	server := shell(b, "s", "t")
	t.r.Reconcile([]mcpconfig.Server{server})
	t.offered("s")
	took := make([]time.Duration, b.N)
	b.ResetTimer()
	for i := range took {
		name := "t" + itoa(i)
		server.Args = shell(b, "s", name).Args
		begun := time.Now()
		t.r.Reconcile([]mcpconfig.Server{server})
		t.await("the tool is offered", func() bool {
			e, _ := t.entry("s")
			return has(toolNames(e), name)
		})
		took[i] = time.Since(begun)
	}
	b.StopTimer()
	percentiles(b, took, 50, 95)
}

// BenchmarkIdleServer is the memory in our process for one server that runs and does nothing.
func BenchmarkIdleServer(b *testing.B) {
	const servers = 50
	for b.Loop() {
		t := start(b, func(o *Options) { o.Logger = nil })
		before := inUse()
		var list []mcpconfig.Server
		for i := range servers {
			list = append(list, shell(b, "s"+itoa(i), "t"))
		}
		t.r.Reconcile(list)
		for _, s := range list {
			t.offered(s.Name)
		}
		b.ReportMetric(float64(inUse()-before)/servers/1024, "KiB/server")
		t.close()
	}
}

// inUse is the memory that the heap's reachable objects and the stacks take.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
