//go:build unix

package upstream

import "syscall"

// alive reports whether a process of that number is there, zombies included.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
