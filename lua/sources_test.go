package lua

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// What one of the dialects lacks or reads differently: Lua 5.1, 5.2 and Cobalt all run these files.
var outsideTheSubset = []*regexp.Regexp{
	regexp.MustCompile(`\\x[0-9A-Fa-f]`), // silently wrong in 5.1
	regexp.MustCompile(`\\z|\\u\{`),
	regexp.MustCompile(`\bgoto\b`),
	regexp.MustCompile(`[^:]//`),
	regexp.MustCompile(`\bmath\.(pow|mod|type|tointeger)\b|\btable\.(getn|maxn|setn|move)\b|\bsetfenv\b|\bgetfenv\b|\butf8\b`),
}

func TestSourcesStayInTheCommonSubset(t *testing.T) {
	t.Parallel()
	err := fs.WalkDir(embedded, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !strings.HasSuffix(path, ".lua") {
			t.Errorf("%s is no Lua file", path)
		}
		data, err := fs.ReadFile(embedded, path)
		if err != nil {
			return err
		}
		for n, line := range strings.Split(string(data), "\n") {
			for _, c := range []byte(line) {
				if c > 0x7e || c < 0x20 {
					t.Errorf("%s:%d: the byte %#x", path, n+1, c)
					break
				}
			}
			code, _, _ := strings.Cut(line, "--")
			code = strings.ReplaceAll(code, "goto if in", "") // the list of keywords
			for _, r := range outsideTheSubset {
				if r.MatchString(code) {
					t.Errorf("%s:%d: %s", path, n+1, r)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
