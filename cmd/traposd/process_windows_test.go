package main

import "os"

func processExists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release()
	return true
}

// askToEnd kills: Windows has no signal that asks.
func askToEnd(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// askToReload does nothing: the watcher sees the edit all the same.
func askToReload(int) error { return nil }
