package mcpconfig

import (
	"io/fs"
	"os"
)

func openFile(path string) (*os.File, error) { return os.Open(path) }

// checkTrust accepts every file: who may write it is in access control lists here, which the installer sets on the
// service's own folders.
func checkTrust(string, fs.FileInfo) error { return nil }
