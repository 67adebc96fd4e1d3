package upstream

import (
	"os"
	"strings"
	"syscall"
	"time"
)

// Rounds of reapRun, 10 ms each: reapLimit in all, of which a login shell is given the first reapLogin to end by itself.
const (
	reapLimit = 300
	reapLogin = int(loginGrace / sweepMin)
)

// reapRun ends what is left of an earlier run: whatever carries its marker, and the group of a child that is provably the
// same process as then. It returns how many processes that were.
func reapRun(old runs) int {
	if old.Boot != bootID() {
		return 0
	}
	ended := map[int]bool{}
	for _, child := range old.Children {
		if q, ok := readProcess(child.PID); ok && child.PID > 1 && q.start == child.Start && q.group == child.PID {
			ended[child.PID] = true
			_ = syscall.Kill(-child.PID, syscall.SIGKILL)
		}
	}
	for _, q := range descendants(0, old.Run+loginMarker) {
		_ = syscall.Kill(q.pid, syscall.SIGTERM)
	}
	for round := range reapLimit {
		left := descendants(0, old.Run+".")
		for _, q := range left {
			if round < reapLogin && carriesMarker(q.pid, []string{old.Run + loginMarker}) {
				continue
			}
			ended[q.pid] = true
			_ = syscall.Kill(q.pid, syscall.SIGKILL)
		}
		if len(left) == 0 {
			break
		}
		time.Sleep(sweepMin)
	}
	return len(ended)
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
