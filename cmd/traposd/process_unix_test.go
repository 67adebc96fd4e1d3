//go:build unix

package main

import "syscall"

func processExists(pid int) bool { return syscall.Kill(pid, 0) == nil }

func askToEnd(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }

func askToReload(pid int) error { return syscall.Kill(pid, syscall.SIGHUP) }
