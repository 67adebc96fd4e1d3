package service

import "strings"

// word is text as one word of a unit's directive (systemd.syntax(7), "Quoting"), with specifiers taken literally.
// Directives that take a whole line (systemd.exec(5): EnvironmentFile=, LoadCredential=) know no quotes: see line.
func word(text string) string {
	text = line(text)
	if text != "" && !strings.ContainsAny(text, " \t\"'\\;") {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// line is text as the rest of a directive's line. A Spec that passed its check holds nothing that ends a line.
func line(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// noGlob is a path that EnvironmentFile= takes for itself: systemd.exec(5) has it be a pattern, as of glob(3), so that a folder
// named with one of its characters would not be found, or others with it.
func noGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(path)
}

func words(prefix string, texts []string) string {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(prefix)
		b.WriteString(word(text))
	}
	return b.String()
}
