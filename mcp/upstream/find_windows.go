package upstream

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"
)

const (
	homeVariable   = "USERPROFILE"
	foldsVariables = true
)

// executable reports whether there is a program at path, with one of the usual extensions if it has none.
func executable(path string) (string, bool) {
	candidates := []string{path}
	if filepath.Ext(path) == "" {
		candidates = nil
		for ext := range strings.SplitSeq(pathExtensions(), ";") {
			candidates = append(candidates, path+strings.ToLower(ext))
		}
	}
	for _, candidate := range candidates {
		if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() {
			return candidate, true
		}
	}
	return "", false
}

func pathExtensions() string {
	if list := os.Getenv("PATHEXT"); list != "" {
		return list
	}
	return ".COM;.EXE;.BAT;.CMD"
}

// toolFolders are where the installers of the usual runtimes put programs.
func toolFolders(home string) []string {
	if !filepath.IsAbs(home) {
		return nil
	}
	var out []string
	for _, folder := range []string{
		`.local\bin`, `.cargo\bin`, `.bun\bin`, `.deno\bin`, `go\bin`, `AppData\Roaming\npm`, `AppData\Local\Volta\bin`,
		`AppData\Local\Programs\Python\Launcher`, `scoop\shims`,
	} {
		out = append(out, filepath.Join(home, folder))
	}
	return append(out, `C:\Program Files\nodejs`, `C:\ProgramData\chocolatey\bin`)
}

// loginShell: there is no such thing here; a service gets the PATH of its account.
func loginShell([]string) (string, []string) { return "", nil }

func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.CREATE_NO_WINDOW}
}
