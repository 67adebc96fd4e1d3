package upstream

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// reapRun ends the groups whose first process is provably the same as then, and returns how many that were. A group whose
// first process is gone is left alone: its number may belong to somebody else.
func reapRun(old runs) int {
	count := 0
	for _, child := range old.Children {
		if child.PID > 1 && child.Start != 0 && startOf(child.PID) == child.Start {
			count++
			_ = syscall.Kill(-child.PID, syscall.SIGKILL)
		}
	}
	return count
}

// startOf tells when a process started, in microseconds of the epoch; 0 if it is gone.
func startOf(pid int) uint64 {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return 0
	}
	at := info.Proc.P_starttime
	return uint64(at.Sec)*1_000_000 + uint64(at.Usec)
}

// bootID is not needed here.
func bootID() string { return "" }
