package daemon

import (
	"errors"
	"fmt"
)

// Exit codes of the command line, the same for every command.
const (
	ExitOK             = 0 // all well
	ExitProblems       = 1 // problems found, degraded, or the call failed
	ExitUsage          = 2 // usage or settings
	ExitNotRunning     = 3 // the service is not running
	ExitAddressInUse   = 4 // an address is in use
	ExitAlreadyRunning = 5 // the service is running already
)

// Which of the failures that have an exit code of their own it is. The errors that wrap them say with what.
var (
	ErrSettings       = errors.New("settings")
	ErrUsage          = errors.New("usage")
	ErrNotRunning     = errors.New("not running")
	ErrAddressInUse   = errors.New("address in use")
	ErrAlreadyRunning = errors.New("already running")
)

// failure is one sentence for a person that still is one of the sentinels above under errors.Is.
type failure struct {
	kind     error
	sentence string
}

func (f *failure) Error() string { return f.sentence }
func (f *failure) Unwrap() error { return f.kind }

func failf(kind error, format string, args ...any) error {
	return &failure{kind: kind, sentence: fmt.Sprintf(format, args...)}
}

// UsageError is a command line that is wrong in the way that err says; command is the one whose help tells more.
func UsageError(command string, err error) error {
	return failf(ErrUsage, "%v; see `%s --help`", err, command)
}

// ExitCode is the exit code that err leads to: ExitOK for nil, ExitProblems for whatever has no code of its own.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrSettings), errors.Is(err, ErrUsage):
		return ExitUsage
	case errors.Is(err, ErrNotRunning):
		return ExitNotRunning
	case errors.Is(err, ErrAddressInUse):
		return ExitAddressInUse
	case errors.Is(err, ErrAlreadyRunning):
		return ExitAlreadyRunning
	}
	return ExitProblems
}
