package badserver

import "os/exec"

// ownSession: there are none here; a job object holds all.
func ownSession(*exec.Cmd) {}
