package upstream

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"time"
)

// markerVariable is in the environment of every child, with a value that no other start has. By it the descendants of a
// server are known even after they left its process group.
const markerVariable = "TRAPOSD_SERVER_RUN"

// Pauses between two looks at what is left of a process tree that was told to end, doubled each time: a look reads all of
// /proc, and many trees may end at once.
const (
	sweepMin = 10 * time.Millisecond
	sweepMax = 160 * time.Millisecond
)

// What a process is given when the whole service ends, if its own times are not shorter: service managers wait for so
// long and then kill everything (the service promises 10 s), and the machine may be busy with shutting down.
const (
	closingStdin     = 4 * time.Second // from the closing of its stdin to SIGTERM
	closingTerminate = 2 * time.Second // from SIGTERM to SIGKILL
)

// killLimit is how long we wait for a process after SIGKILL. Only one that is stuck in the kernel takes longer; it is
// left to the kernel then.
const killLimit = 2 * time.Second

// command is what to start.
type command struct {
	path string
	args []string // without the program's name
	env  []string
	dir  string

	marker string // value of markerVariable
}

// process is one child with all its descendants. One goroutine owns it from before its start until nothing is left of
// it, since Linux sends the parent-death signal when the *thread* that forked ends (prctl(2), PR_SET_PDEATHSIG).
type process struct {
	cmd     *exec.Cmd
	times   Times
	closing <-chan struct{} // closed when the whole service ends
	tree    tree
	marker  string

	in  *os.File // our end of its stdin
	out *os.File // … stdout
	err *os.File // … stderr

	stopping atomic.Bool
	stopAt   atomic.Int64  // when SIGKILL is due, in Unix nanoseconds; 0: stop has not asked for anything yet
	exited   chan struct{} // closed when the child itself has ended
	gone     chan struct{} // closed when nothing is left
	how      string        // after gone or ended: how it ended
	ended    chan struct{} // closed when how is known
}

// startProcess starts a command in a process tree of its own. The error is that of the start, as os/exec gives it.
func startProcess(c command, times Times, closing <-chan struct{}) (*process, error) {
	p := &process{
		times: times, closing: closing, marker: c.marker,
		exited: make(chan struct{}), ended: make(chan struct{}), gone: make(chan struct{}),
	}
	p.cmd = &exec.Cmd{
		Path: c.path, Args: append([]string{c.path}, c.args...), Dir: c.dir,
		Env: append(c.env[:len(c.env):len(c.env)], markerVariable+"="+p.marker),
	}
	theirs, err := p.pipes()
	if err != nil {
		return nil, err
	}
	started := make(chan error, 1)
	go p.keep(started)
	err = <-started
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		<-p.gone
		p.closePipes()
		return nil, err
	}
	return p, nil
}

// pipes connects the three streams by pipes whose ends are files, so that os/exec starts no copying goroutine and a
// grandchild that keeps an end open holds nothing up. It returns the child's ends.
func (p *process) pipes() ([]*os.File, error) {
	var files []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			for _, f := range files {
				_ = f.Close()
			}
			return nil, fmt.Errorf("making a pipe: %w", err)
		}
		files = append(files, r, w)
	}
	p.cmd.Stdin, p.in = files[0], files[1]
	p.out, p.cmd.Stdout = files[2], files[3]
	p.err, p.cmd.Stderr = files[4], files[5]
	return []*os.File{files[0], files[3], files[5]}, nil
}

func (p *process) closePipes() {
	_ = p.in.Close()
	_ = p.out.Close()
	_ = p.err.Close()
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// keep starts the child, waits for its end and then for that of its descendants.
func (p *process) keep(started chan<- error) {
	defer close(p.gone)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.tree.start(p.cmd); err != nil {
		started <- err
		return
	}
	started <- nil
	p.tree.await(p.cmd)
	close(p.exited)
	if !p.stopping.Load() {
		p.tree.kill()
	} else {
		p.sweep()
	}
	p.how = endOf(p.tree.reap(p.cmd))
	close(p.ended)
	p.tree.release(p.marker)
}

// sweep waits until the descendants of a child that has ended have ended as well, and kills them when their time is up.
func (p *process) sweep() {
	if !p.tree.remains(p.marker) {
		return
	}
	p.terminate()
	hasty := false
	pause := sweepMin
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for p.tree.remains(p.marker) {
		now := <-timer.C
		if !hasty && isClosed(p.closing) {
			hasty = true
			p.stopAt.Store(min(p.stopAt.Load(), now.Add(closingTerminate).UnixNano()))
		}
		if now.UnixNano() > p.stopAt.Load() {
			p.tree.kill()
			return
		}
		pause = min(2*pause, sweepMax)
		timer.Reset(pause)
	}
}

// terminate asks all to end, and sets the time for SIGKILL if nobody has yet.
func (p *process) terminate() {
	grace := p.times.Terminate
	if isClosed(p.closing) {
		grace = min(grace, closingTerminate)
	}
	p.stopAt.CompareAndSwap(0, time.Now().Add(grace).UnixNano())
	p.tree.terminate()
}

// stop ends the child and its descendants: it closes stdin, after times.StdinClose sends SIGTERM to the group, after
// times.Terminate SIGKILL, and returns when all are gone. Without politeness SIGTERM comes at once. When the whole
// service ends, also while it is at it, closingStdin and closingTerminate bound those times.
func (p *process) stop(polite bool) {
	p.stopping.Store(true)
	_ = p.in.Close()
	if !polite || !p.awaits(p.exited, p.times.StdinClose, closingStdin) {
		p.terminate()
		if !p.awaits(p.exited, p.times.Terminate, closingTerminate) {
			p.tree.kill()
		}
	}
	p.awaits(p.gone, p.times.Terminate+killLimit, closingTerminate+killLimit)
}

// awaits waits for c, at most limit, and from when the service ends at most hasty.
func (p *process) awaits(c <-chan struct{}, limit, hasty time.Duration) bool {
	deadline := time.Now().Add(limit)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for closing := p.closing; ; {
		select {
		case <-c:
			return true
		case <-timer.C:
			return false
		case <-closing:
			closing = nil
			timer.Reset(min(hasty, time.Until(deadline)))
		}
	}
}

func within(c <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}
