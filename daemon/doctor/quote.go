package doctor

import (
	"regexp"
	"strconv"
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

// counted is n things, of which one is a thing.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}
