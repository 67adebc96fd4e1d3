package upstream

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// tree is a process group and whoever left it but still carries its marker.
type tree struct {
	group int
}

// start starts cmd as the leader of a new process group that dies with the calling thread.
func (t *tree) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	t.group = cmd.Process.Pid
	return nil
}

// await returns when the child has ended. It stays a zombie until reap, which keeps the number of its group from being
// reused meanwhile.
func (t *tree) await(*exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, t.group, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

func (t *tree) reap(cmd *exec.Cmd) error { return cmd.Wait() }

func (t *tree) terminate() { _ = syscall.Kill(-t.group, syscall.SIGTERM) }

func (t *tree) kill() { _ = syscall.Kill(-t.group, syscall.SIGKILL) }

// remains reports whether a descendant lives. One that has left the group is told to end as well.
func (t *tree) remains(marker string) bool {
	found := false
	for _, q := range descendants(t.group, marker) {
		found = true
		if q.group != t.group {
			_ = syscall.Kill(q.pid, syscall.SIGTERM)
		}
	}
	return found
}

// release ends what is still there after the child was reaped: only what carries the marker, since from here on the
// group's number may belong to somebody else.
func (t *tree) release(marker string) {
	for range 5 { // one that forks while we look is found by the next look
		left := descendants(0, marker)
		for _, q := range left {
			_ = syscall.Kill(q.pid, syscall.SIGKILL)
		}
		if len(left) == 0 {
			return
		}
	}
}

// descendant is a living process as /proc shows it.
type descendant struct {
	pid, group int
	start      uint64 // clock ticks after boot
}

// descendants lists the living processes of a group (0: none) and those whose environment holds one of the markers.
func descendants(group int, markers ...string) []descendant {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	own := os.Getpid()
	var out []descendant
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == own {
			continue
		}
		q, ok := readProcess(pid)
		if ok && (group > 0 && q.group == group || carriesMarker(pid, markers)) {
			out = append(out, q)
		}
	}
	return out
}

func carriesMarker(pid int, markers []string) bool {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false // gone, or somebody else's
	}
	for _, marker := range markers {
		if bytes.Contains(environ, []byte(markerVariable+"="+marker)) {
			return true
		}
	}
	return false
}

// readProcess reads /proc/PID/stat (proc_pid_stat(5)); false if there is no such living process.
func readProcess(pid int) (descendant, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return descendant{}, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name before may hold spaces and brackets
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return descendant{}, false
	}
	q := descendant{pid: pid}
	q.group, _ = strconv.Atoi(string(fields[2]))
	q.start, _ = strconv.ParseUint(string(fields[19]), 10, 64)
	return q, true
}
