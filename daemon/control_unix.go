//go:build unix

package daemon

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// maxSocketPath is what sun_path holds on the narrowest system (macOS: 104 bytes with the final zero).
const maxSocketPath = 103

func socketPath(runtimeDir string) string { return filepath.Join(runtimeDir, "control.sock") }

// listenControl opens the control socket of runtimeDir and holds a lock beside it for as long as release is not called:
// the lock, not the socket's existence, says whether a service runs, since a killed one leaves its socket behind.
func listenControl(ctx context.Context, runtimeDir string) (listener net.Listener, release func(), err error) {
	path := socketPath(runtimeDir)
	if len(path) > maxSocketPath {
		return nil, nil, failf(ErrSettings, "the control socket's path is longer than the %d bytes that the system allows: %s; "+
			"choose a shorter folder by TRAPOS_RUNTIME_DIR", maxSocketPath, path)
	}
	if err := ownFolder(runtimeDir); err != nil {
		return nil, nil, err
	}
	lock, err := os.OpenFile(filepath.Join(runtimeDir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, failf(ErrSettings, "the lock of the runtime folder: %v", err)
	}
	release = func() { _ = lock.Close() } // which also unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		release()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, nil, failf(ErrAlreadyRunning, "traposd is running already in %s: see `traposd servers`, "+
				"or run a second one with other TRAPOS_RUNTIME_DIR and ports", runtimeDir)
		}
		return nil, nil, failf(ErrSettings, "the lock of the runtime folder: %v", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		release()
		return nil, nil, failf(ErrSettings, "the old control socket cannot be removed: %v", err)
	}
	listener, err = (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		release()
		return nil, nil, failf(ErrSettings, "the control socket: %v", err)
	}
	return listener, release, nil
}

func dialControl(ctx context.Context, runtimeDir string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", socketPath(runtimeDir))
}

func ownedPrivately(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid() && info.Mode().Perm()&0o022 == 0
}
