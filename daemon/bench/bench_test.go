package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inProcess is a fleet without a process of its own.
func inProcess(ctx context.Context) (Fleet, error) {
	orders, tell := io.Pipe()
	hear, tallies := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := ServeFleet(ctx, orders, tallies)
		_ = tallies.Close()
		ended <- err
	}()
	return &pipes{in: tell, lines: bufio.NewScanner(hear), wait: func() error { return <-ended }}, nil
}

// A small run of everything: each figure is there, and those that say whether it went right do not depend on the machine.
func TestGateway(t *testing.T) {
	var progress strings.Builder
	report, err := Gateway(t.Context(), Options{
		Computers: 20, Rate: 100, Over: 10, Duration: 200 * time.Millisecond, Churn: 100 * time.Millisecond, ChurnRate: 20,
		StartFleet: inProcess, Progress: &progress,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	var out strings.Builder
	if err := report.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"memory per idle computer", "goroutines per idle computer", "probe-computers of all", "request and reply, p50", "request and reply, p99",
		"round trips at saturation", "round trips of the bare echo", "all back after a restart", "growth of memory over the churn",
	} {
		if !strings.Contains(out.String(), name) {
			t.Errorf("the table lacks %q", name)
		}
	}
	for _, f := range report.Figures {
		switch f.Name {
		case "computers that did not answer it", "requests that failed", "computers refused meanwhile":
			if f.Value != 0 {
				t.Errorf("%s: %v", f.Name, f.Value)
			}
		}
	}
	text, err := json.Marshal(report)
	if err != nil || !strings.Contains(string(text), `"version":1`) {
		t.Errorf("as json: %s, %v", text, err)
	}
}

func TestCancelledRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Gateway(ctx, Options{Computers: 5, Rate: 1, Over: 1, Duration: time.Second, Churn: time.Second, ChurnRate: 1, StartFleet: inProcess})
	if err == nil {
		t.Error("it went on")
	}
}

func TestOptionsRefused(t *testing.T) {
	good := Options{Computers: 1, Rate: 1, Over: 1, Duration: time.Second, ChurnRate: 1}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for flag, change := range map[string]func(*Options){
		"--computers":  func(o *Options) { o.Computers = MaxComputers + 1 },
		"--rate":       func(o *Options) { o.Rate = 0 },
		"--over":       func(o *Options) { o.Over = 0 },
		"--duration":   func(o *Options) { o.Duration = 0 },
		"--churn ":     func(o *Options) { o.Churn = -1 },
		"--churn-rate": func(o *Options) { o.ChurnRate = 0 },
	} {
		o := good
		change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

func TestFiguresAndGoals(t *testing.T) {
	var r Report
	r.add("a", 1.5, "s")
	r.below("b", 10, "s", 10)
	r.most("c", 0, "", 0)
	r.least("d", 39_999.6, "per s", 40_000)
	for i, want := range []bool{true, false, true, false} {
		if f := r.Figures[i]; f.Met != want {
			t.Errorf("%+v: met %v", f, f.Met)
		}
	}
	for value, want := range map[float64]string{0: "0", 40_000.4: "40000", 12.345: "12.3", 0.12345: "0.123"} {
		if got := shortNumber(value); got != want {
			t.Errorf("%v is written %s", value, got)
		}
	}
}

func TestFleetRefusals(t *testing.T) {
	f, err := inProcess(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.order(order{Do: "dance"}); err == nil || !strings.Contains(err.Error(), "dance") {
		t.Errorf("an unknown order: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
