package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcpconfig"
)

// ErrUnknownServer means that no server of that name is configured.
var ErrUnknownServer = errors.New("no such server is configured")

// Reconciler makes the servers that run the ones that are configured. Its methods may be called concurrently.
type Reconciler struct {
	options Options
	host    *host
	known   *definitions

	dirty     chan struct{} // one slot: what is offered may not be what it was
	quit      chan struct{}
	publisher sync.WaitGroup
	running   sync.WaitGroup // workers

	mu      sync.Mutex
	workers map[string]*worker
	order   []*worker
	leaving map[*worker]struct{} // removed, with calls or processes that still end
	closed  bool
}

// Outcome says what Reconcile did, by the names of the servers, in the order of the set.
type Outcome struct {
	Started, Changed, Stopped, Unchanged []string
}

// New returns a Reconciler without servers. If a run file of an earlier one is found, the children it names are ended
// before New returns. Close must be called in the end.
func New(options Options) *Reconciler {
	options = options.withDefaults()
	r := &Reconciler{
		options: options,
		host:    newHost(options),
		known:   openDefinitions(options.StateDir, options.Logger),
		dirty:   make(chan struct{}, 1),
		quit:    make(chan struct{}),
		workers: map[string]*worker{},
		leaving: map[*worker]struct{}{},
	}
	r.publisher.Go(r.publishing)
	return r
}

// Reconcile makes servers the ones that run, and returns at once: servers that are new start, those that are gone drain
// and stop, those that differ are started anew beside the running ones and take their place when they are ready. A
// server that would run as it does is not touched. Invalid and hidden servers are passed over; disabled ones are known
// to Status and do not run. After Close nothing happens.
func (r *Reconciler) Reconcile(servers []mcpconfig.Server) Outcome {
	var out Outcome
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return out
	}
	kept := make(map[string]*worker, len(servers))
	var order []*worker
	for _, server := range servers {
		id := server.ID()
		if server.Invalid || server.Hidden || kept[id] != nil {
			continue
		}
		w := r.workers[id]
		if w == nil {
			w = newWorker(r, server)
			r.run(w)
			out.Started = append(out.Started, server.Name)
		} else if w.adopt(server) {
			out.Changed = append(out.Changed, server.Name)
		} else {
			out.Unchanged = append(out.Unchanged, server.Name)
		}
		kept[id] = w
		order = append(order, w)
	}
	for _, w := range r.order {
		if kept[w.id] == nil {
			out.Stopped = append(out.Stopped, w.report().Name)
			r.leaving[w] = struct{}{}
			w.remove()
		}
	}
	r.workers, r.order = kept, order
	r.mu.Unlock()
	r.publish()
	return out
}

// run starts a worker; r.mu is held.
func (r *Reconciler) run(w *worker) {
	r.running.Go(func() {
		w.run()
		r.mu.Lock()
		delete(r.leaving, w)
		next := r.workers[w.id]
		r.mu.Unlock()
		if next != nil {
			next.poke() // it may wait for that; see crowded
		}
	})
}

// crowded reports whether so many removed servers of that ID are still ending that another one must wait: an entry that
// comes and goes all the time would fill the machine with processes otherwise.
func (r *Reconciler) crowded(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for w := range r.leaving {
		if w.id == id {
			n++
		}
	}
	return n >= maxRetiring
}

// adopt takes the configuration that the file has now; it reports whether the server has to be started anew for it.
func (w *worker) adopt(server mcpconfig.Server) bool {
	w.mu.Lock()
	restart := w.want.Fingerprint() != server.Fingerprint() || w.want.Disabled != server.Disabled
	w.mu.Unlock()
	w.change(server, restart)
	return restart
}

// Status tells about every server, in the order of the set; removed ones that still end come last.
func (r *Reconciler) Status() []Status {
	r.mu.Lock()
	workers := append([]*worker(nil), r.order...)
	for w := range r.leaving {
		workers = append(workers, w)
	}
	r.mu.Unlock()
	out := make([]Status, len(workers))
	for i, w := range workers {
		out[i] = w.report()
	}
	return out
}

// Restart starts every server of that name, or the one of that ID, anew: the new one takes the old one's place when it
// is ready. The error is ErrUnknownServer.
func (r *Reconciler) Restart(name string) error {
	r.mu.Lock()
	var found []*worker
	for _, w := range r.order {
		if w.id == name || w.report().Name == name {
			found = append(found, w)
		}
	}
	r.mu.Unlock()
	if len(found) == 0 {
		return fmt.Errorf("%w: %q; see `traposd servers`", ErrUnknownServer, name)
	}
	for _, w := range found {
		w.restart()
	}
	return nil
}

// Close stops all servers at once, without draining, and waits until nothing of them is left. A child process is given 4 s
// from the closing of its stdin to SIGTERM and 2 s more to SIGKILL, or what Times says if that is less; with what it
// takes to look after them, that is at most about 7 s, however they behave. When ctx ends first, Close returns its cause
// and the rest goes on. The last OnChange has been called before.
func (r *Reconciler) Close(ctx context.Context) error {
	r.mu.Lock()
	first := !r.closed
	r.closed = true
	for _, w := range r.order {
		w.halt(errStopped)
	}
	for w := range r.leaving {
		w.halt(errStopped)
	}
	r.mu.Unlock()
	if first {
		close(r.quit)
		close(r.host.closing)
	}
	done := make(chan struct{})
	go func() {
		r.running.Wait()
		r.publisher.Wait()
		r.host.close()
		r.known.close()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *Reconciler) publish() {
	select {
	case r.dirty <- struct{}{}:
	default:
	}
}

// offering is one line of what was published last.
type offering struct {
	worker *worker
	offer  *offer
}

// publishing tells the catalogue what is offered whenever that is not what it was.
func (r *Reconciler) publishing() {
	var last []offering
	for {
		select {
		case <-r.quit:
			return
		case <-r.dirty:
		}
		now, entries := r.offerings()
		if sameOfferings(last, now) {
			continue
		}
		r.options.Logger.Debug("the servers offer something else now", zap.Int("servers", len(entries)))
		r.options.OnChange(entries)
		for _, o := range now {
			if !slices.ContainsFunc(last, func(before offering) bool { return before.worker == o.worker }) {
				o.worker.adoptLogLevel() // from here on, clients that set it reach the server themselves
			}
		}
		last = now
	}
}

func (r *Reconciler) offerings() ([]offering, []mcp.Entry) {
	r.mu.Lock()
	workers := append([]*worker(nil), r.order...)
	r.mu.Unlock()
	var (
		list    []offering
		entries []mcp.Entry
	)
	for _, w := range workers {
		if name, o := w.offered(); o != nil {
			list = append(list, offering{w, o})
			entries = append(entries, o.entry(w.id, name, w))
		}
	}
	return list, entries
}

func sameOfferings(a, b []offering) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].worker != b[i].worker || !a[i].offer.equal(b[i].offer) {
			return false
		}
	}
	return true
}
