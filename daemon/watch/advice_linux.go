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
		return "fs.inotify.max_user_instances" // or the process's own limit of descriptors, which inotify does not tell apart
	case errors.Is(err, syscall.ENFILE):
		return "fs.file-max"
	case errors.Is(err, fsnotify.ErrEventOverflow):
		return "fs.inotify.max_queued_events"
	}
	return ""
}
