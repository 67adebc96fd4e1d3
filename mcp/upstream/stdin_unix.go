//go:build unix

package upstream

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// rawPipe gives access to a pipe that can be written to without waiting; nil if this one cannot.
func rawPipe(file *os.File) syscall.RawConn {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil
	}
	waits := true
	err = raw.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		waits = err != nil || flags&unix.O_NONBLOCK == 0
	})
	if err != nil || waits {
		return nil
	}
	return raw
}

// writeSome writes as much as there is room for.
func writeSome(fd uintptr, data []byte) int {
	n, _ := unix.Write(int(fd), data)
	return max(0, n)
}
