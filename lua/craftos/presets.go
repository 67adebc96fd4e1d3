package craftos

import (
	lua "github.com/yuin/gopher-lua"
)

// presets are the settings that the options name, for the first boot: the rom sets and saves them over those that the
// disk has. Later boots leave alone what a program has changed since.
func (m *machine) presets() lua.LValue {
	c := m.computer
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.presetsDone || len(c.opts.Settings) == 0 {
		return lua.LNil
	}
	c.presetsDone = true
	return m.toLua(c.opts.Settings)
}

// natives are what the basic system is given besides the globals.
func (m *machine) natives() *lua.LTable {
	t := newTable()
	m.setFuncs(t, map[string]lua.LGFunction{
		"rom": func(l *lua.LState) int {
			fn, err := m.romFunction(checkString(l, 1))
			if err != nil {
				throw(l, err.Error())
			}
			l.Push(fn)
			return 1
		},
	})
	t.RawSetString("presets", m.presets())
	return t
}
