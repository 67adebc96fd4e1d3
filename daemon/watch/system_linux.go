package watch

import (
	"errors"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// adviceFor says what to do about a failure of file events: the sysctl to raise, or "" if there is none.
func adviceFor(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "fs.inotify.max_user_watches"
	case errors.Is(err, syscall.EMFILE):
		return "fs.inotify.max_user_instances (or the limit of open files)" // inotify_init(2) does not tell them apart
	case errors.Is(err, syscall.ENFILE):
		return "fs.file-max"
	case errors.Is(err, fsnotify.ErrEventOverflow):
		return "fs.inotify.max_queued_events"
	}
	return ""
}

// fold is the spelling under which paths are compared.
func fold(path string) string { return path }

// addAgain says whether a directory that is watched is added again with each look. The kernel drops inotify watches without a word (an unmount;
// a directory made anew with the inode number of the old one), and adding is idempotent: one system call.
const addAgain = true
