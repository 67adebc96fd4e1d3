package mcpconfig

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of an envFile.
const (
	maxEnvFileBytes = 1 << 20
	maxVariables    = 4096 // of one envFile, and of one "env"
)

// parseEnvFile reads KEY=value lines. Blank lines and lines that begin with # are skipped, "export " before the key and
// spaces around key and value too. In double quotes \n, \r, \t, \", \$ and \\ are escapes; in single quotes nothing is;
// without quotes " #" begins a comment. A value ends on its line and nothing in it is expanded. Of a key given twice the last
// counts. Errors name the line and nothing of its content.
func parseEnvFile(data []byte) ([]EnvVar, error) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if !utf8.Valid(data) {
		return nil, errors.New("the file is not UTF-8: save it as UTF-8")
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, errors.New("the file holds a NUL byte")
	}
	var env []EnvVar
	seen := map[string]int{}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, content, err := envLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d of the file: %w", number, err)
		}
		if i, twice := seen[name]; twice {
			env[i].Value = NewSecret(content)
			continue
		}
		if len(env) == maxVariables {
			return nil, fmt.Errorf("the file sets more than %d variables", maxVariables)
		}
		seen[name] = len(env)
		env = append(env, EnvVar{Name: name, Value: NewSecret(content)})
	}
	slices.SortFunc(env, func(a, b EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return env, nil
}

func envLine(line string) (name, content string, err error) {
	if rest, found := strings.CutPrefix(line, "export"); found && rest != strings.TrimLeft(rest, " \t") {
		line = strings.TrimLeft(rest, " \t")
	}
	name, content, found := strings.Cut(line, "=")
	if !found {
		return "", "", errors.New("no = sign: write KEY=value")
	}
	name = strings.TrimSpace(name)
	if !environmentName(name) || strings.ContainsAny(name, " \t\"'") {
		return "", "", errors.New("the name before the = is not one that a variable can have")
	}
	content, err = envValue(strings.TrimSpace(content))
	return name, content, err
}

func envValue(text string) (string, error) {
	if text == "" || text[0] == '#' {
		return "", nil
	}
	quote := text[0]
	if quote != '"' && quote != '\'' {
		for i := 1; i < len(text); i++ {
			if text[i] == '#' && (text[i-1] == ' ' || text[i-1] == '\t') {
				return strings.TrimSpace(text[:i]), nil
			}
		}
		return text, nil
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		c := text[i]
		switch {
		case c == quote:
			if rest := strings.TrimSpace(text[i+1:]); rest != "" && rest[0] != '#' {
				return "", errors.New("text after the closing quotation mark")
			}
			return b.String(), nil
		case c == '\\' && quote == '"' && i+1 < len(text):
			i++
			switch text[i] {
			case 'n', 'r', 't':
				b.WriteByte(unescaped(text[i]))
			case '"', '\\', '$':
				b.WriteByte(text[i])
			default:
				b.WriteByte('\\')
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", errors.New("a quotation mark is not closed on its line")
}

// environmentName tells whether an environment can hold a variable of that name: not empty, no =, no control characters.
func environmentName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c == '=' || c < ' ' || c == 0x7f {
			return false
		}
	}
	return name != ""
}

// mergeEnv returns the variables of both lists, each sorted by name; those of the stronger one win.
func mergeEnv(weaker, stronger []EnvVar) []EnvVar {
	if len(weaker) == 0 {
		return stronger
	}
	merged := make([]EnvVar, 0, len(weaker)+len(stronger))
	for _, variable := range weaker {
		for len(stronger) > 0 && stronger[0].Name < variable.Name {
			merged, stronger = append(merged, stronger[0]), stronger[1:]
		}
		if len(stronger) == 0 || stronger[0].Name != variable.Name {
			merged = append(merged, variable)
		}
	}
	return append(merged, stronger...)
}
