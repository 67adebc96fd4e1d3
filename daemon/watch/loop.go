package watch

import (
	"context"
	"slices"
	"time"
)

// occasion is why a look is made.
type occasion uint8

const (
	polled occasion = iota // time has passed, or Set was called
	quiet                  // there were events, and then none for a while
	poked                  // somebody wants to know now
)

// loop is the state of a Watcher's Run. It belongs to that goroutine.
type loop struct {
	w     *Watcher
	tree  *tree
	files map[string]*file // by name

	burstFirst, burstLast time.Time // the events that no look has answered yet; zero: none
	pollAt                time.Time // the next look if nothing happens
	dueAt                 time.Time // when a difference that was found is to be reported; zero: none was
}

func newLoop(w *Watcher) *loop {
	return &loop{w: w, tree: newTree(w), files: map[string]*file{}}
}

func (l *loop) run(ctx context.Context) {
	defer l.tree.stop()
	l.look(polled)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(time.Until(l.wakeAt()))
		select {
		case <-ctx.Done():
			return
		case <-l.w.closing:
			return
		case <-l.tree.mail.wake:
			l.receive()
		case <-l.w.kick:
			l.look(polled)
		case looked := <-l.w.pokes:
			l.look(poked)
			close(looked)
		case <-timer.C:
			if at := l.burstAt(); !at.IsZero() && !at.After(time.Now()) {
				l.look(quiet)
			} else {
				l.look(polled)
			}
		}
	}
}

// receive takes the events that have come, and puts off the look that answers them.
func (l *loop) receive() {
	names, err := l.tree.mail.take()
	for name, op := range names {
		for _, f := range l.tree.happened(name, op) {
			f.dirty = true
		}
	}
	if err != nil {
		l.tree.failed(err)
		for _, f := range l.files {
			f.dirty = true
		}
	}
	if len(names) > 0 || err != nil {
		l.stir()
	}
}

// stir begins or prolongs a burst.
func (l *loop) stir() {
	l.burstLast = time.Now()
	if l.burstFirst.IsZero() {
		l.burstFirst = l.burstLast
	}
}

// burstAt is when the events that have come are answered; zero if there are none.
func (l *loop) burstAt() time.Time {
	if l.burstFirst.IsZero() {
		return time.Time{}
	}
	return earliest(l.burstLast.Add(l.w.opts.Debounce), l.burstFirst.Add(maxBurst*l.w.opts.Debounce))
}

func (l *loop) wakeAt() time.Time {
	return earliest(earliest(l.pollAt, l.burstAt()), l.dueAt)
}

// earliest is the earlier of two times, where zero is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// look looks at every file and reports what is due.
func (l *loop) look(why occasion) {
	opts := &l.w.opts
	l.adopt()
	if why == quiet {
		l.burstFirst, l.burstLast = time.Time{}, time.Time{}
	}
	l.tree.follow(l.files)
	now := time.Now()
	l.dueAt = time.Time{}
	var due []*file
	for _, f := range l.files {
		f.look(now, why == poked, opts)
		switch at := f.due(why == quiet, opts); {
		case at.IsZero():
		case why == poked, !at.After(now):
			due = append(due, f)
		default:
			l.dueAt = earliest(l.dueAt, at)
		}
	}
	l.report(due)
	l.pollAt = time.Now().Add(opts.Poll)
}

// report calls Changed, if there is anything to report. Changed may have read any of the files.
func (l *loop) report(due []*file) {
	if len(due) == 0 {
		return
	}
	names := make([]string, 0, len(due))
	for _, f := range due {
		f.tell()
		names = append(names, f.name)
	}
	slices.Sort(names)
	l.w.opts.Changed(names)
	for _, f := range l.files {
		if f.doubt() {
			l.stir()
		}
	}
}

// adopt makes the files those that Set last named.
func (l *loop) adopt() {
	select {
	case <-l.w.kick: // answered by this look
	default:
	}
	wanted := l.w.adopt()
	for name := range l.files {
		if _, ok := wanted[name]; !ok {
			delete(l.files, name)
		}
	}
	for name, g := range wanted {
		if g != nil {
			f := newFile(name, g)
			f.doubt() // whoever called Set has read it, maybe
			l.files[name] = f
		}
	}
}
