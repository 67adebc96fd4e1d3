package upstream

import (
	"os"
	"syscall"
)

// rawPipe gives none: an anonymous pipe here makes its writer wait.
func rawPipe(*os.File) syscall.RawConn { return nil }

func writeSome(uintptr, []byte) int { return 0 }
