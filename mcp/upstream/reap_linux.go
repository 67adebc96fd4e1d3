package upstream

import (
	"os"
	"strings"
	"syscall"
	"time"
)

// reapLimit bounds the rounds of reapRun, 10 ms each.
const reapLimit = 200

// reapRun ends what is left of an earlier run: whatever carries its marker, and the group of a child that is provably the
// same process as then. It returns how many processes that were.
func reapRun(old runs) int {
	if old.Boot != bootID() {
		return 0
	}
	count := 0
	for _, child := range old.Children {
		if q, ok := readProcess(child.PID); ok && child.PID > 1 && q.start == child.Start && q.group == child.PID {
			count++
			_ = syscall.Kill(-child.PID, syscall.SIGKILL)
		}
	}
	for range reapLimit {
		left := descendants(0, old.Run+".")
		for _, q := range left {
			count++
			_ = syscall.Kill(q.pid, syscall.SIGKILL)
		}
		if len(left) == 0 {
			break
		}
		time.Sleep(sweepInterval)
	}
	return count
}

// startOf tells when a process started, in clock ticks after boot; 0 if it is gone.
func startOf(pid int) uint64 {
	q, _ := readProcess(pid)
	return q.start
}

// bootID is another one after every boot (random(4)).
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
