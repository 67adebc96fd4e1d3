package clients

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// translation turns one entry of a dialect into ours.
type translation struct {
	dialect dialect
	note    func(message string)
	out     entry
}

// fieldNames are the names that fields have elsewhere, and ours.
var fieldNames = map[string]string{
	"serverUrl": "url", "httpUrl": "url", "environment": "env", "cmd": "command", "http_headers": "headers",
	"startup_timeout_sec": "startupTimeout", "startup_timeout_ms": "startupTimeout", "tool_timeout_sec": "timeout",
}

// entry translates the value of a list's member; ok is false if it is no server.
func (t *translation) entry(value any) (e entry, ok bool) {
	fields, isObject := value.([]field)
	if !isObject {
		t.note("left out: it is not an object")
		return entry{}, false
	}
	for _, f := range fields {
		t.field(f)
	}
	switch {
	case t.out.Command == "" && t.out.URL == "":
		t.note("left out: it has neither a command nor a url")
		return entry{}, false
	case t.out.Command != "" && t.out.URL != "":
		t.note("it has a command and a url; the url is left out")
		t.out.URL, t.out.Headers = "", nil
	}
	if t.out.Command != "" {
		t.out.Type = ""
	} else if t.out.Type == "" {
		t.inferType(fields)
	}
	return t.out, true
}

// inferType says the transport that the dialect means by a url alone.
func (t *translation) inferType(fields []field) {
	t.out.Type = "http"
	if _, gemini := lookup(fields, "httpUrl"); gemini || t.dialect != dialectCommon {
		return
	}
	t.note("it does not say its transport; \"http\" is written, and \"sse\" is what old servers need")
}

func (t *translation) field(f field) {
	name := f.name
	if ours, known := fieldNames[name]; known {
		name = ours
	}
	ok := true
	switch name {
	case "type", "transport":
		ok = t.transport(f.value)
	case "command":
		ok = t.command(f.value)
	case "args":
		var args []string
		args, ok = t.strings(f.value)
		t.out.Args = append(t.out.Args, args...)
	case "env", "headers":
		ok = t.table(name, f.value)
	case "env_http_headers", "env_vars", "bearer_token_env_var":
		ok = t.codex(name, f.value)
	case "cwd":
		t.out.Cwd, ok = t.text(f.value)
	case "envFile":
		t.out.EnvFile, ok = t.text(f.value)
	case "url":
		t.out.URL, ok = t.text(f.value)
	case "timeout", "startupTimeout":
		ok = t.timeout(name, f)
	case "disabled":
		t.out.Disabled, ok = f.value.(bool)
	case "enabled":
		var enabled bool
		enabled, ok = f.value.(bool)
		t.out.Disabled = !enabled
	case "name", "description", "icon", "$schema", "source":
		// of no consequence
	case "alwaysAllow", "autoApprove", "trust", "includeTools", "excludeTools", "enabled_tools", "disabled_tools", "disabledTools":
		t.note(f.name + " is not carried over: what a client may call is the client's own setting; filters in traposd.json hide tools")
	default:
		t.note(f.name + " is not carried over: it has no counterpart")
	}
	if !ok {
		t.note(f.name + " is not carried over: it has a form that is not known")
	}
}

func (t *translation) transport(v any) bool {
	kind, ok := v.(string)
	switch kind {
	case "sse", "http":
		t.out.Type = kind
	case "streamable-http", "streamableHttp", "streamable_http", "remote":
		t.out.Type = "http"
	case "stdio", "local":
	default:
		return false
	}
	return ok
}

func (t *translation) command(v any) bool {
	switch v := v.(type) {
	case string:
		t.out.Command = t.value(v)
		return true
	case []any:
		words, ok := t.strings(v)
		if !ok || len(words) == 0 {
			return false
		}
		t.out.Command, t.out.Args = words[0], append(words[1:], t.out.Args...)
		return true
	case []field: // Zed's older form
		for _, f := range v {
			if f.name == "path" {
				f.name = "command"
			}
			t.field(f)
		}
		return true
	}
	return false
}

func (t *translation) text(v any) (string, bool) {
	s, ok := v.(string)
	return t.value(s), ok
}

func (t *translation) strings(v any) ([]string, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	words := make([]string, 0, len(list))
	for _, e := range list {
		switch e := e.(type) {
		case string:
			words = append(words, t.value(e))
		case json.Number:
			words = append(words, e.String())
		case bool:
			words = append(words, strconv.FormatBool(e))
		default:
			return nil, false
		}
	}
	return words, true
}

// table carries over variables or headers.
func (t *translation) table(name string, v any) bool {
	fields, ok := v.([]field)
	if !ok {
		return v == nil
	}
	into := &t.out.Env
	if name == "headers" {
		into = &t.out.Headers
	}
	for _, f := range fields {
		values, ok := t.strings([]any{f.value})
		if !ok {
			t.note(name + ": a value that is no text is left out")
			continue
		}
		put(into, f.name, values[0])
	}
	return true
}

func put(table *map[string]string, key, value string) {
	if *table == nil {
		*table = map[string]string{}
	}
	(*table)[key] = value
}

// codex carries over the fields that hold names of variables.
func (t *translation) codex(name string, v any) bool {
	switch v := v.(type) {
	case string:
		if name != "bearer_token_env_var" {
			return false
		}
		put(&t.out.Headers, "Authorization", "Bearer ${"+v+"}")
	case []field:
		for _, f := range v {
			variable, ok := f.value.(string)
			if !ok {
				return false
			}
			put(&t.out.Headers, f.name, "${"+variable+"}")
		}
	case []any:
		for _, e := range v {
			variable, ok := e.(string)
			if !ok {
				return false
			}
			put(&t.out.Env, variable, "${"+variable+"}")
		}
	default:
		return false
	}
	return true
}

// timeout carries over a limit, in milliseconds. A limit under a second is one in seconds: Cline and Roo write them so.
func (t *translation) timeout(name string, f field) bool {
	if parts, ok := f.value.([]field); ok { // opencode's second version
		for _, part := range parts {
			inner := map[string]string{"startup": "startupTimeout", "request": "timeout"}[part.name]
			if inner == "" || !t.timeout(inner, field{part.name, part.value}) {
				return false
			}
		}
		return true
	}
	number, ok := f.value.(json.Number)
	if !ok {
		return false
	}
	limit, err := number.Float64()
	if err != nil || limit <= 0 || limit > math.MaxInt32 {
		return false
	}
	if strings.HasSuffix(f.name, "_sec") || f.name == "timeout" && limit < 1000 {
		limit *= 1000
	}
	into := &t.out.Timeout
	if name == "startupTimeout" {
		into = &t.out.StartupTimeout
	}
	*into = int64(limit)
	return true
}

var (
	dollarBraced = regexp.MustCompile(`\$\{(env|input):([^}]*)\}`)
	curlyEnv     = regexp.MustCompile(`\{(env|file):([^}]*)\}`)
	bareDollar   = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`)
	notInName    = regexp.MustCompile(`[^A-Za-z0-9_]`)
)

// value rewrites the placeholders of a value.
func (t *translation) value(s string) string {
	if t.dialect == dialectOpencode {
		return curlyEnv.ReplaceAllStringFunc(s, func(match string) string {
			parts := curlyEnv.FindStringSubmatch(match)
			if parts[1] == "file" {
				t.note("a {file:…} stands in a value; write the content into a variable and ${VARIABLE} in its place")
				return match
			}
			return "${" + parts[2] + "}"
		})
	}
	s = dollarBraced.ReplaceAllStringFunc(s, func(match string) string {
		parts := dollarBraced.FindStringSubmatch(match)
		if parts[1] == "env" {
			return "${" + parts[2] + "}"
		}
		variable := strings.ToUpper(notInName.ReplaceAllString(parts[2], "_"))
		t.note(fmt.Sprintf("an input became ${%s}; give the service a variable of that name", variable))
		return "${" + variable + "}"
	})
	s = strings.ReplaceAll(s, "${userHome}", "${HOME}")
	if t.dialect == dialectCommon {
		s = t.gemini(s)
	}
	return s
}

// gemini rewrites $VAR, which Gemini alone expands, where the whole value is one; elsewhere a dollar sign is itself.
func (t *translation) gemini(s string) string {
	if match := bareDollar.FindString(s); match != "" && (match == s || s == "Bearer "+match) {
		return strings.Replace(s, match, "${"+match[1:]+"}", 1)
	}
	return s
}
