//go:build linux || darwin

package bench

import (
	"fmt"
	"syscall"
)

// raiseDescriptors makes sure that the process may have so many files and sockets open. Go has raised the soft limit to the
// hard one already; the superuser may raise that too.
func raiseDescriptors(n int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	if limit.Cur >= uint64(n) {
		return nil
	}
	raised := syscall.Rlimit{Cur: uint64(n), Max: max(limit.Max, uint64(n))}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised); err != nil {
		return fmt.Errorf("%d open files are needed and %d allowed: raise the limit (ulimit -n %d), or take fewer --computers", n, limit.Cur, n)
	}
	return nil
}
