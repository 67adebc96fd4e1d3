package mcpconfig

import (
	"io/fs"
	"os"
)

// othersMayRead does not know: a mode says nothing here.
func othersMayRead(fs.FileInfo) bool { return false }

func openFile(path string) (*os.File, error) { return os.Open(path) }

// checkTrust accepts every file: who may write it is in access control lists here, which the installer sets on the
// service's own folders.
func checkTrust(string, fs.FileInfo) error { return nil }
