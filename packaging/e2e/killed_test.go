//go:build e2e

package e2e

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// kills is how often TestKilledUnderEdits kills the service.
const kills = 50

// mortal are the servers of TestKilledUnderEdits, as shell commands; PROGRAM is the traposd under test, which has small
// servers in it.
var mortal = []string{
	`exec PROGRAM demo-server dice`,
	`PROGRAM demo-server words; exit 0`,                                                   // a shell stays above the server
	`sleep 600 & exec PROGRAM demo-server dice`,                                           // a grandchild that holds the pipes
	`setsid sleep 600 & exec PROGRAM demo-server words`,                                   // one that leaves the process group
	`trap "" TERM; PROGRAM demo-server dice; while :; do sleep 1; done`,                   // neither SIGTERM nor the end of its input ends it
	`sleep 0.3; bash -c "bash -c 'PROGRAM demo-server words; exit 0'; exit 0"; exit 0`,    // slow, and deep
	`trap "" TERM HUP; (trap "" TERM HUP; sleep 600) & sleep 600`,                         // never answers
	`nohup setsid bash -c 'sleep 600; exit 0' >/dev/null 2>&1 & PROGRAM demo-server dice`, // one with nothing of its pipes and its group
}

// TestKilledUnderEdits kills the service with SIGKILL at random moments, while it starts or while its file is edited. After
// each start nothing is left of the runs before, and after the last stop nothing at all.
func TestKilledUnderEdits(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if given := os.Getenv("E2E_SEED"); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("E2E_SEED=%d gives the same edits and moments", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	b := newBed(t)
	t.Cleanup(b.endMarked)
	t.Cleanup(b.kill)
	orphans, early := 0, 0
	for round := range kills {
		b.write(b.someMortals(random, round))
		b.launch()
		if random.IntN(5) == 0 { // while it starts, or has hardly started
			early++
			pause(random, 150*time.Millisecond)
		} else {
			b.awaitListener()
			b.nothingBefore(round)
			for range 1 + random.IntN(5) {
				pause(random, 80*time.Millisecond)
				b.write(b.someMortals(random, round))
			}
			pause(random, 400*time.Millisecond)
		}
		b.kill()
		orphans += len(marked(t, b.mark("")))
	}
	b.write(`{"mcpServers": {}}`)
	b.launch()
	b.awaitListener()
	b.nothingBefore(kills)
	b.stop()
	if left := marked(t, b.mark("")); len(left) > 0 {
		t.Errorf("after the last stop there are %v", left)
	}
	t.Logf("%d kills, %d of them early; %d processes were there without their service", kills, early, orphans)
	if orphans == 0 {
		t.Error("there was never anything to be left; the test shows nothing")
	}
}

// nothingBefore waits until no process of an earlier round is there.
func (b *bed) nothingBefore(round int) {
	b.t.Helper()
	own := b.mark(strconv.Itoa(round))
	var left []markedProcess
	defer func() {
		if b.t.Failed() {
			b.t.Logf("in round %d these are left: %q", round, left)
		}
	}()
	b.await("the end of what earlier rounds left", func() bool {
		left = left[:0]
		for _, p := range marked(b.t, b.mark("")) {
			if p.mark != own {
				left = append(left, p)
			}
		}
		return len(left) == 0
	})
}

// someMortals are some of the servers. Another number in its environment makes an entry another one.
func (b *bed) someMortals(random *rand.Rand, round int) string {
	b.t.Helper()
	entries := map[string]any{}
	for i, command := range mortal {
		if random.IntN(3) == 0 {
			continue
		}
		entries["server"+strconv.Itoa(i)] = map[string]any{
			"command": "bash", "args": []string{"-c", strings.ReplaceAll(command, "PROGRAM", b.program)},
			"env": map[string]string{markVariable: b.mark(strconv.Itoa(round)), "EDIT": strconv.Itoa(random.IntN(3))},
		}
	}
	config, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		b.t.Fatal(err)
	}
	return string(config)
}

// pause lets the service go on for some time, at most limit. Nothing that is expected depends on how far it gets.
func pause(random *rand.Rand, limit time.Duration) {
	<-time.After(time.Duration(random.Int64N(int64(limit))))
}
