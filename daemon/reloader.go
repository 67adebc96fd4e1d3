package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp/upstream"
	"github.com/traposd/traposd/mcpconfig"
)

// reloader turns the configuration files into the running set of servers, each time that it is told that they changed.
// One goroutine (run) does all the reading and applying; any may ask.
type reloader struct {
	load  func(before loaded, away func(path string) bool) loaded
	apply func(loaded) upstream.Outcome // makes the servers run; returns before they do
	watch func(paths []string) (added []string)
	log   *zap.Logger

	stands  problemLog             // used by run only
	reloads *prometheus.CounterVec // by outcome; nil: not counted

	wake   chan struct{}      // one slot: something changed
	asked  chan chan struct{} // somebody waits for a reload; closed when it is done
	ended  chan struct{}      // closed by run
	mu     sync.Mutex
	loaded loaded          // guarded by mu
	named  map[string]bool // guarded by mu: the paths that were named to changed and not read since
}

// loaded is what the files come to.
type loaded struct {
	set        mcpconfig.Set
	problems   mcpconfig.Problems   // of the configuration files and of our own state files
	since      map[string]time.Time // by problem: since when it stands
	workspaces []Workspace
	own        ownFile
	run        []mcpconfig.Server // those of set that may run
	pending    []Pending          // those that wait for approval
	watch      []string           // every file that had a part in it, existing or not
}

func newReloader() *reloader {
	return &reloader{named: map[string]bool{}, stands: problemLog{now: time.Now}, wake: make(chan struct{}, 1), asked: make(chan chan struct{}), ended: make(chan struct{})}
}

var errStopping = errors.New("the service is stopping")

// changed asks for a reload soon, since these files are not what they were. It never blocks.
func (r *reloader) changed(paths []string) {
	r.mu.Lock()
	for _, path := range paths {
		r.named[path] = true
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// reload makes one now and returns when its outcome is being applied.
func (r *reloader) reload(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case r.asked <- done:
	case <-r.ended:
		return errStopping
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	<-done
	return nil
}

// run reloads whenever it is asked to, until ctx ends.
func (r *reloader) run(ctx context.Context) {
	defer close(r.ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
			r.reloadNow()
		case done := <-r.asked:
			r.reloadNow()
			close(done)
		}
	}
}

// current is what the last reload came to.
func (r *reloader) current() loaded {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loaded
}

// first reads the files before run is started. What is broken at the first start is off: there is no last good.
func (r *reloader) first() {
	r.settle(loaded{}, r.read(loaded{}))
	if now := r.current(); len(now.workspaces) == 0 && len(now.set.Servers()) == 0 {
		r.log.Info("no workspace is given, so that no server is offered: name a folder by --workspace or traposd workspace add")
	}
}

func (r *reloader) reloadNow() {
	before := r.current()
	r.settle(before, r.read(before))
}

// maxRereads bounds how often newly found files lead to others (an envFile that was named just now).
const maxRereads = 4

// read reads all files, and again if that showed some that were not watched yet: an edit between the reading of a file and
// the first look of its watcher would never be seen.
func (r *reloader) read(before loaded) loaded {
	r.mu.Lock()
	named := r.named
	r.named = map[string]bool{}
	r.mu.Unlock()
	// A missing file is gone when its watcher says so. Until then it is in the middle of a save, and what brought us here is
	// some other file.
	away := func(path string) bool { return !named[path] }
	for reads := 1; ; reads++ {
		now := r.load(before, away)
		if len(r.watch(now.watch)) == 0 || reads == maxRereads {
			return now
		}
	}
}

// settle keeps the outcome, says what is new of it, and has it applied. Applying the same again is nothing.
func (r *reloader) settle(before, now loaded) {
	r.report(before.problems, now.problems)
	now.since = r.stands.since
	r.mu.Lock()
	r.loaded = now
	r.mu.Unlock()
	r.reportPending(before.pending, now.pending)
	outcome := r.apply(now)
	if len(outcome.Started)+len(outcome.Changed)+len(outcome.Stopped) == 0 {
		r.count(reloadUnchanged)
		return
	}
	r.count(reloadApplied)
	r.log.Info("configuration applied",
		zap.Strings("added", outcome.Started), zap.Strings("changed", outcome.Changed),
		zap.Strings("removed", outcome.Stopped), zap.Int("unchanged", len(outcome.Unchanged)))
}

func (r *reloader) count(outcome string) {
	if r.reloads != nil {
		r.reloads.WithLabelValues(outcome).Inc()
	}
}

func names(servers []mcpconfig.Server) []string {
	out := make([]string, len(servers))
	for i, s := range servers {
		out[i] = s.Name
	}
	return out
}

// reportPending logs each entry once that begins to wait for approval.
func (r *reloader) reportPending(before, now []Pending) {
	for _, p := range now {
		if !slices.ContainsFunc(before, func(other Pending) bool { return other.Hash == p.Hash }) {
			r.log.Warn("entry waits for approval; see traposd approve --list",
				zap.String("server", p.Name), zap.String("at", fmt.Sprintf("%s:%d", p.Source.Path, p.Source.Line)), zap.Bool("changed", p.Changed))
		}
	}
}

// report logs each problem once, when it appears, and once when it is mended. What a problem says is safe to log: package
// mcpconfig repeats no value.
func (r *reloader) report(before, now mcpconfig.Problems) {
	fresh, mended := r.stands.note(before, now)
	for _, p := range fresh {
		r.log.Log(problemLevel(p), "configuration problem", problemFields(p)...)
	}
	for _, p := range mended {
		fields := []zap.Field{zap.String("path", p.Path)}
		if p.Server != "" {
			fields = append(fields, zap.String("server", p.Server))
		}
		if p.Field != "" {
			fields = append(fields, zap.String("field", p.Field))
		}
		r.log.Info("configuration problem mended", fields...)
	}
}

func problemFields(p mcpconfig.Problem) []zap.Field {
	fields := []zap.Field{
		zap.String("at", fmt.Sprintf("%s:%d:%d", p.Path, p.Line, p.Column)),
		zap.String("problem", p.Message),
	}
	if p.Server != "" {
		fields = append(fields, zap.String("server", p.Server))
	}
	if p.Field != "" {
		fields = append(fields, zap.String("field", p.Field))
	}
	if p.KeptLastGood {
		fields = append(fields, zap.Bool("kept_last_good", true))
	}
	return fields
}
