package doctor

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// watching sees whether the kernel has room for watching files. Without it edits are noticed by polling, later.
func (e *examination) watching() {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
		_, err = unix.InotifyAddWatch(fd, "/", unix.IN_MODIFY)
	}
	var sysctl string
	switch {
	case err == nil:
		e.find(OK, "watching", "files can be watched", "")
		return
	case errors.Is(err, syscall.EMFILE):
		sysctl = "fs.inotify.max_user_instances"
	case errors.Is(err, syscall.ENOSPC):
		sysctl = "fs.inotify.max_user_watches"
	default:
		e.find(Warning, "watching", fmt.Sprintf("files cannot be watched: %v; edits are noticed within 3 s instead of at once", err), "")
		return
	}
	e.find(Problem, "watching", "this user's inotify limit is used up: edits are noticed within 3 s instead of at once",
		"raise "+sysctl+", as root: `sysctl -w "+sysctl+"=VALUE` with twice its present value, and put it into /etc/sysctl.d")
}
