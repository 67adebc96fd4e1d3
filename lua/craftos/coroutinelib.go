package craftos

import (
	"runtime"

	lua "github.com/yuin/gopher-lua"
)

// openCoroutine installs the coroutine library, in the place of gopher-lua's own, which cannot yield across a
// protected call, a metamethod or an iterator.
func (m *machine) openCoroutine() {
	lib := newTable()
	m.setFuncs(lib, map[string]lua.LGFunction{
		"create":      m.coCreate,
		"resume":      m.coResume,
		"yield":       coYield,
		"wrap":        m.coWrap,
		"status":      coStatus,
		"running":     coRunning,
		"isyieldable": func(l *lua.LState) int { l.Push(lua.LTrue); return 1 },
	})
	m.root.SetGlobal("coroutine", lib)
}

func checkRoutine(l *lua.LState, n int) *routine {
	thread, ok := l.Get(n).(*lua.LState)
	if ok {
		if r := routineOf(thread); r != nil {
			return r
		}
	}
	badArgument(l, n, "coroutine", l.Get(n))
	return nil
}

func (m *machine) coCreate(l *lua.LState) int {
	l.Push(m.newRoutine(checkFunction(l, 1)).thread)
	return 1
}

func (m *machine) coResume(l *lua.LState) int {
	r := checkRoutine(l, 1)
	t := m.resumeFrom(l, r, stackValues(l, 2))
	if t.failed {
		l.Push(lua.LFalse)
		l.Push(t.err)
		return 2
	}
	l.Push(lua.LTrue)
	return 1 + pushAll(l, t.values)
}

// resumeFrom resumes r on behalf of the coroutine that l belongs to; errors of the resumption itself come back
// as those of the coroutine do.
func (m *machine) resumeFrom(l *lua.LState, r *routine, args []lua.LValue) transfer {
	refuse := func(message string) transfer {
		return transfer{err: lua.LString(message), failed: true}
	}
	switch {
	case r.status == statusDead:
		return refuse("cannot resume dead coroutine")
	case r.status != statusSuspended:
		return refuse("cannot resume non-suspended coroutine")
	case !r.started && m.routines >= maxRoutines:
		return refuse("too many coroutines")
	}
	t, ok := m.resume(routineOf(l), r, args)
	if !ok {
		runtime.Goexit()
	}
	return t
}

func coYield(l *lua.LState) int {
	r := routineOf(l)
	if r == nil {
		throw(l, "attempt to yield from outside a coroutine")
	}
	return pushAll(l, r.yield(stackValues(l, 1)))
}

func (m *machine) coWrap(l *lua.LState) int {
	r := m.newRoutine(checkFunction(l, 1))
	l.Push(l.NewFunction(func(l *lua.LState) int {
		t := m.resumeFrom(l, r, stackValues(l, 1))
		if t.failed {
			raise(l, t.err)
		}
		return pushAll(l, t.values)
	}))
	return 1
}

func coStatus(l *lua.LState) int {
	l.Push(lua.LString(checkRoutine(l, 1).status))
	return 1
}

func coRunning(l *lua.LState) int {
	r := routineOf(l)
	if r == nil {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(r.thread)
	l.Push(lua.LBool(r.parent == nil))
	return 2
}
