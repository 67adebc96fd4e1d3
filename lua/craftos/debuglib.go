package craftos

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// openDebug replaces the parts of the debug library that concern coroutines. sethook supports count hooks, which may
// yield; call, return and line hooks are accepted and never called.
func (m *machine) openDebug() {
	lib := m.root.GetGlobal("debug").(*lua.LTable)
	m.setFuncs(lib, map[string]lua.LGFunction{
		"getinfo": debugGetInfo, "sethook": debugSetHook, "gethook": debugGetHook, "traceback": debugTraceback, "getregistry": func(l *lua.LState) int {
			l.Push(newTable())
			return 1
		},
	})
}

// debugSetHook is debug.sethook([thread,] [hook, mask [, count]]).
func debugSetHook(l *lua.LState) int {
	r, first := routineOf(l), 1
	if _, ok := l.Get(1).(*lua.LState); ok {
		r, first = checkRoutine(l, 1), 2
	}
	if r == nil {
		return 0
	}
	fn, ok := l.Get(first).(*lua.LFunction)
	if !ok {
		r.setHook(nil, 0)
		return 0
	}
	r.setHook(fn, optInt(l, first+2, 0))
	return 0
}

func debugGetHook(l *lua.LState) int {
	r := routineOf(l)
	if _, ok := l.Get(1).(*lua.LState); ok {
		r = checkRoutine(l, 1)
	}
	if r == nil || r.hook == nil {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(r.hook)
	l.Push(lua.LString(""))
	l.Push(lua.LNumber(r.hookEvery))
	return 3
}

// debugTraceback is debug.traceback([thread,] [message [, level]]). It shows the functions within the innermost
// protected call.
func debugTraceback(l *lua.LState) int {
	state, first := l, 1
	if _, ok := l.Get(1).(*lua.LState); ok {
		state, first = checkRoutine(l, 1).current, 2
	}
	message := l.Get(first)
	if message != lua.LNil && message.Type() != lua.LTString && message.Type() != lua.LTNumber {
		l.Push(message)
		return 1
	}
	level := optInt(l, first+1, 1)
	var b strings.Builder
	if message != lua.LNil {
		b.WriteString(message.String())
		b.WriteString("\n")
	}
	b.WriteString("stack traceback:")
	writeFrames(&b, l, state, level)
	l.Push(lua.LString(b.String()))
	return 1
}

const maxTracebackFrames = 24

func writeFrames(b *strings.Builder, l, state *lua.LState, level int) {
	if state != l {
		level = 0
	}
	for shown := 0; ; level++ {
		frame, ok := state.GetStack(level)
		if !ok {
			return
		}
		if shown++; shown > maxTracebackFrames {
			b.WriteString("\n  ...")
			return
		}
		if _, err := state.GetInfo("Sln", frame, lua.LNil); err != nil {
			return
		}
		where := strings.TrimSuffix(strings.TrimSpace(state.Where(level)), ":")
		if strings.HasPrefix(where, "[G]") || where == "" {
			where = "[C]"
		}
		b.WriteString("\n  " + where + ": in ")
		switch {
		case frame.What == "main":
			b.WriteString("main chunk")
		case frame.Name != "" && frame.Name != "?":
			b.WriteString("function '" + frame.Name + "'")
		default:
			b.WriteString("function <" + frame.Source + ">")
		}
	}
}

// debugGetInfo is debug.getinfo([thread,] function or level [, what]). Levels count within the innermost protected call.
func debugGetInfo(l *lua.LState) int {
	state, first := l, 1
	if _, ok := l.Get(1).(*lua.LState); ok {
		state, first = checkRoutine(l, 1).current, 2
	}
	frame, what := &lua.Debug{}, ">"
	subject := l.Get(first)
	if _, ok := subject.(*lua.LFunction); !ok {
		level := checkInt(l, first)
		if frame, ok = state.GetStack(level); level < 0 || !ok {
			l.Push(lua.LNil)
			return 1
		}
		what = ""
	}
	fn, err := state.GetInfo(what+"Slunf", frame, subject)
	if err != nil {
		throw(l, "bad argument to 'getinfo'")
	}
	function, _ := fn.(*lua.LFunction)
	t := newTable()
	set := t.RawSetString
	set("func", fn)
	set("what", lua.LString(frame.What))
	set("currentline", lua.LNumber(frame.CurrentLine))
	set("linedefined", lua.LNumber(frame.LineDefined))
	set("lastlinedefined", lua.LNumber(frame.LastLineDefined))
	set("nups", lua.LNumber(frame.NUpvalues))
	set("source", lua.LString("@"+frame.Source))
	set("short_src", lua.LString(frame.Source))
	if function != nil && function.IsG {
		set("what", lua.LString("C"))
		set("source", lua.LString("=[C]"))
		set("short_src", lua.LString("[C]"))
	} else if function != nil {
		set("nparams", lua.LNumber(function.Proto.NumParameters))
		set("isvararg", lua.LBool(function.Proto.IsVarArg != 0))
	}
	set("namewhat", lua.LString(""))
	if frame.Name != "" && frame.Name != "?" {
		set("name", lua.LString(frame.Name))
		set("namewhat", lua.LString("global"))
	}
	l.Push(t)
	return 1
}
