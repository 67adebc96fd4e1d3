package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/traposd/traposd/daemon/computertools"
	"github.com/traposd/traposd/gateway"
	"github.com/traposd/traposd/mcp"
)

const (
	echoPath    = "/echo"
	echoSockets = saturatedComputers * saturatedCallers

	// Saturation is 8 requests at a time to each of 16 computers; the echo has as many sockets as there are requests.
	saturatedComputers = 16
	saturatedCallers   = 8
	// saturatedTurns is how often the gateway and the echo take turns, so that what else the machine does slows both alike.
	saturatedTurns = 4

	stormLimit = 2 * time.Minute
	churnLooks = 10 // at the heap, over the length of the churn
)

// idle connects everybody, and measures what an idle computer costs.
func (r *run) idle(ctx context.Context) error {
	r.say("connecting %d computers", r.Computers)
	if _, err := r.tell("connect", 0, 1, gateway.Path); err != nil { // what is made once is no computer's
		return err
	}
	before, goroutines := memory(), runtime.NumGoroutine()
	start := time.Now()
	if r.Computers > 1 {
		if _, err := r.tell("connect", 1, r.Computers-1, gateway.Path); err != nil {
			return err
		}
	}
	if err := await(ctx, stormLimit, func() bool { return r.connected() == r.Computers }); err != nil {
		return fmt.Errorf("%d of %d computers are connected: %w", r.connected(), r.Computers, err)
	}
	took := time.Since(start)
	n := max(1, float64(r.Computers-1))
	r.report.add("connecting all", took.Seconds(), "s")
	r.report.below("memory per idle computer", (memory()-before)/n/1024, "KiB", 24)
	r.report.most("goroutines per idle computer", float64(runtime.NumGoroutine()-goroutines)/n, "", 2)
	return nil
}

// tell has the fleet connect computers or echoes.
func (r *run) tell(do string, first, count int, path string) (tally, error) {
	return r.fleet.order(order{Do: do, URL: "ws://" + r.addr + path, First: first, Count: count, Password: r.password})
}

// probe has the tool of that name ask everybody.
func (r *run) probe(ctx context.Context) error {
	r.say("probing them")
	tools := computertools.New(r.gateway.Registry(), computertools.Options{})
	params, err := json.Marshal(map[string]any{"name": "probe-computers", "arguments": map[string]any{}})
	if err != nil {
		return err
	}
	start := time.Now()
	answer, err := tools.Call(ctx, mcp.Request{Method: "tools/call", Params: params})
	took := time.Since(start)
	if err != nil {
		return err
	}
	var result struct {
		StructuredContent struct {
			Computers []struct {
				State string `json:"state"`
			} `json:"computers"`
		} `json:"structuredContent"`
	}
	if err := json.Unmarshal(answer, &result); err != nil {
		return err
	}
	silent := r.Computers
	for _, c := range result.StructuredContent.Computers {
		if c.State == "ready" {
			silent--
		}
	}
	r.report.below("probe-computers of all", took.Seconds(), "s", 1)
	r.report.most("computers that did not answer it", float64(silent), "", 0)
	return nil
}

// latency sends requests at a steady rate, whether or not the ones before are answered.
func (r *run) latency(ctx context.Context) error {
	r.say("asking %d of them, %d times per second, for %v", r.Over, r.Rate, r.Duration)
	n := int(float64(r.Rate) * r.Duration.Seconds())
	took := make([]time.Duration, n)
	var failed atomic.Int64
	var running sync.WaitGroup
	start := time.Now()
	for i := range n {
		due := start.Add(time.Duration(float64(i) / float64(r.Rate) * float64(time.Second)))
		if wait := time.Until(due); wait > 0 && !pause(ctx, wait) {
			break
		}
		running.Go(func() {
			begun := time.Now()
			if err := r.ask(ctx, i%r.Over); err != nil {
				failed.Add(1)
			}
			took[i] = time.Since(begun)
		})
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	slices.Sort(took)
	at := func(q float64) float64 { return float64(took[int(q*float64(n-1))].Nanoseconds()) / 1000 }
	r.report.below("request and reply, p50", at(0.5), "µs", 150)
	r.report.below("request and reply, p99", at(0.99), "µs", 1000)
	r.report.add("request and reply, slowest", at(1), "µs")
	r.report.most("requests that failed", float64(failed.Load()), "", 0)
	return nil
}

func (r *run) acceptEcho(w http.ResponseWriter, q *http.Request) {
	up := websocket.Upgrader{}
	conn, err := up.Upgrade(w, q, nil)
	if err != nil {
		return // answered by the upgrader
	}
	r.echoes <- conn
}

// throughput measures as many round trips as the machine makes, and those of bare WebSockets beside them.
func (r *run) throughput(ctx context.Context) error {
	r.say("asking as fast as they answer, and a bare echo in turns, for %v each", r.Duration)
	if _, err := r.tell("echo", 0, echoSockets, echoPath); err != nil {
		return err
	}
	echoes := make([]*websocket.Conn, echoSockets)
	for i := range echoes {
		echoes[i] = <-r.echoes
	}
	defer func() {
		for _, conn := range echoes {
			_ = conn.Close()
		}
	}()
	ours := func(i int) error { return r.ask(ctx, i%min(saturatedComputers, r.Computers)) }
	frame := []byte(`{"type":"server_request","id":"00000000-zzzz","request":"ping","timeoutMs":60000,"payload":{"t":1}}`)
	bare := func(i int) error {
		if err := echoes[i].WriteMessage(websocket.TextMessage, frame); err != nil {
			return err
		}
		_, _, err := echoes[i].ReadMessage()
		return err
	}
	var trips, echoed float64
	for range saturatedTurns {
		for _, side := range []struct {
			once func(int) error
			sum  *float64
		}{{ours, &trips}, {bare, &echoed}} {
			rate, err := saturate(ctx, r.Duration/saturatedTurns, side.once)
			if err != nil {
				return err
			}
			*side.sum += rate / saturatedTurns
		}
	}
	r.report.least("round trips at saturation", trips, "per s", 40_000)
	r.report.add("round trips of the bare echo", echoed, "per s")
	r.report.least("the one by the other", trips/echoed, "", 0.7)
	return nil
}

// saturate runs once in as many goroutines as there are echoes, and returns how often per second.
func saturate(ctx context.Context, d time.Duration, once func(int) error) (float64, error) {
	var done atomic.Int64
	var over atomic.Bool
	var running sync.WaitGroup
	failed := make(chan error, echoSockets)
	start := time.Now()
	for i := range echoSockets {
		running.Go(func() {
			for !over.Load() {
				if err := once(i); err != nil {
					failed <- err
					return
				}
				done.Add(1)
			}
		})
	}
	pause(ctx, d)
	over.Store(true)
	rate := float64(done.Load()) / time.Since(start).Seconds()
	running.Wait()
	select {
	case err := <-failed:
		return 0, err
	default:
		return rate, ctx.Err()
	}
}

// storm restarts the gateway, and waits until everybody is back.
func (r *run) storm(ctx context.Context) error {
	r.say("restarting the gateway")
	before, err := r.fleet.order(order{Do: "tally"})
	if err != nil {
		return err
	}
	if err := r.stop(); err != nil {
		return err
	}
	if err := r.listen(ctx, r.addr); err != nil {
		return err
	}
	start := time.Now()
	if err := await(ctx, stormLimit, func() bool { return r.connected() == r.Computers }); err != nil {
		return fmt.Errorf("%d of %d computers are back: %w", r.connected(), r.Computers, err)
	}
	took := time.Since(start)
	after, err := r.fleet.order(order{Do: "tally"})
	if err != nil {
		return err
	}
	r.report.below("all back after a restart", took.Seconds(), "s", 60)
	r.report.most("computers refused meanwhile", float64(after.Refused-before.Refused), "", 0)
	return nil
}

// churn has computers die and come back, while requests go on, and looks whether anything grows.
func (r *run) churn(ctx context.Context) error {
	if r.Churn == 0 {
		return nil
	}
	r.say("%d of them die and come back per second, for %v", r.ChurnRate, r.Churn)
	var base, last float64
	goroutines := runtime.NumGoroutine()
	for look := range churnLooks + 1 {
		if look > 0 {
			if err := r.churnFor(ctx, r.Churn/churnLooks); err != nil {
				return err
			}
		}
		if err := await(ctx, stormLimit, func() bool { return r.connected() == r.Computers }); err != nil {
			return fmt.Errorf("%d of %d computers are back from the churn: %w", r.connected(), r.Computers, err)
		}
		last = memory()
		if look == 1 { // what a first round makes, it keeps: pools, tables
			base = last
		}
		r.say("  %.1f MiB, %d goroutines", last/(1<<20), runtime.NumGoroutine())
	}
	r.report.below("growth of memory over the churn", 100*(last-base)/base, "%", 5)
	r.report.most("growth of goroutines over it", float64(runtime.NumGoroutine()-goroutines), "", 10)
	return nil
}

// churnFor does it for a while.
func (r *run) churnFor(ctx context.Context, d time.Duration) error {
	const steps = 10 // per second
	var running sync.WaitGroup
	defer running.Wait()
	for end := time.Now().Add(d); time.Now().Before(end); {
		if _, err := r.fleet.order(order{Do: "kill", Count: max(1, r.ChurnRate/steps)}); err != nil {
			return err
		}
		for range r.ChurnRate / steps {
			running.Go(func() {
				// One whose request dies with its connection never answers it, and nobody sends it twice.
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				_ = r.ask(ctx, rand.IntN(r.Computers))
			})
		}
		if !pause(ctx, time.Second/steps) {
			return ctx.Err()
		}
	}
	return nil
}
