package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/traposd/traposd/gateway"
)

// Options say how much is measured.
type Options struct {
	Computers int           // connected at a time; 1 to MaxComputers
	Rate      int           // requests per second of the latency measurement, over Over computers
	Over      int           // at most Computers
	Duration  time.Duration // of each measurement of latency and throughput
	Churn     time.Duration // how long computers come and go; 0: not at all
	ChurnRate int           // how many of them per second

	StartFleet func(ctx context.Context) (Fleet, error) // the process of the computers
	Progress   io.Writer                                // gets a line per measurement; nil: none
}

// MaxComputers is what the ports of one address leave room for.
const MaxComputers = 25000

// Validate says what of the options could not work, in terms of the command line's flags.
func (o *Options) Validate() error {
	switch {
	case o.Computers < 1 || o.Computers > MaxComputers:
		return fmt.Errorf("--computers must be 1 to %d", MaxComputers)
	case o.Rate < 1 || o.Rate > 100_000:
		return errors.New("--rate must be 1 to 100000 requests per second")
	case o.Over < 1:
		return errors.New("--over must be at least 1")
	case o.Duration < 100*time.Millisecond || o.Duration > 10*time.Minute:
		return errors.New("--duration must be 100ms to 10m")
	case o.Churn < 0 || o.Churn > 24*time.Hour:
		return errors.New("--churn must be 0 to 24h")
	case o.ChurnRate < 1 || o.ChurnRate > 1000:
		return errors.New("--churn-rate must be 1 to 1000 per second")
	}
	return nil
}

// run is one benchmark.
type run struct {
	Options
	password string
	fleet    Fleet
	report   *Report

	addr    string // of the listening socket, the same after a restart
	gateway *gateway.Gateway
	server  *http.Server
	served  chan error
	echoes  chan *websocket.Conn
}

// Gateway measures a gateway. It ends early with ctx.
func Gateway(ctx context.Context, o Options) (*Report, error) {
	o.Over = min(o.Over, o.Computers)
	if err := raiseDescriptors(o.Computers + 512); err != nil {
		return nil, err
	}
	r := &run{Options: o, password: rand.Text(), report: &Report{
		Version: 1, Computers: o.Computers, CPUs: runtime.GOMAXPROCS(0), System: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Load: loadAverage(),
	}}
	if r.Progress == nil {
		r.Progress = io.Discard
	}
	var err error
	if r.fleet, err = o.StartFleet(ctx); err != nil {
		return nil, err
	}
	defer func() { _ = r.fleet.Close() }()
	if err := r.listen(ctx, "127.0.0.1:0"); err != nil {
		return nil, err
	}
	defer func() { _ = r.stop() }()
	for _, measure := range []func(context.Context) error{r.idle, r.probe, r.latency, r.throughput, r.storm, r.churn} {
		if err := measure(ctx); err != nil {
			return nil, err
		}
	}
	return r.report, nil
}

func (r *run) say(format string, values ...any) {
	_, _ = fmt.Fprintf(r.Progress, format+"\n", values...)
}

// listen starts a gateway.
func (r *run) listen(ctx context.Context, addr string) error {
	socket, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("the gateway of the benchmark cannot listen: %w", err)
	}
	r.addr = socket.Addr().String()
	r.gateway = gateway.New(gateway.Options{Password: func() string { return r.password }, MaxComputers: r.Computers + 1})
	r.echoes = make(chan *websocket.Conn, echoSockets)
	mux := http.NewServeMux()
	mux.Handle("/", r.gateway)
	mux.HandleFunc(echoPath, r.acceptEcho)
	r.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	r.served = make(chan error, 1)
	go func() { r.served <- r.server.Serve(socket) }()
	return nil
}

// stop ends the gateway, and returns when nothing of it is left.
func (r *run) stop() error {
	if r.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	errs := []error{r.server.Close(), r.gateway.Close(ctx)}
	if err := <-r.served; !errors.Is(err, http.ErrServerClosed) {
		errs = append(errs, err)
	}
	r.server = nil
	return errors.Join(errs...)
}

// await polls until there is what is awaited.
func await(ctx context.Context, limit time.Duration, there func() bool) error {
	deadline := time.Now().Add(limit)
	for !there() {
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v", limit)
		}
		if !pause(ctx, 5*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

func (r *run) connected() int { return len(r.gateway.Registry().Computers()) }

// ask is one request to a computer.
func (r *run) ask(ctx context.Context, computer int) error {
	_, err := r.gateway.Registry().Request(ctx, "default", fmt.Sprintf("%d:bench", computer), "ping", json.RawMessage(`{"t":1}`))
	return err
}

// memory is what the process holds in heap and stacks after a collection.
func memory() float64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC() // stacks shrink one step at a time
	}
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// loadAverage is how busy the machine is, where /proc tells.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(data))
	return strings.Join(fields[:min(3, len(fields))], " ")
}
