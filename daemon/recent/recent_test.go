package recent

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func TestEventsAreKeptAndBounded(t *testing.T) {
	events := New(zapcore.InfoLevel)
	log := zap.New(events).Named("a").With(zap.String("server", "x"))
	log.Debug("not kept")
	for i := range Capacity + 50 {
		log.Info(fmt.Sprint(i), zap.Duration("took", time.Second), zap.Strings("names", []string{"n"}), zap.Error(errors.New("e")),
			zap.String("long", strings.Repeat("é", 2*maxText)), zap.Int("n", i), zap.Any("odd", struct{ A int }{1}), zap.Float64("f", 0.5), zap.Float64("nan", math.NaN()))
	}
	all := events.After(0)
	if len(all) != Capacity || all[0].Seq != 51 || all[Capacity-1].Message != fmt.Sprint(Capacity+49) {
		t.Fatalf("%d entries, from %+v", len(all), all[0])
	}
	if _, err := json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	f := all[0].Fields
	if all[0].Logger != "a" || all[0].Level != "info" || f["server"] != "x" || f["took"] != "1s" || f["error"] != "e" || f["n"] != int64(50) || f["odd"] != "…" {
		t.Errorf("%+v", all[0])
	}
	if long, _ := f["long"].(string); len(long) > maxText+len("…") || strings.Contains(long, "\ufffd") {
		t.Errorf("%d bytes", len(long))
	}
	if some := events.After(all[Capacity-3].Seq); len(some) != 2 {
		t.Errorf("%d entries after the third last", len(some))
	}
	if none := events.After(all[Capacity-1].Seq); len(none) != 0 {
		t.Errorf("%d entries after the last", len(none))
	}
}

func TestReadersBesideWriters(t *testing.T) {
	events := New(zapcore.InfoLevel)
	log := zap.New(events)
	var wg sync.WaitGroup
	const writers, each = 4, Capacity / 4 // so that nothing is forgotten
	for range writers {
		wg.Go(func() {
			for range each {
				log.Info("x")
			}
		})
	}
	for next := uint64(1); next <= writers*each; {
		for _, e := range events.After(next - 1) {
			if e.Seq != next {
				t.Fatalf("entry %d comes after %d", e.Seq, next-1)
			}
			next++
		}
		runtime.Gosched()
	}
	wg.Wait()
}
