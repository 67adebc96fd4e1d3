//go:build unix

package upstream

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	homeVariable   = "HOME"
	foldsVariables = false
)

// executable reports whether there is a program at path.
func executable(path string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || unix.Access(path, unix.X_OK) != nil {
		return "", false
	}
	return path, true
}

// toolFolders are where the installers of the usual runtimes put programs.
func toolFolders(home string) []string {
	var out []string
	if filepath.IsAbs(home) {
		for _, folder := range []string{
			".local/bin", "bin", ".cargo/bin", ".bun/bin", ".deno/bin", ".volta/bin", ".asdf/shims",
			".local/share/mise/shims", "go/bin", ".npm-global/bin", ".local/share/pnpm",
		} {
			out = append(out, filepath.Join(home, folder))
		}
		out = append(out, newest(filepath.Join(home, ".nvm/versions/node/*/bin"))...)
		out = append(out, newest(filepath.Join(home, ".local/share/fnm/node-versions/*/installation/bin"))...)
	}
	return append(out, "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/local/bin", "/usr/bin", "/bin", "/snap/bin")
}

// loginShell is the user's shell and how it is asked for its PATH; an empty path if there is none to be asked.
func loginShell(env []string) (string, []string) {
	shell := valueOf(env, "SHELL")
	if path, ok := executable(shell); ok && filepath.IsAbs(shell) {
		switch filepath.Base(path) {
		case "sh", "bash", "zsh", "dash", "ksh", "ash":
			return path, []string{"-l", "-c", `printf '%s' "` + loginMark + `${PATH}` + loginMark + `"`}
		case "fish":
			return path, []string{"-l", "-c", `printf '%s' "` + loginMark + `"(string join : $PATH)"` + loginMark + `"`}
		}
	}
	return "", nil
}

// isolate gives the shell a session of its own, so that it cannot reach for a terminal, and asks all of it to end when
// the time is up.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
