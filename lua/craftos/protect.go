package craftos

import (
	"errors"
	"regexp"
	"runtime"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// protectedStates bounds the idle Lua states that a machine keeps for its next protected calls.
const protectedStates = 16

// raise throws any Lua value, without adding a position.
func raise(l *lua.LState, value lua.LValue) {
	l.Error(value, 0)
}

// throw raises a Lua error whose message has the position of the calling Lua function before it.
func throw(l *lua.LState, message string) {
	raise(l, lua.LString(position(l, 1)+message))
}

// position is "file:line: " of a function on the stack, or nothing where there is none.
func position(l *lua.LState, level int) string {
	where := l.Where(level)
	if where == "" || strings.HasPrefix(where, "[G]") {
		return ""
	}
	return where + " "
}

func errorValue(err error) lua.LValue {
	var api *lua.ApiError
	if !errors.As(err, &api) {
		return lua.LString(err.Error())
	}
	return luaWords(api.Object)
}

// Messages of gopher-lua, and what Lua says in their place.
var (
	overflowMessage = regexp.MustCompile(`^.*(callstack|registry) overflow`)
	indexMessage    = regexp.MustCompile(`attempt to index a non-table object\((\w+)\) with key '(.*)'$`)
	mathMessage     = regexp.MustCompile(`cannot perform \w+ operation between (\w+) and (\w+)$`)
	callMessage     = regexp.MustCompile(`attempt to call a non-function object$`)
)

// luaWords puts an error that gopher-lua raised into Lua's words; other values it returns as they are.
func luaWords(value lua.LValue) lua.LValue {
	s, ok := value.(lua.LString)
	if !ok {
		return value
	}
	text := string(s)
	switch {
	case strings.HasSuffix(text, " overflow") && overflowMessage.MatchString(text):
		return lua.LString("stack overflow")
	case strings.Contains(text, "a non-table object("):
		return lua.LString(indexMessage.ReplaceAllString(text, "attempt to index a $1 value (field '$2')"))
	case strings.HasSuffix(text, "a non-function object"):
		return lua.LString(callMessage.ReplaceAllString(text, "attempt to call a nil value"))
	case strings.Contains(text, "cannot perform "):
		return lua.LString(mathWords(text))
	}
	return value
}

func mathWords(text string) string {
	at := mathMessage.FindStringSubmatchIndex(text)
	if at == nil {
		return text
	}
	left, right := text[at[2]:at[3]], text[at[4]:at[5]]
	culprit, action := left, "perform arithmetic on"
	if strings.HasPrefix(text[at[0]:], "cannot perform concat") {
		action = "concatenate"
		if left == "string" || left == "number" {
			culprit = right
		}
	} else if left == "number" {
		culprit = right
	}
	return text[:at[0]] + "attempt to " + action + " a " + culprit + " value"
}

func callable(l *lua.LState, v lua.LValue) bool {
	return v.Type() == lua.LTFunction || l.GetMetaField(v, "__call").Type() == lua.LTFunction
}

// protect calls fn in protected mode on a Lua state of its own, within the same coroutine and goroutine. On one state,
// gopher-lua's PCall would close the upvalues of every function up the stack when an error passes: the callers'
// closures and their locals would part ways.
func (m *machine) protect(l *lua.LState, fn lua.LValue, args []lua.LValue, handler *lua.LFunction) ([]lua.LValue, error) {
	r := routineOf(l)
	if r.depth >= maxProtectDepth {
		throw(l, "stack overflow")
	}
	state := m.borrow(r)
	previous := r.current
	r.current = state
	r.depth++
	state.Push(fn)
	pushAll(state, args)
	err := state.PCall(len(args), lua.MultRet, handler)
	if m.stopped() {
		runtime.Goexit()
	}
	r.current = previous
	r.depth--
	if err != nil {
		return nil, err
	}
	values := stackValues(state, 1)
	if r.depth < fullProtectDepth {
		m.giveBack(state)
	}
	return values, nil
}

func (m *machine) borrow(r *routine) *lua.LState {
	if r.depth >= fullProtectDepth {
		m.root.Options.CallStackSize = deepCallFrames
		state, _ := m.root.NewThread()
		m.root.Options.CallStackSize = maxCallFrames
		state.SetContext(r)
		return state
	}
	if n := len(m.idle); n > 0 {
		state := m.idle[n-1]
		m.idle = m.idle[:n-1]
		state.SetContext(r)
		return state
	}
	state, _ := m.root.NewThread()
	state.SetContext(r)
	return state
}

func (m *machine) giveBack(state *lua.LState) {
	if len(m.idle) < protectedStates {
		state.SetTop(0)
		m.idle = append(m.idle, state)
	}
}

func (m *machine) basePCall(l *lua.LState) int {
	fn := l.CheckAny(1)
	if !callable(l, fn) {
		l.Push(lua.LFalse)
		l.Push(lua.LString("attempt to call a " + fn.Type().String() + " value"))
		return 2
	}
	values, err := m.protect(l, fn, stackValues(l, 2), nil)
	return pushOutcome(l, values, err)
}

func (m *machine) baseXPCall(l *lua.LState) int {
	fn := l.CheckAny(1)
	handler := checkFunction(l, 2)
	if !callable(l, fn) {
		l.Push(lua.LFalse)
		l.Push(lua.LString("attempt to call a " + fn.Type().String() + " value"))
		return 2
	}
	wrapped := l.NewFunction(func(l *lua.LState) int {
		message := luaWords(l.Get(1))
		settleUpvalues(l)
		l.Push(handler)
		l.Push(message)
		l.Call(1, 1)
		return 1
	})
	values, err := m.protect(l, fn, stackValues(l, 3), wrapped)
	return pushOutcome(l, values, err)
}

// settleUpvalues closes the upvalues of the failed functions. gopher-lua omits that when an error handler is set, and
// closures that outlive the error would then read registers that others use. An error in a nested protected call
// does it, since the nested call has no handler.
func settleUpvalues(l *lua.LState) {
	nothing := l.NewFunction(func(*lua.LState) int { return 0 })
	l.Push(nothing)
	_ = l.PCall(0, 0, nil) // its end resets the "has a handler" mark
	fail := l.NewFunction(func(l *lua.LState) int { l.Error(lua.LString(""), 0); return 0 })
	l.Push(fail)
	_ = l.PCall(0, 0, nil) // fails on purpose
}

func pushOutcome(l *lua.LState, values []lua.LValue, err error) int {
	if err != nil {
		l.Push(lua.LFalse)
		l.Push(errorValue(err))
		return 2
	}
	l.Push(lua.LTrue)
	return 1 + pushAll(l, values)
}

func baseError(l *lua.LState) int {
	value := l.Get(1)
	level := l.OptInt(2, 1)
	if s, ok := value.(lua.LString); ok && level > 0 {
		value = lua.LString(position(l, level)) + s
	}
	raise(l, value)
	return 0
}
