package upstream

import "strings"

// isBatch reports whether a program is one of those that only cmd.exe can run.
func isBatch(path string) bool {
	name := strings.ToLower(path)
	return strings.HasSuffix(name, ".bat") || strings.HasSuffix(name, ".cmd")
}

// batchCommand is the command line of cmd.exe that runs a batch file. cmd.exe reads it by rules of its own: inside quotes
// everything is literal but `"` and `%`, so an argument with one of those, or with a line break, is refused rather than
// passed on with another meaning.
func batchCommand(shell, path string, args []string) (string, error) {
	line := []byte(`"` + shell + `" /d /v:off /s /c "`)
	for i, arg := range append([]string{path}, args...) {
		if strings.ContainsAny(arg, "\"%\r\n\x00") {
			return "", failf(nil, "its command is a batch file, and an argument holds a quote, a percent sign or a line break, which cmd.exe would read as something else: call the program itself")
		}
		if strings.HasSuffix(arg, `\`) {
			arg += `\` // so that the closing quote stays one for the program behind
		}
		if i > 0 {
			line = append(line, ' ')
		}
		line = append(line, `"`+arg+`"`...)
	}
	return string(append(line, '"')), nil
}
