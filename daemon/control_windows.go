package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"strings"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

// pipeACL gives the pipe to its owner, to administrators and to the system, and to nobody else (SDDL).
const pipeACL = "D:P(A;;GA;;;OW)(A;;GA;;;BA)(A;;GA;;;SY)"

// pipeName is the runtime folder as a pipe's name: pipes have one flat name space, and a folder's path does not fit it.
func pipeName(runtimeDir string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(runtimeDir)))
	return `\\.\pipe\traposd-` + hex.EncodeToString(sum[:8])
}

// listenControl opens the named pipe of runtimeDir. The first instance of a pipe is exclusive, so the pipe is the lock too.
func listenControl(_ context.Context, runtimeDir string) (listener net.Listener, release func(), err error) {
	if err := ownFolder(runtimeDir); err != nil {
		return nil, nil, err
	}
	listener, err = winio.ListenPipe(pipeName(runtimeDir), &winio.PipeConfig{SecurityDescriptor: pipeACL})
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		return nil, nil, failf(ErrAlreadyRunning, "traposd is running already in %s: see `traposd servers`, "+
			"or run a second one with other TRAPOS_RUNTIME_DIR and ports", runtimeDir)
	}
	if err != nil {
		return nil, nil, failf(ErrSettings, "the control pipe: %v", err)
	}
	return listener, func() {}, nil
}

func dialControl(ctx context.Context, runtimeDir string) (net.Conn, error) {
	return winio.DialPipeContext(ctx, pipeName(runtimeDir))
}

// ownedPrivately is always true: a folder below the user's LocalAppData is the user's by its inherited ACL, and the pipe
// has one of its own.
func ownedPrivately(os.FileInfo) bool { return true }
