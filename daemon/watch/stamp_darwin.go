package watch

import (
	"io/fs"
	"syscall"
)

func stampOf(info fs.FileInfo) stamp {
	s := portableStamp(info)
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.dev, s.ino = uint64(uint32(sys.Dev)), sys.Ino
		s.changed = sys.Ctimespec.Nano()
		s.access.uid, s.access.gid = sys.Uid, sys.Gid
	}
	return s
}
