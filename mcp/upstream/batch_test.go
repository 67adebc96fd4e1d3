package upstream

import (
	"strings"
	"testing"
)

func TestBatchFilesAreQuoted(t *testing.T) {
	const shell = `C:\Windows\System32\cmd.exe`
	for _, c := range []struct {
		path string
		args []string
		want string
	}{
		{`C:\nodejs\npx.cmd`, []string{"-y", "@scope/name"}, `"C:\nodejs\npx.cmd" "-y" "@scope/name"`},
		{`C:\Program Files\x.bat`, nil, `"C:\Program Files\x.bat"`},
		{`C:\x.cmd`, []string{`a & calc`, `^|<>!()`, ``, `C:\dir\`, `é`}, `"C:\x.cmd" "a & calc" "^|<>!()" "" "C:\dir\\" "é"`},
	} {
		got, err := batchCommand(shell, c.path, c.args)
		if want := `"` + shell + `" /d /v:off /s /c "` + c.want + `"`; err != nil || got != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	}
	for _, hush := range []string{`hush"`, `%hush%`, "hush\n", "hush\r", "hush\x00"} {
		if _, err := batchCommand(shell, `C:\x.cmd`, []string{hush}); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: error %v", hush, err)
		}
	}
	for path, want := range map[string]bool{`C:\X.CMD`: true, `x.bat`: true, `x.exe`: false, `cmd`: false, `x.cmd.exe`: false} {
		if isBatch(path) != want {
			t.Errorf("%s is a batch file: %v", path, !want)
		}
	}
}
