package upstream

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// maxOfferedFailures is how many starts in a row may fail before what a server offered is withdrawn. Until then calls to
// it wait for the next start: most servers that crash are back at the first attempt, and a list of tools that comes and
// goes costs every client more than an error does.
const maxOfferedFailures = 3

// loginPause is how long a server that refuses our credentials is left alone.
const loginPause = 60 * time.Second

// life is the state machine of one worker; only the worker's goroutine touches it.
//
//	off → starting → ready → backing-off → starting …
//
// A changed configuration starts the next instance beside the live one. The live one serves until the next is ready, and
// goes on serving if it never is.
type life struct {
	w      *worker
	live   *instance
	next   *instance
	begun  int  // generation that was begun last
	due    bool // the next instance is to be started now
	kicked bool // a call waits for one

	timer    *time.Timer // until due; nil: none
	pause    backoff
	failures int    // starts in a row that failed
	said     string // the last reason that was logged
	missing  bool   // the command was not found last time
	started  time.Time
	readyAt  time.Time

	retiring atomic.Int32
	retired  chan struct{} // one slot: an old instance is gone
	leaving  sync.WaitGroup
}

// step makes what is wanted so, as far as it can be now, and waits for the next event. It returns false when the server
// was removed or everything stops.
func (l *life) step() bool {
	want := l.w.wanted()
	if want.removed || l.w.ctx.Err() != nil {
		return false
	}
	l.kicked = l.kicked || want.kicked
	switch {
	case want.generation != l.begun:
		l.renew(want)
	case l.live != nil && !l.live.dying():
		l.kicked = false
	case l.kicked && l.live == nil && l.next == nil && time.Since(l.started) > l.w.owner.options.Times.BackoffMin:
		l.due = true
	}
	if l.due && l.missing && want.generation == l.begun && l.stillMissing(want) {
		l.due = false
		l.stopTimer()
		l.timer = time.NewTimer(l.w.owner.options.Times.Lookup)
	}
	if l.due && l.next == nil && int(l.retiring.Load()) < maxRetiring {
		if l.started.IsZero() && l.w.owner.crowded(l.w.id) {
			l.w.enter(StateStarting, "", nil)
		} else {
			l.start(want)
		}
	}
	l.wait()
	return true
}

// stillMissing looks for a command that was not found before; as long as it is not there, nothing is started or said.
func (l *life) stillMissing(want wanted) bool {
	_, err := l.w.owner.host.command(want.server)
	var lookup *lookupError
	return errors.As(err, &lookup)
}

// renew begins with a new configuration, or anew with the same one.
func (l *life) renew(want wanted) {
	l.begun = want.generation
	l.pause.reset()
	l.failures, l.said, l.missing = 0, "", false
	if l.next != nil {
		l.retire(l.next)
		l.next = nil
	}
	l.due = !want.server.Disabled
	l.stopTimer()
	if want.server.Disabled {
		if l.live != nil {
			l.retire(l.live)
			l.live = nil
		}
		l.w.log.Info("server off")
		l.w.enter(StateOff, "", func(w *worker) { w.live, w.coming, w.offer = nil, nil, nil })
	}
}

func (l *life) start(want wanted) {
	l.due, l.kicked = false, false
	l.stopTimer()
	l.started = time.Now()
	l.next = startInstance(l.w.ctx, want.server, &l.w.owner.options, l.w.owner.host, l.w.log)
	next, status := l.next, l.w.report()
	if l.live == nil {
		l.w.log.Debug("server starting", zap.Stringer("transport", want.server.Transport))
		status.State = StateStarting
	}
	l.w.enter(status.State, status.Err, func(w *worker) { w.attempts, w.coming = w.attempts+1, next })
}

func (l *life) wait() {
	var (
		timer                               <-chan time.Time
		nextReady, nextDone, liveDone, news <-chan struct{}
	)
	if l.timer != nil {
		timer = l.timer.C
	}
	if l.next != nil {
		nextReady, nextDone = l.next.ready, l.next.done
	}
	if l.live != nil {
		liveDone, news = l.live.done, l.live.news
	}
	select {
	case <-l.w.wake:
	case <-l.w.ctx.Done():
	case <-l.retired:
	case <-timer:
		l.timer = nil
		l.due = true
	case <-nextReady:
		l.promote()
	case <-nextDone:
		l.failed()
	case <-liveDone:
		l.died()
	case <-news:
		l.told()
	}
}

// promote puts the instance that came up in the place of the live one, whose calls finish.
func (l *life) promote() {
	old := l.live
	l.live, l.next = l.next, nil
	l.readyAt, l.failures, l.said = time.Now(), 0, ""
	o := l.live.offered()
	tools := len(o.lists[kindTools])
	l.w.log.Info("server ready", zap.Int("tools", tools), zap.String("revision", l.live.session.agreed().revision),
		zap.Duration("took", l.readyAt.Sub(l.started).Round(time.Millisecond)))
	if names := l.w.owner.known.learn(l.w.id, o.lists[kindTools]); len(names) > 0 {
		l.w.log.Warn("the server defines some tools otherwise than in its last run: look at them before they are used",
			zap.Strings("tools", firstOf(names, 20)), zap.Int("count", len(names)))
	}
	live := l.live
	since := l.readyAt // also when it takes the place of one that was ready
	offered := false   // before: clients could set the log level of the instance that is gone
	l.w.enter(StateReady, "", func(w *worker) {
		offered = w.offer != nil
		w.live, w.coming, w.offer, w.status.Since = live, nil, o, since
	})
	if offered {
		live.session.adoptLogLevel()
	}
	if old != nil {
		l.retire(old)
	}
}

// failed handles an instance that did not come up.
func (l *life) failed() {
	err := l.next.err
	l.next = nil
	l.failures++
	text := describeStart(err)
	after := l.schedule(err)
	if l.live != nil {
		l.w.log.Log(l.level(text), "the changed server does not come up; the one before goes on serving", zap.String("err", text), zap.Duration("retry_after", after))
		l.w.enter(StateDegraded, "its new configuration does not come up: "+text, func(w *worker) { w.coming = nil })
		return
	}
	l.down(err, text, after)
}

// died handles the end of the live instance.
func (l *life) died() {
	err := l.live.err
	l.live = nil
	if time.Since(l.readyAt) >= l.w.owner.options.Times.Healthy {
		l.pause.reset()
	}
	text := describeStart(err)
	if l.next != nil { // the one that is starting already replaces it
		l.w.log.Warn("server ended", zap.String("err", text))
		l.w.enter(StateStarting, text, func(w *worker) { w.live = nil; w.status.Restarts++ })
		return
	}
	l.down(err, text, l.schedule(err))
}

func (l *life) down(err error, text string, after time.Duration) {
	state := StateBackingOff
	if errors.Is(err, errUnauthorized) {
		state = StateNeedsLogin
	}
	l.w.log.Log(l.level(text), "server down", zap.String("state", string(state)), zap.String("err", text), zap.Duration("retry_after", after.Round(time.Millisecond)))
	withdraw := l.failures >= maxOfferedFailures
	l.w.enter(state, text, func(w *worker) {
		w.live, w.coming = nil, nil
		w.status.Restarts++
		if withdraw {
			w.offer = nil
		}
	})
}

// level is that of a line about a failed start: the same reason is a warning only once.
func (l *life) level(reason string) zapcore.Level {
	if reason == l.said {
		return zap.DebugLevel
	}
	l.said = reason
	return zap.WarnLevel
}

// schedule sets the timer for the next start.
func (l *life) schedule(err error) time.Duration {
	after := l.pause.next()
	var (
		throttle throttled
		lookup   *lookupError
	)
	switch {
	case errors.As(err, &throttle):
		after = max(after, throttle.after)
	case errors.Is(err, errUnauthorized):
		after = max(after, loginPause)
	case errors.As(err, &lookup):
		after = l.w.owner.options.Times.Lookup
	}
	l.stopTimer()
	l.missing = lookup != nil
	l.timer = time.NewTimer(after)
	return after
}

func (l *life) stopTimer() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// told handles a change in what the live instance offers.
func (l *life) told() {
	l.live.mu.Lock()
	o, trouble := l.live.offer, l.live.trouble
	l.live.mu.Unlock()
	if names := l.w.owner.known.learn(l.w.id, o.lists[kindTools]); len(names) > 0 {
		l.w.log.Info("the server defines some tools otherwise than before", zap.Strings("tools", firstOf(names, 20)), zap.Int("count", len(names)))
	}
	status := l.w.report()
	state, failure := status.State, status.Err
	switch {
	case trouble != "" && state == StateReady:
		l.w.log.Warn("a list of the server cannot be read; the one before stays", zap.String("err", trouble))
		state, failure = StateDegraded, trouble
	case trouble == "" && state == StateDegraded && l.timer == nil && l.next == nil:
		l.w.log.Info("server ready")
		state, failure = StateReady, ""
	}
	l.w.enter(state, failure, func(w *worker) { w.offer = o })
}

// retire drains and stops an instance in the background.
func (l *life) retire(i *instance) {
	l.retiring.Add(1)
	l.leaving.Go(func() {
		i.retire()
		l.retiring.Add(-1)
		select {
		case l.retired <- struct{}{}:
		default:
		}
	})
}

// finish drains and stops what there is. When everything stops, the instances' contexts have ended and nothing drains.
func (l *life) finish() {
	l.stopTimer()
	l.w.log.Info("server stopping")
	l.w.enter(StateStopping, "", func(w *worker) { w.offer = nil })
	for _, i := range []*instance{l.live, l.next} {
		if i != nil {
			l.retire(i)
		}
	}
	l.leaving.Wait()
}

// describeStart says why an instance ended, for status and log.
func describeStart(err error) string {
	var why *failure
	if errors.As(err, &why) {
		return why.text
	}
	return describe(err)
}
