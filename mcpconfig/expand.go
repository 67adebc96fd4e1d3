package mcpconfig

import (
	"errors"
	"fmt"
	"strings"
)

// The bounds of expansion: a file of 4 MiB could otherwise name a long variable a million times.
const (
	maxExpandedValue = 256 << 10 // bytes of one value; Linux takes 128 KiB for an argument
	maxExpandedFile  = 4 << 20   // bytes of all values of one file that hold a placeholder
	maxDefaultDepth  = 16        // defaults within defaults
)

// ownSecrets are the variables that hold secrets of the service itself: no entry may hand them to a server.
var ownSecrets = map[string]bool{"TRAPOS_SERVER_PASSWORD": true, "TRAPOS_MCP_TOKEN": true}

// expander replaces ${VAR}, ${VAR:-default}, ${workspaceFolder} and references. What a variable holds is not expanded again. A bare $
// is literal, and so is a placeholder whose name no variable can have. Its errors name variables, and no values.
type expander struct {
	getenv    func(string) (string, bool)
	workspace string // "" where there is none
	left      int    // bytes that may still come out of expansion, see maxExpandedFile
	scratch   []byte // memory for one value

	folders    folders  // what the path of a reference stands against
	privileged bool     // files that others could have written are refused
	files      []string // the paths of the references of one entry
}

func (x *expander) expand(text string) (string, error) {
	if !strings.Contains(text, "${") {
		return text, nil
	}
	expanded, whole := x.whole(text)
	if !whole {
		out, err := x.append(x.scratch[:0], text, 0)
		if err != nil {
			return "", err
		}
		x.scratch, expanded = out[:0], string(out)
	}
	if x.left -= len(expanded); x.left < 0 {
		return "", errors.New("the values of this file expand to too much text: variables are too long or too often repeated")
	}
	return expanded, nil
}

// whole returns what the usual value with a placeholder expands to without a copy: one ${NAME} and nothing else, of a variable
// that is set. Everything else, and all that is wrong, is append's to say.
func (x *expander) whole(text string) (string, bool) {
	if text[0] != '$' || text[len(text)-1] != '}' {
		return "", false
	}
	name := text[2 : len(text)-1]
	if !variableName(name) || ownSecrets[name] {
		return "", false
	}
	content, ok := x.variable(name)
	return content, ok && len(content) <= maxExpandedValue
}

func (x *expander) append(out []byte, text string, depth int) ([]byte, error) {
	var err error
	for {
		start := strings.Index(text, "${")
		if start < 0 {
			return appendBounded(out, text)
		}
		length := placeholderLength(text[start:])
		if length < 0 {
			return nil, errors.New("an unterminated placeholder: ${ without its }")
		}
		if out, err = appendBounded(out, text[:start]); err != nil {
			return nil, err
		}
		out, err = x.placeholder(out, text[start:start+length], depth)
		if err != nil {
			return nil, err
		}
		text = text[start+length:]
	}
}

func appendBounded(out []byte, text string) ([]byte, error) {
	if len(out)+len(text) > maxExpandedValue {
		return nil, fmt.Errorf("expands to more than %d bytes", maxExpandedValue)
	}
	return append(out, text...), nil
}

// placeholderLength returns the length of the placeholder that text begins with, braces within it balanced, or -1.
func placeholderLength(text string) int {
	depth := 0
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// splitPlaceholder takes ${name:-default} apart; a path in the name may hold placeholders with defaults of their own.
func splitPlaceholder(placeholder string) (name, fallback string, hasDefault bool) {
	inner, depth := placeholder[2:len(placeholder)-1], 0
	for i := range len(inner) {
		switch inner[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ':':
			if depth == 0 && strings.HasPrefix(inner[i:], ":-") {
				return strings.TrimSpace(inner[:i]), inner[i+2:], true
			}
		}
	}
	return strings.TrimSpace(inner), "", false
}

func (x *expander) placeholder(out []byte, placeholder string, depth int) ([]byte, error) {
	name, fallback, hasDefault := splitPlaceholder(placeholder)
	if name == "" {
		return nil, errors.New("an empty placeholder: write ${NAME}")
	}
	if !variableName(name) {
		return x.unnamed(out, placeholder, depth)
	}
	if ownSecrets[name] {
		return nil, fmt.Errorf("%s is a secret of traposd itself and is given to no server: use a variable of another name", name)
	}
	content, ok := x.variable(name)
	switch {
	case hasDefault && content == "":
		if depth == maxDefaultDepth {
			return nil, fmt.Errorf("defaults nested too deep: at most %d levels", maxDefaultDepth)
		}
		return x.append(out, fallback, depth+1)
	case !ok:
		return nil, unsetVariable(name)
	}
	return appendBounded(out, content)
}

// unnamed expands a placeholder that is no variable's: a reference, what only an editor can fill, or text.
func (x *expander) unnamed(out []byte, placeholder string, depth int) ([]byte, error) {
	name, fallback, hasDefault := splitPlaceholder(placeholder)
	if depth == maxDefaultDepth {
		return nil, fmt.Errorf("placeholders nested too deep: at most %d levels", maxDefaultDepth)
	}
	content, found, err := x.reference(name, depth)
	switch {
	case found && hasDefault && content == "" && (err == nil || absent(err)):
		return x.append(out, fallback, depth+1)
	case err != nil:
		return nil, err
	case found:
		return appendBounded(out, content)
	}
	if err := foreignPlaceholder(name); err != nil {
		return nil, err
	}
	return appendBounded(out, placeholder)
}

func (x *expander) variable(name string) (string, bool) {
	if name == "workspaceFolder" {
		return x.workspace, x.workspace != ""
	}
	return x.getenv(name)
}

func unsetVariable(name string) error {
	switch name {
	case "workspaceFolder":
		return errors.New("workspaceFolder is not known here: only the .mcp.json of a workspace has one")
	case "userHome":
		return errors.New("variable userHome is not set: write ${HOME}, or ~ at the beginning")
	}
	name = shortened(name)
	return fmt.Errorf("variable %s is not set: set it in the environment of the service, or write ${%s:-default}", name, name)
}

// foreignPlaceholder says what to write instead of the placeholders that only an editor can fill.
func foreignPlaceholder(name string) error {
	kind, rest, found := strings.Cut(name, ":")
	if !found {
		return nil
	}
	switch kind {
	case "input":
		return errors.New("${input:…} asks a person, and a service cannot prompt: write ${NAME} and set that variable in its environment")
	case "env":
		if rest = strings.TrimSpace(rest); variableName(rest) && len(rest) <= maxShown {
			return fmt.Errorf("write ${%s} instead of ${env:%s}", rest, rest)
		}
		return errors.New("write ${NAME} instead of ${env:NAME}")
	case "command", "config":
		return fmt.Errorf("${%s:…} asks an editor, and a service has none: write the value, or ${NAME}", kind)
	}
	return nil
}

// variableName tells whether a shell could have a variable of that name: [A-Za-z_][A-Za-z0-9_]*.
func variableName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c == '$' || !letter(c) && (i == 0 || !digit(c)) {
			return false
		}
	}
	return name != ""
}

// unexpanded returns text with its placeholders reduced to ${NAME}: defaults may be secrets.
func unexpanded(text string) string {
	var b strings.Builder
	for {
		start := strings.Index(text, "${")
		if start < 0 {
			break
		}
		length := placeholderLength(text[start:])
		if length < 0 {
			break
		}
		b.WriteString(text[:start])
		if name, _, _ := splitPlaceholder(text[start : start+length]); variableName(name) {
			b.WriteString("${" + name + "}")
		} else {
			b.WriteString("${…}")
		}
		text = text[start+length:]
	}
	return b.String() + text
}
