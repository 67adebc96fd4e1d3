package doctor

import (
	"regexp"
	"strings"
)

var plainWord = regexp.MustCompile(`^[A-Za-z0-9._@:/=+][A-Za-z0-9._@:/=+-]*$`)

// quoted is a name as one word of a shell's command line: names are chosen by whoever wrote the file, and people copy what
// they are told to run.
func quoted(name string) string {
	if plainWord.MatchString(name) {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
