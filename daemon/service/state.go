package service

import "fmt"

// Active is what a service does at the moment.
type Active string

// The states of a service.
const (
	Running   Active = "running"
	Starting  Active = "starting"
	Reloading Active = "reloading"
	Stopping  Active = "stopping"
	Stopped   Active = "stopped"
	Failed    Active = "failed"
)

// State is how a service is, as the operating system sees it.
type State struct {
	Installed bool
	Enabled   bool // it is started at boot, or when its user's services are
	Active    Active
	PID       int    // of the main process; 0 if there is none
	ExitCode  int    // of the last process, if the service failed by one; else 0
	Reason    string // why it failed, in the service manager's word; may be empty
}

// Up tells whether a process of the service runs or is about to.
func (s State) Up() bool {
	return s.Active == Running || s.Active == Starting || s.Active == Reloading
}

// Outcome is what a change came to.
type Outcome struct {
	Wrote     []string // files that are new or have changed
	Unchanged []string // files that were as they should be
	Removed   []string // files and folders that are gone
	Kept      []string // what was left, and is not ours to remove without being told
	Notes     []string // what else was done
	Started   bool     // it runs now, by this change
}

// StartError is a service that did not come up.
type StartError struct {
	State State
	Hint  string // where to read why
}

func (e *StartError) Error() string {
	why := e.State.Reason
	if e.State.ExitCode != 0 {
		why = fmt.Sprintf("its process ended with code %d%s", e.State.ExitCode, meaning(e.State.ExitCode))
	}
	if why == "" {
		why = "it is " + string(e.State.Active)
	}
	return fmt.Sprintf("the service does not start: %s; see `%s`", why, e.Hint)
}

// meaning explains the exit codes of traposd and of systemd (systemd.exec(5), "Process Exit Codes").
func meaning(code int) string {
	switch code {
	case 2:
		return " (a setting is wrong)"
	case 4:
		return " (an address is in use)"
	case 5:
		return " (another traposd runs already)"
	case 203:
		return " (the program is not there or cannot be executed)"
	case 217:
		return " (its account does not exist)"
	case 243:
		return " (a secret's file cannot be read)"
	}
	return ""
}
