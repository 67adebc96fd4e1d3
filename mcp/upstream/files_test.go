package upstream

import "os"

// fileText is a file's content; empty if there is none.
func fileText(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}
