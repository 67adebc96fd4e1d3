//go:build unix

package daemon

import (
	"fmt"
	"os"
	"syscall"

	"go.uber.org/zap/zapcore"
)

// streamID is a file's device and inode in the form of JOURNAL_STREAM; empty if unknown.
func streamID(info os.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// systemLogCore is nil: what unix systems have is reached through stderr.
func systemLogCore(zapcore.LevelEnabler) zapcore.Core { return nil }
