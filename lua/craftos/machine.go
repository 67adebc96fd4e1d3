package craftos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	lua "github.com/yuin/gopher-lua"
	"go.uber.org/zap"
)

// ErrTooLong is returned by Run when a program ran on after its "Too long without yielding" error: the computer was
// turned off, as CC:Tweaked does.
var ErrTooLong = errors.New("too long without yielding")

type outcome int

const (
	outcomeShutdown outcome = iota
	outcomeReboot
)

// Sizes of a Lua state. A state begins small, since every coroutine has one, and grows.
const (
	maxCallFrames    = 4096
	firstRegisters   = 128
	registerGrowth   = 512
	maxRegisters     = 1 << 18
	largestLuaArray  = 1 << 21 // beyond, integer keys go to the hash part: t[1e7]=1 must not take 160 MB
	abortGraceParts  = 3       // a caught abort may run on for 3/14 of AbortAfter: 1.5 s of 7 s
	abortGraceDivide = 14
)

func init() {
	lua.MaxArrayIndex = largestLuaArray
}

// machine is one boot of a computer, from power-on to shutdown or reboot.
type machine struct {
	computer *Computer
	log      *zap.Logger
	root     *lua.LState // never runs a program: makes tables, functions and threads
	queue    *eventQueue
	timers   timers
	started  time.Time
	net      *network

	ctx    context.Context
	cancel context.CancelFunc
	dead   chan struct{} // closed by stop
	kill   atomic.Bool
	once   sync.Once
	wg     sync.WaitGroup // coroutines

	// The rest belongs to whoever runs: the event loop, or the coroutine that it resumed.
	idle       []*lua.LState
	routines   int
	sliceStart time.Time
	warned     bool
	want       *outcome
	openFiles  int
	files      []*fileHandle // those opened; closed ones are dropped now and then

	mu   sync.Mutex
	last outcome // guarded by mu: what the machine ends as
	err  error   // guarded by mu
}

func newMachine(ctx context.Context, c *Computer) (*machine, error) {
	m := &machine{
		computer: c, log: c.log, queue: newEventQueue(c.opts.EventLimit), started: time.Now(), dead: make(chan struct{}),
	}
	m.ctx, m.cancel = context.WithCancel(ctx)
	m.net = newNetwork(m)
	m.root = lua.NewState(lua.Options{
		CallStackSize: maxCallFrames, RegistrySize: firstRegisters, RegistryMaxSize: maxRegisters,
		RegistryGrowStep: registerGrowth, SkipOpenLibs: true, MinimizeStackMemory: true,
	})
	if err := m.openLibraries(); err != nil {
		m.cancel()
		return nil, err
	}
	return m, nil
}

func (m *machine) setFuncs(table *lua.LTable, funcs map[string]lua.LGFunction) {
	for name, fn := range funcs {
		table.RawSetString(name, m.root.NewFunction(fn))
	}
}

func (m *machine) stopped() bool { return m.kill.Load() }

// stop ends the machine with the given outcome; the first call decides. It does not wait.
func (m *machine) stop(how outcome, err error) {
	m.once.Do(func() {
		m.mu.Lock()
		m.last, m.err = how, err
		m.mu.Unlock()
		m.kill.Store(true)
		close(m.dead)
		m.cancel()
	})
}

// overdue reports, once per slice, that the running program has to be told that it did not yield in time; when it goes
// on after that, the machine stops.
func (m *machine) overdue(now time.Time) bool {
	limit := m.computer.opts.AbortAfter
	ran := now.Sub(m.sliceStart)
	if ran <= limit {
		return false
	}
	if !m.warned {
		m.warned = true
		return true
	}
	if ran > limit+limit*abortGraceParts/abortGraceDivide {
		m.computer.screen.showAbort()
		m.stop(outcomeShutdown, ErrTooLong)
	}
	return false
}

// run boots the machine and returns when it has ended, with all its goroutines and sockets gone.
func (m *machine) run() (outcome, error) {
	release := context.AfterFunc(m.ctx, func() { m.stop(outcomeShutdown, context.Cause(m.ctx)) })
	m.loop()
	release()
	m.stop(outcomeShutdown, nil)
	m.net.close()
	m.wg.Wait()
	m.closeFiles()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last, m.err
}

func (m *machine) loop() {
	fn, err := m.romFunction("bios.lua")
	if err != nil {
		m.stop(outcomeShutdown, err)
		return
	}
	main := m.newRoutine(fn)
	args := []lua.LValue{m.natives()}
	for {
		m.sliceStart, m.warned = time.Now(), false
		t, ok := m.resume(nil, main, args)
		switch {
		case !ok:
			return
		case m.want != nil:
			m.stop(*m.want, nil)
			return
		case t.failed:
			m.stop(outcomeShutdown, fmt.Errorf("the computer's basic system failed: %s", t.err.String()))
			return
		case t.done:
			return
		}
		filter := ""
		if len(t.values) > 0 {
			if s, isString := t.values[0].(lua.LString); isString {
				filter = string(s)
			}
		}
		e, ok := m.next(filter)
		if !ok {
			return
		}
		args = append(args[:0:0], lua.LString(e.name))
		for _, arg := range e.args {
			args = append(args, m.toLua(arg))
		}
	}
}

// next waits for an event that the filter admits; ok is false when the machine stopped.
func (m *machine) next(filter string) (e event, ok bool) {
	for {
		if m.stopped() {
			return event{}, false
		}
		due, waiting := m.timers.fire(time.Now(), m.queue)
		if e, ok = m.queue.pop(); ok {
			if filter == "" || e.name == filter || e.name == "terminate" {
				return e, true
			}
			continue
		}
		if !m.wait(due, waiting) {
			return event{}, false
		}
	}
}

func (m *machine) wait(due time.Time, waiting bool) bool {
	var alarm <-chan time.Time
	if waiting {
		t := time.NewTimer(time.Until(due))
		defer t.Stop()
		alarm = t.C
	}
	var lines <-chan string
	if m.computer.screen.awaitsLine() {
		lines = m.computer.lines
	}
	select {
	case <-m.queue.wake:
	case <-alarm:
	case line := <-lines:
		m.enter(line)
	case line := <-m.computer.impatient:
		m.enter(line)
	case <-m.dead:
		return false
	}
	return true
}

// enter puts a line that a person typed into the queue, which is empty.
func (m *machine) enter(line string) {
	m.computer.screen.echoed(line)
	m.computer.Paste(line)
	m.computer.Key(KeyEnter)
}

// maker is an event argument that only exists once the event is delivered, such as a handle.
type maker func(m *machine) lua.LValue

// toLua makes a Lua value of an event's argument. What has no counterpart becomes nil, as it does in the game.
func (m *machine) toLua(v any) lua.LValue {
	switch v := v.(type) {
	case nil:
		return lua.LNil
	case lua.LValue:
		return v
	case maker:
		return v(m)
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case []byte:
		return lua.LString(v)
	case int:
		return lua.LNumber(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		t := newTable()
		for i, item := range v {
			t.RawSetInt(i+1, m.toLua(item))
		}
		return t
	case map[string]any:
		t := newTable()
		for key, item := range v {
			t.RawSetString(key, m.toLua(item))
		}
		return t
	}
	return lua.LNil
}
