package craftos

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// openFS installs the fs API.
func (m *machine) openFS() {
	d := m.computer.disk
	lib := newTable()
	m.setFuncs(lib, map[string]lua.LGFunction{
		"open": m.fsOpen, "list": d.luaList, "attributes": d.luaAttributes, "find": d.luaFind,
		"exists": func(l *lua.LState) int {
			_, err := d.stat(pathArgument(l, 1))
			l.Push(lua.LBool(err == nil))
			return 1
		},
		"isDir": func(l *lua.LState) int {
			info, err := d.stat(pathArgument(l, 1))
			l.Push(lua.LBool(err == nil && info.dir))
			return 1
		},
		"isReadOnly": func(l *lua.LState) int {
			l.Push(lua.LBool(d.readOnly(pathArgument(l, 1))))
			return 1
		},
		"isDriveRoot": func(l *lua.LState) int {
			path := pathArgument(l, 1)
			l.Push(lua.LBool(path == "" || path == romDir))
			return 1
		},
		"getName":     func(l *lua.LState) int { l.Push(lua.LString(getName(pathArgument(l, 1)))); return 1 },
		"getDir":      func(l *lua.LState) int { l.Push(lua.LString(getDir(pathArgument(l, 1)))); return 1 },
		"combine":     fsCombine,
		"getSize":     d.luaSize,
		"getDrive":    d.luaDrive,
		"getCapacity": d.luaCapacity,
		"getFreeSpace": func(l *lua.LState) int {
			if d.readOnly(pathArgument(l, 1)) {
				l.Push(lua.LNumber(0))
			} else {
				l.Push(lua.LNumber(d.free()))
			}
			return 1
		},
		"makeDir": func(l *lua.LState) int { return orThrow(l, d.makeDir(pathArgument(l, 1))) },
		"delete":  func(l *lua.LState) int { return orThrow(l, d.remove(pathArgument(l, 1))) },
		"move":    func(l *lua.LState) int { return orThrow(l, d.move(pathArgument(l, 1), pathArgument(l, 2))) },
		"copy":    func(l *lua.LState) int { return orThrow(l, d.copy(pathArgument(l, 1), pathArgument(l, 2))) },
	})
	m.root.SetGlobal("fs", lib)
}

func pathArgument(l *lua.LState, n int) string { return cleanPath(checkString(l, n)) }

func orThrow(l *lua.LState, err error) int {
	if err != nil {
		throw(l, err.Error())
	}
	return 0
}

func getName(path string) string {
	if path == "" {
		return "root"
	}
	return baseName(path)
}

func getDir(path string) string {
	if path == "" {
		return ".."
	}
	return parentPath(path)
}

func fsCombine(l *lua.LState) int {
	parts := make([]string, 0, l.GetTop())
	checkString(l, 1)
	for i := 1; i <= l.GetTop(); i++ {
		if part := checkString(l, i); part != "" {
			parts = append(parts, part)
		}
	}
	l.Push(lua.LString(clean(strings.Join(parts, "/"), true)))
	return 1
}

func (m *machine) fsOpen(l *lua.LState) int {
	path, mode := pathArgument(l, 1), checkString(l, 2)
	base := strings.TrimSuffix(mode, "b")
	h := &fileHandle{machine: m, disk: m.computer.disk, binary: base != mode, append: base == "a"}
	var open func() (file, error)
	readable, writable := false, true
	switch base {
	case "r":
		readable, writable = true, false
		open = func() (file, error) { return h.disk.openRead(path) }
	case "w":
		open = func() (file, error) { return h.disk.openWrite(path, true, true) }
	case "a":
		open = func() (file, error) { return h.disk.openWrite(path, true, false) }
	case "r+":
		readable = true
		open = func() (file, error) { return h.disk.openUpdate(path) }
	case "w+":
		readable = true
		open = func() (file, error) { return h.disk.openWrite(path, true, true) }
	default:
		throw(l, "Unsupported mode")
	}
	if m.openFiles >= maxOpenFiles {
		return pushFailure(l, "Too many files already open")
	}
	f, err := open()
	if err != nil {
		return pushFailure(l, err.Error())
	}
	h.file = f
	m.keep(h)
	l.Push(h.table(readable, writable))
	return 1
}

func (d *disk) luaList(l *lua.LState) int {
	names, err := d.list(pathArgument(l, 1))
	orThrow(l, err)
	l.Push(stringList(l, names))
	return 1
}

func stringList(l *lua.LState, items []string) *lua.LTable {
	t := l.CreateTable(len(items), 0)
	for i, item := range items {
		t.RawSetInt(i+1, lua.LString(item))
	}
	return t
}

func (d *disk) luaSize(l *lua.LState) int {
	info, err := d.stat(pathArgument(l, 1))
	orThrow(l, err)
	l.Push(lua.LNumber(info.size))
	return 1
}

func (d *disk) luaDrive(l *lua.LState) int {
	path := pathArgument(l, 1)
	_, err := d.stat(path)
	switch {
	case err != nil:
		l.Push(lua.LNil)
	case d.readOnly(path):
		l.Push(lua.LString("rom"))
	default:
		l.Push(lua.LString("hdd"))
	}
	return 1
}

func (d *disk) luaCapacity(l *lua.LState) int {
	if d.readOnly(pathArgument(l, 1)) {
		l.Push(lua.LNil)
	} else {
		l.Push(lua.LNumber(d.capacity))
	}
	return 1
}

func (d *disk) luaAttributes(l *lua.LState) int {
	path := pathArgument(l, 1)
	info, err := d.stat(path)
	orThrow(l, err)
	t := newTable()
	t.RawSetString("size", lua.LNumber(info.size))
	t.RawSetString("isDir", lua.LBool(info.dir))
	t.RawSetString("isReadOnly", lua.LBool(d.readOnly(path)))
	modified := max(info.modified.UnixMilli(), 0)
	for _, name := range []string{"created", "modified", "modification"} {
		t.RawSetString(name, lua.LNumber(modified))
	}
	l.Push(t)
	return 1
}

// luaFind is fs.find: paths that match a pattern with * and ? within their parts.
func (d *disk) luaFind(l *lua.LState) int {
	pattern := clean(checkString(l, 1), true)
	var found []string
	if !strings.ContainsAny(pattern, "*?") {
		if _, err := d.stat(pattern); err == nil {
			found = append(found, pattern)
		}
	} else {
		found = d.glob("", strings.Split(pattern, "/"), found)
	}
	l.Push(stringList(l, found))
	return 1
}

func (d *disk) glob(dir string, parts, found []string) []string {
	names, err := d.list(dir)
	if err != nil {
		return found
	}
	for _, name := range names {
		if !wildcard(name, parts[0]) {
			continue
		}
		path := joinPath(dir, name)
		if len(parts) == 1 {
			found = append(found, path)
		} else {
			found = d.glob(path, parts[1:], found)
		}
	}
	return found
}

// wildcard matches a name against a pattern in which * stands for any text and ? for any character.
func wildcard(name, pattern string) bool {
	star, resume := -1, 0
	n, p := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			n++
			p++
		case star >= 0:
			resume++
			n, p = resume, star+1
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
