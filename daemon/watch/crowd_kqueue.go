//go:build darwin || freebsd || openbsd || netbsd || dragonfly

package watch

import "os"

// maxEntries is how many entries a directory may have to be watched: kqueue holds a descriptor for each of them.
const maxEntries = 512

// crowded says whether events on dir would cost more descriptors than they are worth; the poll sees to it then.
func crowded(dir string) bool {
	d, err := os.Open(dir)
	if err != nil {
		return false // the attempt to watch it says why
	}
	defer func() { _ = d.Close() }()
	names, _ := d.Readdirnames(maxEntries + 1)
	return len(names) > maxEntries
}
