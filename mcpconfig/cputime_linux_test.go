package mcpconfig

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// timed measures the processor time of f, which a busy machine does not lengthen.
func timed(t testing.TB, f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const thread = 1 // RUSAGE_THREAD, getrusage(2)
	var before, after syscall.Rusage
	if err := syscall.Getrusage(thread, &before); err != nil {
		t.Fatal(err)
	}
	f()
	if err := syscall.Getrusage(thread, &after); err != nil {
		t.Fatal(err)
	}
	return time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
}
