//go:build !linux && !darwin

package watch

import "io/fs"

func stampOf(info fs.FileInfo) stamp { return portableStamp(info) }
