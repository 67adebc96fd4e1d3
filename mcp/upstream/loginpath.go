package upstream

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Limits on the question for the login shell's PATH. The shell is not killed when nobody waits any more: profiles that
// rebuild caches under a lock leave the lock behind when they are (pyenv does, and then every later shell of the user
// hangs for a minute).
const (
	loginWait  = 3 * time.Second
	loginLimit = 60 * time.Second
	loginGrace = 2 * time.Second // from SIGTERM to SIGKILL
)

// loginMark surrounds the PATH in what the shell prints, since profiles print as well.
const loginMark = "__trapos_path__"

// loginMarker ends the marker of the login shell and all that it starts, after that of the run.
const loginMarker = ".login"

// loginPath is the PATH of the user's login shell, asked for once. Safe for concurrent use.
type loginPath struct {
	marker string
	once   sync.Once
	work   sync.WaitGroup
	cancel context.CancelFunc // set by once
	done   chan struct{}
	value  []string // after done
}

func newLoginPath(marker string) *loginPath {
	return &loginPath{marker: marker, done: make(chan struct{}), cancel: func() {}}
}

// begin asks the shell in the background, the first time. The environment is the service's: an entry's variables are not
// for the user's profile.
func (l *loginPath) begin(environ func() []string) {
	l.once.Do(func() {
		var ctx context.Context
		ctx, l.cancel = context.WithTimeout(context.Background(), loginLimit)
		l.work.Go(func() {
			defer close(l.done)
			l.value = askLoginShell(ctx, append(environ(), markerVariable+"="+l.marker))
		})
	})
}

// folders is the answer if it comes within limit; else nil.
func (l *loginPath) folders(limit time.Duration) []string {
	if !isClosed(l.done) && (limit == 0 || !within(l.done, limit)) {
		return nil
	}
	return l.value
}

func (l *loginPath) close() {
	l.once.Do(func() {}) // so that cancel is set for good
	l.cancel()
	l.work.Wait()
}

// askLoginShell runs the user's login shell for its PATH; nil if that fails or takes too long.
func askLoginShell(ctx context.Context, env []string) []string {
	path, args := loginShell(env)
	if path == "" {
		return nil
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = env
	cmd.Dir = string(filepath.Separator)
	cmd.WaitDelay = loginGrace // a profile may also leave something behind that keeps the pipe
	isolate(cmd)
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		return nil
	}
	_, rest, found := strings.Cut(string(out), loginMark)
	text, _, closed := strings.Cut(rest, loginMark)
	if !found || !closed {
		return nil
	}
	return filepath.SplitList(text)
}
