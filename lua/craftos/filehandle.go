package craftos

import (
	"bytes"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// maxOpenFiles is how many files one computer may have open.
const maxOpenFiles = 128

const closedFile = "attempt to use a closed file"

// fileHandle is what fs.open returns: a position in an open file.
type fileHandle struct {
	machine *machine
	disk    *disk
	file    file // nil once closed
	pos     int64
	append  bool
	binary  bool

	uncounted bool // not one of the machine's open files
}

// table makes the Lua table of the handle's functions.
func (h *fileHandle) table(readable, writable bool) *lua.LTable {
	t := newTable()
	funcs := map[string]lua.LGFunction{"close": h.close, "seek": h.seek}
	if readable {
		funcs["read"], funcs["readLine"], funcs["readAll"] = h.read, h.readLine, h.readAll
	}
	if writable {
		funcs["write"], funcs["writeLine"] = h.write, h.writeLine
		funcs["flush"] = func(l *lua.LState) int { h.check(l); return 0 }
	}
	h.machine.setFuncs(t, funcs)
	return t
}

func (h *fileHandle) check(l *lua.LState) {
	if h.file == nil {
		throw(l, closedFile)
	}
}

func (h *fileHandle) close(l *lua.LState) int {
	h.check(l)
	err := h.file.Close()
	h.file = nil
	if !h.uncounted {
		h.machine.openFiles--
	}
	if err != nil {
		throw(l, hostReason(err).Error())
	}
	return 0
}

func (h *fileHandle) take(l *lua.LState, n int64) []byte {
	size, err := h.disk.sizeOf(h.file)
	if err != nil {
		throw(l, hostReason(err).Error())
	}
	n = min(n, size-h.pos)
	if n <= 0 {
		return nil
	}
	p := make([]byte, n)
	got, err := h.disk.readAt(h.file, p, h.pos)
	if err != nil {
		throw(l, err.Error())
	}
	h.pos += int64(got)
	return p[:got]
}

// read reads one character, or a byte as a number in binary mode, or the given count of bytes.
func (h *fileHandle) read(l *lua.LState) int {
	h.check(l)
	if l.Get(1) == lua.LNil {
		p := h.take(l, 1)
		switch {
		case len(p) == 0:
			l.Push(lua.LNil)
		case h.binary:
			l.Push(lua.LNumber(p[0]))
		default:
			l.Push(lua.LString(p))
		}
		return 1
	}
	count := checkInt(l, 1)
	if count < 0 {
		throw(l, "Cannot read a negative number of bytes")
	}
	p := h.take(l, int64(count))
	if len(p) == 0 && (count > 0 || h.take(l, 1) == nil) {
		l.Push(lua.LNil)
	} else {
		l.Push(lua.LString(p))
	}
	return 1
}

func (h *fileHandle) readAll(l *lua.LState) int {
	h.check(l)
	l.Push(lua.LString(h.take(l, math.MaxInt64)))
	return 1
}

const lineBlock = 256

func (h *fileHandle) readLine(l *lua.LState) int {
	h.check(l)
	var line []byte
	for {
		start := h.pos
		p := h.take(l, lineBlock)
		if len(p) == 0 {
			if len(line) == 0 {
				l.Push(lua.LNil)
				return 1
			}
			break
		}
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			line = append(line, p...)
			continue
		}
		line = append(line, p[:end]...)
		h.pos = start + int64(end) + 1
		if lua.LVAsBool(l.Get(1)) {
			line = append(line, '\n')
		} else {
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
		break
	}
	l.Push(lua.LString(line))
	return 1
}

func (h *fileHandle) write(l *lua.LState) int {
	h.check(l)
	if n, ok := l.Get(1).(lua.LNumber); ok && h.binary {
		h.put(l, []byte{byte(toInt(float64(n)))})
		return 0
	}
	h.put(l, []byte(checkString(l, 1)))
	return 0
}

func (h *fileHandle) writeLine(l *lua.LState) int {
	h.check(l)
	h.put(l, []byte(checkString(l, 1)+"\n"))
	return 0
}

func (h *fileHandle) put(l *lua.LState, p []byte) {
	if h.append {
		size, err := h.disk.sizeOf(h.file)
		if err != nil {
			throw(l, hostReason(err).Error())
		}
		h.pos = size
	}
	if err := h.disk.writeAt(h.file, p, h.pos); err != nil {
		throw(l, err.Error())
	}
	h.pos += int64(len(p))
}

// seek is handle.seek([whence [, offset]]).
func (h *fileHandle) seek(l *lua.LState) int {
	h.check(l)
	offset := int64(optInt(l, 2, 0))
	switch whence := optString(l, 1, "cur"); whence {
	case "set":
	case "cur":
		offset += h.pos
	case "end":
		size, err := h.disk.sizeOf(h.file)
		if err != nil {
			throw(l, hostReason(err).Error())
		}
		offset += size
	default:
		throw(l, "bad argument #1 to 'seek' (invalid option '"+whence+"'")
	}
	if offset < 0 {
		return pushFailure(l, "Position is negative")
	}
	h.pos = offset
	l.Push(lua.LNumber(offset))
	return 1
}

// keep remembers an open handle until the machine ends, when the host's files have to be closed.
func (m *machine) keep(h *fileHandle) {
	m.openFiles++
	if len(m.files) >= 2*maxOpenFiles {
		open := m.files[:0]
		for _, f := range m.files {
			if f.file != nil {
				open = append(open, f)
			}
		}
		m.files = open
	}
	m.files = append(m.files, h)
}

// closeFiles closes what the programs left open.
func (m *machine) closeFiles() {
	for _, h := range m.files {
		if h.file != nil {
			_ = h.file.Close()
			h.file = nil
		}
	}
	m.files, m.openFiles = nil, 0
}
