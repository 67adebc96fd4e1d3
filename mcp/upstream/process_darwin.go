package upstream

import (
	"os/exec"
	"syscall"
)

// tree is a process group.
type tree struct {
	group int
	end   error
}

// start starts cmd as the leader of a new process group.
func (t *tree) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	t.group = cmd.Process.Pid
	return nil
}

// await returns when the child has ended and is reaped. The number of its group is not reused while the group has
// members; if it has none, the signals that follow at once find nobody.
func (t *tree) await(cmd *exec.Cmd) { t.end = cmd.Wait() }

func (t *tree) reap(*exec.Cmd) error { return t.end }

func (t *tree) terminate() { _ = syscall.Kill(-t.group, syscall.SIGTERM) }

func (t *tree) kill() { _ = syscall.Kill(-t.group, syscall.SIGKILL) }

// remains reports whether the group has members.
func (t *tree) remains(string) bool { return syscall.Kill(-t.group, 0) == nil }

// release has nothing to add here: what left the group cannot be known on this system.
func (t *tree) release(string) {}
