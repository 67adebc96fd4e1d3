package watch

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Waiting times of a Watcher that its Options leave at zero.
const (
	// DefaultDebounce is how long a file must be quiet. The events of one save, in every style tried (in place, rename, unlink and create, git),
	// were at most 5 ms apart, and 50 ms is not felt.
	DefaultDebounce = 50 * time.Millisecond

	// DefaultSettle is how long content that looks half-written is given to be finished. Writers that pause do so for up to 300 ms;
	// the rest covers a loaded machine.
	DefaultSettle = 500 * time.Millisecond

	// DefaultGrace is how long a vanished file is given to come back.
	DefaultGrace = 3 * time.Second

	// MaxPoll is the longest time between two looks, and the default. It is also what bounds a sleep that a suspended machine
	// stretches.
	MaxPoll = 3 * time.Second
)

// ErrRunning is what Run returns when it has been called before.
var ErrRunning = errors.New("watch: already run")

// Options say how a Watcher waits and whom it tells. Times that are zero take the defaults above, negative ones mean no waiting.
type Options struct {
	// Logger gets one line per kind of degradation. Nil: none.
	Logger *zap.Logger

	// Debounce is how long a file must be quiet before its new content is reported; a file that is never quiet is
	// reported every maxBurst × Debounce.
	Debounce time.Duration

	// Settle is the same for content that may be unfinished: a file of 0 bytes, one that Partial says is half-written, one that cannot be read
	// or is no regular file. A file that never settles is reported after maxHold × Settle.
	Settle time.Duration

	// Poll is the time between two looks when no event comes, at most MaxPoll.
	Poll time.Duration

	// Grace is how long a file must have been missing before it is reported as gone. Whoever reads all files when one
	// is reported should take another that is missing for gone only if it was reported too.
	Grace time.Duration

	// Partial, if not nil, says whether content looks half-written (for JSON: it ends too early). path is spelled as
	// given to Set. It is called from the goroutine of Run, must not keep content, and sees at most MaxRead+1 bytes. An empty file is always partial.
	Partial func(path string, content []byte) bool

	// Permissions makes a change of a file's mode or owner count as a change, for a service that refuses files
	// which others can write: without it, `chmod` is nothing.
	Permissions bool

	// Changed is told, in sorted order and spelled as given to Set, the paths whose content has changed or whose existence has (past Grace). It is
	// called from the goroutine of Run, never twice at once. It may call Set, but neither Poke nor Close, which would wait for
	// itself. It may still name a path that a concurrent Set has just dropped.
	Changed func(paths []string)
}

// Watcher looks after a set of files. Make one with New, say what to watch with Set, and call Run once.
type Watcher struct {
	opts Options
	open func() (source, error) // where events come from; tests replace it

	kick    chan struct{}      // one slot: Set has been called
	pokes   chan chan struct{} // each is closed when its look is over
	closing chan struct{}      // closed by Close
	done    chan struct{}      // closed when Run returns

	mu      sync.Mutex
	wanted  map[string]*glimpse // guarded by mu; the paths to watch, with what was seen at Set if the loop has not yet taken it
	started bool                // guarded by mu
	closed  bool                // guarded by mu
}

// New makes a Watcher of nothing. It touches no file and starts no goroutine.
func New(opts Options) *Watcher {
	if opts.Logger == nil {
		opts.Logger = zap.NewNop()
	}
	if opts.Changed == nil {
		opts.Changed = func([]string) {}
	}
	opts.Debounce = orDefault(opts.Debounce, DefaultDebounce)
	opts.Settle = orDefault(opts.Settle, DefaultSettle)
	opts.Grace = orDefault(opts.Grace, DefaultGrace)
	if opts.Poll <= 0 || opts.Poll > MaxPoll {
		opts.Poll = MaxPoll
	}
	return &Watcher{
		opts:    opts,
		open:    openSource,
		kick:    make(chan struct{}, 1),
		pokes:   make(chan chan struct{}),
		closing: make(chan struct{}),
		done:    make(chan struct{}),
		wanted:  map[string]*glimpse{},
	}
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return max(d, 0)
}

// Set says which files to watch from now on, existing or not; paths should be absolute. It reads each path that was not
// watched before, and from then on every difference to what it read is reported. It returns those new paths.
//
// So call Set, then read the files: no edit falls between the two. Whoever learns of a path only by reading others (an `envFile`
// named in a configuration file) calls Set again and, if it returns any, reads again.
func (w *Watcher) Set(paths []string) (added []string) {
	fresh := map[string]*glimpse{}
	for {
		missing := w.install(paths, fresh)
		if len(missing) == 0 {
			break
		}
		for _, p := range missing {
			g := take(absolute(p), w.opts.Permissions, nil)
			fresh[p] = &g
			added = append(added, p)
		}
	}
	select {
	case w.kick <- struct{}{}:
	default:
	}
	return added
}

// install makes paths the wanted ones, unless some have neither been watched before nor are in fresh: then it changes
// nothing and returns those. A second round is the rule; a third happens when another Set has dropped a path in between.
func (w *Watcher) install(paths []string, fresh map[string]*glimpse) (missing []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := make(map[string]*glimpse, len(paths))
	for _, p := range paths {
		if _, twice := next[p]; twice {
			continue
		}
		g, known := w.wanted[p]
		if !known {
			g = fresh[p]
			if g == nil {
				missing = append(missing, p)
			}
		}
		next[p] = g
	}
	if len(missing) == 0 {
		w.wanted = next
	}
	return missing
}

// adopt hands the wanted paths to the loop, each with its glimpse if it has one that was not yet handed over.
func (w *Watcher) adopt() map[string]*glimpse {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make(map[string]*glimpse, len(w.wanted))
	for p, g := range w.wanted {
		out[p] = g
		w.wanted[p] = nil
	}
	return out
}

// Poke looks at everything now, reads every file whatever its times say, and reports every difference without waiting for
// anything to settle or come back. It returns when that look is over and Changed, if it was called, has returned. Before Run, which
// begins with such a look, and after it, Poke does nothing.
func (w *Watcher) Poke() {
	w.mu.Lock()
	started := w.started
	w.mu.Unlock()
	if !started {
		return
	}
	looked := make(chan struct{})
	select {
	case w.pokes <- looked:
	case <-w.done:
		return
	}
	select {
	case <-looked:
	case <-w.done:
	}
}

// Run watches until ctx ends or Close is called, then returns nil. Lack of file events is no failure: the poll goes on. It
// returns ErrRunning when it is called twice.
func (w *Watcher) Run(ctx context.Context) error {
	w.mu.Lock()
	started, closed := w.started, w.closed
	w.started = w.started || !w.closed
	w.mu.Unlock()
	switch {
	case started:
		return ErrRunning
	case closed:
		return nil
	}
	defer close(w.done)
	newLoop(w).run(ctx)
	return nil
}

// Close ends Run and waits for it. It may be called at any time and more than once, but not from Changed.
func (w *Watcher) Close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.closing)
	}
	started := w.started
	w.mu.Unlock()
	if started {
		<-w.done
	}
	return nil
}
