package mcpconfig

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// maxArgs bounds the arguments of one entry.
const maxArgs = 4096

// stdio reads the fields of an entry that is a child process.
func (e *entryReader) stdio() {
	e.command()
	e.args()
	env := e.env()
	e.cwd()
	e.envFile()
	e.server.Env = mergeEnv(e.fromFile, env)
}

func (e *entryReader) command() {
	v, given := e.field("command")
	if !given {
		if !e.means("command") {
			e.fail(e.key, "command", "no command: a stdio server needs the program to run")
		}
		return
	}
	if e.doc.kind(v) == '[' {
		e.fail(v, "command", "must be a string, the program alone: its arguments go in args")
		return
	}
	written, text, problem := e.expanded(v)
	if text = strings.TrimSpace(text); text == "" && problem == "" {
		problem = "no command: it is blank"
	}
	if problem == "" {
		text, problem = e.tilde(text)
	}
	if problem != "" {
		e.fail(v, "command", "%s", problem)
		return
	}
	path := text
	if strings.ContainsFunc(text, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }) {
		path = e.against(text)
	}
	if strings.ContainsAny(text, " \t") {
		if _, err := os.Stat(e.against(text)); err != nil {
			e.warn(v, "command", "contains spaces, and there is no such file: arguments go in args")
		}
	}
	e.server.Command = e.secret(path)
	e.server.shownCommand = e.secret(unexpanded(written))
}

func (e *entryReader) args() {
	v, given := e.field("args")
	if !given {
		return
	}
	if e.doc.kind(v) != '[' {
		e.fail(v, "args", "must be an array of strings")
		return
	}
	args := e.fileReader.args[:0]
	for element := range e.doc.elements(v) {
		n := len(args)
		if n == maxArgs {
			e.fail(element, "args", "more than %d arguments", maxArgs)
			break
		}
		text, problem := e.scalar(element)
		if problem == "" {
			text, problem = e.tilde(text)
		}
		if problem != "" {
			e.fail(element, "args["+strconv.Itoa(n)+"]", "%s", problem)
		}
		args = append(args, e.secret(text))
	}
	e.fileReader.args = args
	e.server.Args = append([]Secret(nil), args...)
}

// env returns the variables of "env", sorted by name.
func (e *entryReader) env() []EnvVar {
	v, given := e.field("env")
	if !given {
		return nil
	}
	if e.doc.kind(v) != '{' {
		e.fail(v, "env", `must be an object: { "NAME": "value" }`)
		return nil
	}
	members, repeated, over := e.doc.object(v, maxVariables, e.inner)
	e.inner = members
	if over {
		e.fail(v, "env", "more than %d variables", maxVariables)
		return nil
	}
	for _, twice := range repeated {
		if environmentName(twice.name) {
			e.fail(twice.again, "env."+keyField(twice.name), "%s", e.twice("given", twice.first))
		}
	}
	env := make([]EnvVar, 0, len(members))
	for _, m := range members {
		if !m.whole || !environmentName(m.name) {
			// The name is not repeated: with a = in it, it holds a value.
			e.fail(m.key, "env", "the name of a variable is not allowed: it must not be empty nor contain = or control characters")
			continue
		}
		variable := EnvVar{Name: m.name}
		if e.doc.kind(m.value) == 'n' {
			variable.Unset = true
		} else if text, problem := e.scalar(m.value); problem == "" {
			variable.Value = e.secret(text)
		} else {
			e.fail(m.value, "env."+keyField(m.name), "%s", problem)
		}
		env = append(env, variable)
	}
	slices.SortFunc(env, func(a, b EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return env
}

func (e *entryReader) cwd() {
	e.server.Cwd = e.baseCwd
	v, given := e.field("cwd")
	if !given {
		return
	}
	if path, ok := e.path(v, "cwd"); ok && path != "" {
		e.server.Cwd = e.secret(path)
	}
}

// envFile reads the variables of the file named; it must exist.
func (e *entryReader) envFile() {
	v, given := e.field("envFile")
	if !given {
		return
	}
	path, ok := e.path(v, "envFile")
	if !ok || path == "" {
		return
	}
	e.server.EnvFile = e.secret(path)
	e.files = append(e.files, path)
	data, _, err := readFile(path, maxEnvFileBytes, e.privileged)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("there is no such file")
	}
	if err == nil {
		e.fromFile, err = parseEnvFile(data)
	}
	if err != nil {
		e.fail(v, "envFile", "%s", err)
	}
}

// path reads a path: expanded, ~ resolved, made absolute. An empty one is returned as such.
func (e *entryReader) path(v value, field string) (string, bool) {
	text, problem := e.string(v)
	if text == "" && problem == "" {
		return "", true
	}
	if problem == "" {
		text, problem = e.resolve(text)
	}
	if problem != "" {
		e.fail(v, field, "%s", problem)
		return "", false
	}
	return text, true
}

// string reads a string and expands it, or says what is wrong with it.
func (e *entryReader) string(v value) (text, problem string) {
	_, text, problem = e.expanded(v)
	return text, problem
}

// expanded is string, and returns the text as it is written too.
func (e *entryReader) expanded(v value) (written, text, problem string) {
	if e.doc.kind(v) != '"' {
		return "", "", "must be a string"
	}
	written, whole := e.doc.decode(v)
	if !whole {
		return "", "", "holds half of a surrogate pair: write the character itself"
	}
	text, err := e.expander.expand(written)
	if err != nil {
		return "", "", err.Error()
	}
	if strings.IndexByte(text, 0) >= 0 {
		return "", "", "holds a NUL character"
	}
	return written, text, ""
}

// scalar reads a string as string does, and a number, true or false as it is written.
func (e *entryReader) scalar(v value) (text, problem string) {
	switch e.doc.kind(v) {
	case 0, 't', 'f':
		return e.doc.raw(v), ""
	case '"':
		return e.string(v)
	}
	return "", "must be a string"
}
