package mcpconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The bounds of a time limit in the file, in milliseconds.
const (
	leastPlausibleTimeout = 1000                    // less is probably meant in seconds, as Cline and Roo write it
	maxTimeout            = 7 * 24 * 60 * 60 * 1000 // a week
)

// entryReader reads one entry. It collects problems and goes on, so that all are reported at once.
type entryReader struct {
	*fileReader
	server   *Server // written in its place, being large
	key      value
	members  []namedValue
	meant    []string // keys of ours that are certainly meant by others, and absent
	problems []Problem
	failed   bool
	fromFile []EnvVar // what envFile gives
	text     string   // the entry as it is written; none before it is known to be an object
	texts    []string // memory for the texts of secrets, of this entry only, so that it lives no longer
}

// reset begins another entry, to be written to server, which is zero.
func (e *entryReader) reset(r *fileReader, m namedValue, server *Server) {
	*e = entryReader{fileReader: r, server: server, key: m.key}
	e.server.Name, e.server.Source = m.name, r.source
	r.expander.files = nil
	e.server.Source.Line, e.server.Source.Column = r.doc.position(m.key.start)
}

// fail reports an error of a field at a value's position; the entry is invalid.
func (e *entryReader) fail(at value, field, format string, args ...any) {
	e.failed = true
	e.report(SeverityError, at, field, format, args...)
}

func (e *entryReader) warn(at value, field, format string, args ...any) {
	e.report(SeverityWarning, at, field, format, args...)
}

func (e *entryReader) report(severity Severity, at value, field, format string, args ...any) {
	e.problems = append(e.problems, e.problem(severity, at.start, e.server.Name, field, fmt.Sprintf(format, args...)))
}

// secret is NewSecret, with memory for several at a time.
func (e *entryReader) secret(text string) Secret {
	if len(e.texts) == cap(e.texts) {
		e.texts = make([]string, 0, min(max(2*cap(e.texts), 4), 64))
	}
	e.texts = append(e.texts, text)
	return Secret{&e.texts[len(e.texts)-1]}
}

// read reads the entry, which may be invalid, or takes its last good version.
func (e *entryReader) read(m namedValue, again []repetition) {
	e.name(m, again)
	if !e.failed {
		e.object(m.value)
	}
	for _, path := range e.expander.files {
		e.server.references = append(e.server.references, NewSecret(path))
	}
	e.files = append(e.files, e.expander.files...)
	switch {
	case !e.failed:
		e.server.approval = &consent{path: e.source.Path, name: m.name, entry: e.secret(e.text), env: e.fromFile}
	case e.server.Disabled:
		// It is off whatever else is wrong with it, as with a variable that nobody sets any more.
		for i := range e.problems {
			e.problems[i].Severity = SeverityWarning
		}
	default:
		e.keepLastGood()
	}
	e.add(e.problems)
}

func (e *entryReader) keepLastGood() {
	good, found := e.lastGood(e.server.Name)
	if !found {
		e.server.Invalid = true
		return
	}
	*e.server = good
	e.server.LastGood = true
	for i := range e.problems {
		e.problems[i].KeptLastGood = e.problems[i].Severity == SeverityError
	}
	e.files = good.appendFiles(e.files)
}

func (e *entryReader) name(m namedValue, again []repetition) {
	for _, twice := range again {
		e.fail(twice.again, "", "%s", e.twice("defined", twice.first))
	}
	switch {
	case !m.whole:
		e.fail(m.key, "", "the name holds half of a surrogate pair: write the character itself")
	case strings.TrimSpace(m.name) == "":
		e.fail(m.key, "", "an empty name: give the server one")
	case strings.Contains(m.name, "__"):
		e.fail(m.key, "", "two underscores (__) in a name: they separate server and tool, use one or -")
	}
}

func (e *entryReader) object(v value) {
	if e.flat && ownKey(e.server.Name) {
		e.fail(e.key, "", "fields of one server stand directly under %s: give it a name, {%q: {\"name\": { … }}}", e.root, e.root)
		return
	}
	if e.doc.kind(v) != '{' {
		e.fail(v, "", "not an object: write { \"command\": … } or { \"url\": … }")
		return
	}
	e.text = e.doc.keep(v)
	members, repeated, over := e.doc.object(v, maxKeys, e.fileReader.members)
	if over {
		e.fail(v, "", "more than %d keys", maxKeys)
		return
	}
	for _, twice := range repeated {
		e.fail(twice.again, keyField(twice.name), "%s", e.twice("given", twice.first))
	}
	e.members, e.fileReader.members = members, members
	e.switches()
	e.strangers()
	e.transport()
	e.server.Timeout = e.timeout("timeout")
	e.server.StartupTimeout = e.timeout("startupTimeout")
	switch e.server.Transport {
	case TransportStdio:
		e.stdio()
	case TransportSSE, TransportHTTP:
		e.remote()
	}
}

// switches reads disabled and enabled; either can switch off.
func (e *entryReader) switches() {
	for _, field := range []string{"disabled", "enabled"} {
		v, given := e.field(field)
		if !given {
			continue
		}
		switch e.doc.kind(v) {
		case 't', 'f':
			if (e.doc.kind(v) == 't') == (field == "disabled") {
				e.server.Disabled = true
			}
		default:
			e.fail(v, field, "must be true or false, without quotes")
		}
	}
}

// strangers looks for keys that are not ours but were meant to be. Next to the right key one is ignored.
func (e *entryReader) strangers() {
	for _, m := range e.members {
		if ownKey(m.name) {
			continue
		}
		if m.name == "headersHelper" {
			e.warn(m.key, m.name, "is not run: a service runs no command to get headers, write them in headers")
			continue
		}
		own, found := meantKey(m.name)
		if !found {
			continue
		}
		given := e.has(own)
		if own == "url" || own == "command" {
			given = given || e.has("command") || e.has("url")
		}
		if given {
			e.warn(m.key, m.name, "an unknown key, ignored: did you mean %s? keys are case-sensitive", own)
			continue
		}
		e.meant = append(e.meant, own)
		e.fail(m.key, m.name, "an unknown key: did you mean %s?", own)
	}
}

// field returns the value of a key; one that is null counts as absent.
func (e *entryReader) field(key string) (value, bool) {
	if i := find(e.members, nil, key); i >= 0 {
		v := e.members[i].value
		return v, e.doc.kind(v) != 'n'
	}
	return value{}, false
}

func (e *entryReader) has(key string) bool {
	_, given := e.field(key)
	return given
}

func (e *entryReader) means(key string) bool { return slices.Contains(e.meant, key) }

// transport reads type, or infers it.
func (e *entryReader) transport() {
	if v, given := e.field("type"); given {
		e.server.Transport = e.transportType(v)
		return
	}
	if v, given := e.field("transport"); given {
		switch e.doc.kind(v) {
		case '{':
			e.fail(v, "transport", "an object is not read: move the fields up into the entry, and call the transport type")
			return
		case '"':
			e.server.Transport = transportNamed(e.doc.text(v))
			if e.server.Transport == 0 {
				e.fail(v, "transport", "the key is type, and this is an unknown transport: "+knownTransports)
				return
			}
			e.warn(v, "transport", "the key is type: write it so, other programs read only that")
			return
		}
	}
	command, url := e.has("command"), e.has("url")
	switch {
	case command && url:
		e.fail(e.key, "", "both command and url: set type to stdio, http or sse")
	case command:
		e.server.Transport = TransportStdio
	case url:
		e.server.Transport, e.server.Inferred = TransportSSE, true
	case !e.means("command") && !e.means("url"):
		hint := "give one of them"
		for _, m := range e.members {
			if own, near := nearKey(m.name); near && !ownKey(m.name) {
				hint = "did you mean " + own + " by " + quoted(m.name) + "?"
			}
		}
		e.fail(e.key, "", "neither command nor url: %s", hint)
	}
}

const knownTransports = "write stdio, http or sse"

// transportType reads the one value that messages may repeat.
func (e *entryReader) transportType(v value) Transport {
	if e.doc.kind(v) != '"' {
		shown := ""
		if kind := e.doc.kind(v); kind != '{' && kind != '[' {
			shown = " " + shortened(e.doc.raw(v))
		}
		e.fail(v, "type", "unknown transport%s: %s", shown, knownTransports)
		return 0
	}
	text := e.doc.text(v)
	transport := transportNamed(text)
	if transport == 0 {
		hint := knownTransports
		switch strings.TrimSpace(text) {
		case "local":
			hint = "local is opencode's word, write stdio"
		case "remote":
			hint = "remote is opencode's word, write http"
		}
		e.fail(v, "type", "unknown transport %s: %s", quoted(text), hint)
	}
	return transport
}

func transportNamed(text string) Transport {
	switch strings.TrimSpace(text) {
	case "stdio":
		return TransportStdio
	case "sse":
		return TransportSSE
	case "http", "streamable-http", "streamableHttp":
		return TransportHTTP
	}
	return 0
}

// timeout reads a number of milliseconds.
func (e *entryReader) timeout(field string) time.Duration {
	v, given := e.field(field)
	if !given {
		return 0
	}
	if e.doc.kind(v) != 0 {
		e.fail(v, field, "must be a number of milliseconds, without quotes")
		return 0
	}
	milliseconds, err := strconv.ParseFloat(e.doc.raw(v), 64)
	if err != nil || milliseconds < 0 || milliseconds > maxTimeout {
		e.fail(v, field, "must be from 0 (the default) to %d milliseconds, a week", maxTimeout)
		return 0
	}
	if milliseconds > 0 && milliseconds < leastPlausibleTimeout {
		e.warn(v, field, "is in milliseconds, less than a second here: multiply by 1000 if seconds are meant")
	}
	return time.Duration(milliseconds * float64(time.Millisecond))
}

// keyField is how an unknown key of any length is named as a field.
func keyField(key string) string {
	if len(key) > maxShown {
		return shortened(key)
	}
	return key
}

// maxShown bounds, in bytes, what a message repeats of a name or of "type".
const maxShown = 64

func quoted(text string) string { return strconv.Quote(shortened(text)) }

// shortened cuts a text at a character's end.
func shortened(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}
