package daemon

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isAddressInUse knows Winsock's number, which is not syscall.EADDRINUSE.
func isAddressInUse(err error) bool { return errors.Is(err, windows.WSAEADDRINUSE) }
