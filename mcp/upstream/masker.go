package upstream

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/traposd/traposd/mcpconfig"
)

// masked stands where a configured secret was.
const masked = "[redacted]"

// minMasked is the length from which on a value is masked. Shorter ones ("1", "true", "info") would riddle the text and
// guard nothing.
const minMasked = 6

// masker replaces configured secret values in what a server writes. The nil masker replaces nothing.
type masker struct {
	replacer *strings.Replacer
	values   []string
}

// Arguments that are secret: the value of a flag with such a name, or a text that looks like a token.
var (
	secretFlag  = regexp.MustCompile(`(?i)(key|token|secret|passw|credential|auth|bearer)`)
	secretLooks = regexp.MustCompile(`^[A-Za-z0-9_\-.=+]{20,}$`)
	hasDigit    = regexp.MustCompile(`[0-9]`)
	hasLetter   = regexp.MustCompile(`[A-Za-z]`)
)

// newMasker masks the values of env and headers, the secret parts of the url, and those arguments that look secret. The
// others stay: "npm error 404 '@scope/name'" is what tells the user what is wrong.
func newMasker(server mcpconfig.Server) *masker {
	var values []string
	for _, v := range server.Env {
		if name := strings.ToUpper(v.Name); name != "PATH" && name != "HOME" && name != "LANG" {
			values = append(values, v.Value.Reveal())
		}
	}
	for _, h := range server.Headers {
		value := h.Value.Reveal()
		values = append(values, value)
		if _, credential, ok := strings.Cut(value, " "); ok {
			values = append(values, credential) // "Bearer x"
		}
	}
	values = append(values, urlSecrets(server.URL.Reveal())...)
	values = append(values, secretArgs(server.Args)...)

	for _, v := range values {
		if strings.ContainsAny(v, "\r\n") { // a key in PEM: it is written and shown line by line
			values = append(values, strings.FieldsFunc(v, func(r rune) bool { return r == '\r' || r == '\n' })...)
		}
	}
	values = slices.DeleteFunc(values, func(v string) bool { return len(v) < minMasked })
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) }) // the longest match first
	values = slices.Compact(values)
	var pairs []string
	for _, v := range values {
		pairs = append(pairs, v, masked)
	}
	return &masker{replacer: strings.NewReplacer(pairs...), values: values}
}

// applyCut replaces them in a text that was cut off at its end, or at its beginning: what may be a part of a secret there
// is taken away.
func (m *masker) applyCut(text string, begins, ends bool) string {
	if m == nil {
		return text
	}
	start, end := 0, len(text)
	for _, v := range m.values {
		for n := min(len(v)-1, len(text)); n > 0; n-- {
			if begins && strings.HasPrefix(text, v[len(v)-n:]) {
				start = max(start, n)
			}
			if ends && strings.HasSuffix(text, v[:n]) {
				end = min(end, len(text)-n)
			}
		}
	}
	return m.apply(text[min(start, end):end])
}

func urlSecrets(text string) []string {
	u, err := url.Parse(text)
	if err != nil || text == "" {
		return nil
	}
	values := []string{u.RawQuery}
	if password, ok := u.User.Password(); ok {
		values = append(values, password)
	}
	for _, list := range u.Query() {
		values = append(values, list...)
	}
	return values
}

func secretArgs(args []mcpconfig.Secret) []string {
	var values []string
	next := false
	for _, arg := range args {
		text := arg.Reveal()
		flag, value, joined := strings.Cut(text, "=")
		switch {
		case joined && secretFlag.MatchString(flag):
			values = append(values, value)
		case next, secretLooks.MatchString(text) && hasDigit.MatchString(text) && hasLetter.MatchString(text):
			values = append(values, text)
		}
		next = !joined && strings.HasPrefix(text, "-") && secretFlag.MatchString(flag)
	}
	return values
}

func (m *masker) apply(text string) string {
	if m == nil || m.replacer == nil {
		return text
	}
	return m.replacer.Replace(text)
}
