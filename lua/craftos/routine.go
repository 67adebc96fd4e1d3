package craftos

import (
	"context"
	"runtime"
	"time"

	lua "github.com/yuin/gopher-lua"
)

const (
	// sliceInstructions is how many instructions run between two looks at the clock and the kill flag: about 20 µs.
	sliceInstructions = 1000
	// maxProtectDepth bounds nested protected calls within one coroutine. Beyond fullProtectDepth each has room for only
	// deepCallFrames calls. Both keep a hostile program from the limit of a Go stack, which would end the process: a call
	// through a metamethod takes up to 1 KiB of it, one through string.gsub more.
	maxProtectDepth  = 180
	fullProtectDepth = 16
	deepCallFrames   = 256
	// maxRoutines bounds the coroutines of one computer that are started and not finished.
	maxRoutines = 8192
)

type routineStatus string

const (
	statusSuspended routineStatus = "suspended"
	statusRunning   routineStatus = "running"
	statusNormal    routineStatus = "normal"
	statusDead      routineStatus = "dead"
)

// transfer is what one coroutine hands to another: values of a yield or a return, or an error.
type transfer struct {
	values []lua.LValue
	err    lua.LValue // the error's value when failed
	failed bool
	done   bool
}

// routine is one Lua coroutine. Exactly one routine of a machine runs at a time; whoever runs owns every field of
// every routine, and hands that ownership over through the channels.
//
// It is also the context.Context of its Lua states: gopher-lua asks a context's Done before each instruction, which is
// where instructions are counted for hooks, for the abort and for the end of the machine.
type routine struct {
	machine *machine
	thread  *lua.LState // the value that Lua sees
	current *lua.LState // the state that runs now: thread, or that of the innermost protected call
	fn      lua.LValue
	status  routineStatus
	started bool
	parent  *routine
	depth   int

	in  chan []lua.LValue
	out chan transfer

	budget    int
	hook      *lua.LFunction
	hookEvery int
	hookLeft  int
	inHook    bool
}

var _ context.Context = (*routine)(nil)

// Deadline implements context.Context: there is none.
func (r *routine) Deadline() (time.Time, bool) { return time.Time{}, false }

// Err implements context.Context. It is never asked, since Done is never ready.
func (r *routine) Err() error { return nil }

// Value implements context.Context: there are none.
func (r *routine) Value(any) any { return nil }

// Done implements context.Context, and counts one instruction.
func (r *routine) Done() <-chan struct{} {
	r.budget--
	if r.budget <= 0 {
		r.checkpoint()
	}
	return nil
}

// checkpoint runs every sliceInstructions instructions, or sooner when a hook is due.
func (r *routine) checkpoint() {
	r.look()
	if r.hook != nil && !r.inHook {
		r.hookLeft -= r.sliceLength()
		if r.hookLeft <= 0 {
			r.hookLeft = r.hookEvery
			r.runHook()
		}
	}
	r.refill()
}

// look ends the goroutine when the machine has stopped, and throws when the program ran for too long.
func (r *routine) look() {
	m := r.machine
	if m.stopped() {
		runtime.Goexit()
	}
	if m.overdue(time.Now()) {
		r.refill()
		raise(r.current, lua.LString(position(r.current, 0)+"Too long without yielding"))
	}
	if m.stopped() {
		runtime.Goexit()
	}
}

func (r *routine) sliceLength() int {
	if r.hook != nil && r.hookEvery < sliceInstructions {
		return r.hookEvery
	}
	return sliceInstructions
}

func (r *routine) refill() { r.budget = r.sliceLength() }

// runHook calls the count hook between two instructions. The hook may yield: this goroutine simply waits.
func (r *routine) runHook() {
	r.inHook = true
	r.refill()
	defer func() { r.inHook = false }()
	L := r.current
	L.Push(r.hook)
	L.Push(lua.LString("count"))
	L.Call(1, 0)
}

func (r *routine) setHook(fn *lua.LFunction, every int) {
	if every < 1 {
		fn = nil
	}
	r.hook, r.hookEvery, r.hookLeft = fn, every, every
	if r.budget > r.sliceLength() {
		r.refill()
	}
}

func (m *machine) newRoutine(fn lua.LValue) *routine {
	thread, _ := m.root.NewThread()
	r := &routine{
		machine: m, thread: thread, current: thread, fn: fn, status: statusSuspended,
		in: make(chan []lua.LValue, 1), out: make(chan transfer, 1), budget: sliceInstructions,
	}
	thread.SetContext(r)
	return r
}

// routineOf returns the coroutine that a Lua state belongs to.
func routineOf(l *lua.LState) *routine {
	r, _ := l.Context().(*routine)
	return r
}

// resume runs r until it yields, returns or fails. ok is false when the machine stopped meanwhile.
func (m *machine) resume(from, r *routine, args []lua.LValue) (t transfer, ok bool) {
	if from != nil {
		from.status = statusNormal
	}
	r.parent, r.status = from, statusRunning
	if !r.started {
		r.started = true
		m.routines++
		m.wg.Go(func() { r.main(args) })
	} else {
		r.in <- args // one slot, and r waits for it or is gone
	}
	select {
	case t = <-r.out:
	case <-m.dead:
		return transfer{}, false
	}
	r.parent = nil
	if from != nil {
		from.status = statusRunning
	}
	if t.done {
		r.status = statusDead
		m.routines--
	} else {
		r.status = statusSuspended
	}
	return t, true
}

func (r *routine) main(args []lua.LValue) {
	L := r.thread
	L.Push(r.fn)
	for _, arg := range args {
		L.Push(arg)
	}
	r.fn = nil
	if err := L.PCall(len(args), lua.MultRet, nil); err != nil {
		if r.machine.stopped() {
			return
		}
		r.out <- transfer{err: errorValue(err), failed: true, done: true}
		return
	}
	r.out <- transfer{values: stackValues(L, 1), done: true}
}

// yield hands values to the resumer and waits to be resumed with others.
func (r *routine) yield(values []lua.LValue) []lua.LValue {
	r.out <- transfer{values: values}
	select {
	case args := <-r.in:
		r.refill()
		return args
	case <-r.machine.dead:
		runtime.Goexit()
		return nil
	}
}

func stackValues(l *lua.LState, from int) []lua.LValue {
	top := l.GetTop()
	if top < from {
		return nil
	}
	values := make([]lua.LValue, 0, top-from+1)
	for i := from; i <= top; i++ {
		values = append(values, l.Get(i))
	}
	return values
}

func pushAll(l *lua.LState, values []lua.LValue) int {
	reserve(l, len(values))
	for _, v := range values {
		l.Push(v)
	}
	return len(values)
}

// reserve grows the stack once for n more values, where pushing them would grow it step by step.
func reserve(l *lua.LState, n int) {
	if n > 64 {
		top := l.GetTop()
		l.SetTop(top + n)
		l.SetTop(top)
	}
}
