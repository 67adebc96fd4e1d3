package craftos

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// maxChunkNameShown is how much of a chunk's first line names it in messages.
const maxChunkNameShown = 45

// compile turns source into a function prototype; name is what messages show. The error's text is one line,
// "name:line: what".
func compile(source, name string) (proto *lua.FunctionProto, err error) {
	if strings.HasPrefix(source, "\x1b") {
		return nil, fmt.Errorf("%s:1: attempt to load a binary chunk", name)
	}
	if strings.HasPrefix(source, "#") {
		if end := strings.IndexByte(source, '\n'); end >= 0 {
			source = source[end:]
		} else {
			source = ""
		}
	}
	defer func() {
		if r := recover(); r != nil { // the compiler panics on some programs, such as too many constants
			proto, err = nil, fmt.Errorf("%s:1: cannot compile: %v", name, r)
		}
	}()
	tree, err := parse.Parse(strings.NewReader(plainEscapes(source)), name)
	if err == nil {
		err = mend(tree)
	}
	if err == nil {
		proto, err = lua.Compile(tree, name)
	}
	if err != nil {
		return nil, errors.New(syntaxMessage(err, name, source))
	}
	return proto, nil
}

func syntaxMessage(err error, name, source string) string {
	var syntax *parse.Error
	if errors.As(err, &syntax) {
		message := strings.TrimSpace(syntax.Message)
		if syntax.Pos.Line == parse.EOF {
			return fmt.Sprintf("%s:%d: %s near <eof>", name, strings.Count(source, "\n")+1, message)
		}
		return fmt.Sprintf("%s:%d: %s near '%s'", name, syntax.Pos.Line, message, syntax.Token)
	}
	var compileError *lua.CompileError
	if errors.As(err, &compileError) {
		return fmt.Sprintf("%s:%d: %s", name, compileError.Line, compileError.Message)
	}
	return name + ":1: " + strings.TrimSpace(err.Error())
}

// chunkName is what messages show for a chunk name as Lua's load takes it: "@file", "=name", or the source itself.
func chunkName(name string) string {
	if strings.HasPrefix(name, "@") || strings.HasPrefix(name, "=") {
		return name[1:]
	}
	line, _, more := strings.Cut(name, "\n")
	if len(line) > maxChunkNameShown {
		line, more = line[:maxChunkNameShown], true
	}
	if more {
		line += "..."
	}
	return `[string "` + line + `"]`
}

// baseLoad is Lua 5.2's load(chunk, name, mode, env): a string or a function that returns pieces.
func (m *machine) baseLoad(l *lua.LState) int {
	var source string
	switch chunk := l.Get(1).(type) {
	case lua.LString:
		source = string(chunk)
	case *lua.LFunction:
		var b strings.Builder
		for {
			l.Push(chunk)
			l.Call(0, 1)
			piece := l.Get(-1)
			l.Pop(1)
			text, ok := piece.(lua.LString)
			if piece == lua.LNil || text == "" && ok {
				break
			}
			if !ok {
				return pushFailure(l, "reader function must return a string")
			}
			b.WriteString(string(text))
		}
		source = b.String()
	default:
		badArgument(l, 1, "string or function", l.Get(1))
	}
	name := optString(l, 2, source)
	if l.Get(2) == lua.LNil && l.Get(1).Type() == lua.LTFunction {
		name = "=(load)"
	}
	if mode := optString(l, 3, "bt"); !strings.Contains(mode, "t") {
		return pushFailure(l, "attempt to load a text chunk (mode is '"+mode+"')")
	}
	fn, err := m.load(source, chunkName(name))
	if err != nil {
		return pushFailure(l, err.Error())
	}
	if env, ok := l.Get(4).(*lua.LTable); ok {
		fn.Env = env
	}
	l.Push(fn)
	return 1
}

func (m *machine) baseLoadString(l *lua.LState) int {
	source := checkString(l, 1)
	fn, err := m.load(source, chunkName(optString(l, 2, source)))
	if err != nil {
		return pushFailure(l, err.Error())
	}
	l.Push(fn)
	return 1
}

func (m *machine) load(source, name string) (*lua.LFunction, error) {
	proto, err := programs.compile(source, name)
	if err != nil {
		return nil, err
	}
	return m.root.NewFunctionFromProto(proto), nil
}

func pushFailure(l *lua.LState, message string) int {
	l.Push(lua.LNil)
	l.Push(lua.LString(message))
	return 2
}
