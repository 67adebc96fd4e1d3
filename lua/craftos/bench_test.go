package craftos

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
)

// BenchmarkIdleComputers reports what one booted computer that waits at its prompt costs.
func BenchmarkIdleComputers(b *testing.B) {
	const count = 100
	for b.Loop() {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		goroutines := runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		computers := make([]*Computer, count)
		for i := range computers {
			computers[i] = newComputer(b, Options{ID: i})
			wg.Go(func() { _ = computers[i].Run(ctx) }) // ends with the context
		}
		for _, c := range computers {
			for c.Screen()[1] != ">" {
				<-c.Changed()
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/count/1024, "KiB/computer")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/count, "goroutines/computer")
		cancel()
		wg.Wait()
	}
}

func benchmarkProgram(b *testing.B, program string) {
	c := newComputer(b, Options{AbortAfter: time.Minute})
	if err := c.WriteFile("startup.lua", []byte(program+"\nos.shutdown()")); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := c.Run(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBoot is the time from power-on to a startup file and off again.
func BenchmarkBoot(b *testing.B) { benchmarkProgram(b, "") }

// BenchmarkLoop is ten million turns of an empty loop.
func BenchmarkLoop(b *testing.B) { benchmarkProgram(b, "for i = 1, 1e7 do end") }

// BenchmarkSwitch is a hundred thousand coroutine switches there and back.
func BenchmarkSwitch(b *testing.B) {
	benchmarkProgram(b, "local co = coroutine.wrap(function() while true do coroutine.yield() end end) for i = 1, 1e5 do co() end")
}

// BenchmarkProtectedCall is a hundred thousand calls of pcall.
func BenchmarkProtectedCall(b *testing.B) {
	benchmarkProgram(b, "local function f() end for i = 1, 1e5 do pcall(f) end")
}

// BenchmarkEvents is ten thousand events queued and pulled.
func BenchmarkEvents(b *testing.B) {
	benchmarkProgram(b, "for i = 1, 1e4 do os.queueEvent('x', i) os.pullEvent('x') end")
}
