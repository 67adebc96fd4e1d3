package craftos

import (
	"fmt"
	"math/bits"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// openTerm installs the natives of the term API: those of the computer's own screen. Redirection is the rom's.
func (m *machine) openTerm() {
	t := m.computer.screen
	lib := newTable()
	funcs := map[string]lua.LGFunction{
		"write": func(l *lua.LState) int {
			t.write(termText(l, 1))
			return 0
		},
		"blit":      t.luaBlit,
		"clear":     func(*lua.LState) int { t.clear(true); return 0 },
		"clearLine": func(*lua.LState) int { t.clear(false); return 0 },
		"getCursorPos": func(l *lua.LState) int {
			t.mu.Lock()
			x, y := t.state.CursorX, t.state.CursorY
			t.mu.Unlock()
			l.Push(lua.LNumber(x + 1))
			l.Push(lua.LNumber(y + 1))
			return 2
		},
		"setCursorPos": func(l *lua.LState) int {
			t.setCursor(toInt(checkNumber(l, 1))-1, toInt(checkNumber(l, 2))-1)
			return 0
		},
		"getSize": func(l *lua.LState) int {
			l.Push(lua.LNumber(t.state.Width))
			l.Push(lua.LNumber(t.state.Height))
			return 2
		},
		"scroll": func(l *lua.LState) int { t.scroll(checkInt(l, 1)); return 0 },
		"getCursorBlink": func(l *lua.LState) int {
			t.mu.Lock()
			defer t.mu.Unlock()
			l.Push(lua.LBool(t.state.CursorBlink))
			return 1
		},
		"setCursorBlink": func(l *lua.LState) int {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.state.CursorBlink = lua.LVAsBool(l.Get(1))
			return 0
		},
	}
	yes := func(l *lua.LState) int { l.Push(lua.LTrue); return 1 }
	for british, fn := range map[string]lua.LGFunction{
		"getTextColour": t.getColour(&t.fg), "setTextColour": t.setColour(&t.fg), "isColour": yes,
		"getBackgroundColour": t.getColour(&t.bg), "setBackgroundColour": t.setColour(&t.bg),
		"getPaletteColour": t.getPalette, "setPaletteColour": t.setPalette, "nativePaletteColour": nativePalette,
	} {
		funcs[british] = fn
		funcs[strings.Replace(british, "our", "or", 1)] = fn // each has its American twin
	}
	m.setFuncs(lib, funcs)
	m.root.SetGlobal("term", lib)
}

func (t *terminal) luaBlit(l *lua.LState) int {
	text, fg, bg := checkString(l, 1), checkString(l, 2), checkString(l, 3)
	if len(fg) != len(text) || len(bg) != len(text) {
		throw(l, "Arguments must be the same length")
	}
	t.blit(text, fg, bg)
	return 0
}

// termText is write's argument, of which every kind is accepted.
func termText(l *lua.LState, n int) string {
	if l.Get(n) == lua.LNil && l.GetTop() < n {
		badArgument(l, n, "string", lua.LNil)
	}
	return toText(l, l.Get(n))
}

func checkColour(l *lua.LState, n int) uint8 {
	c := checkInt(l, n)
	if c <= 0 {
		throw(l, "Colour out of range")
	}
	index := bits.Len(uint(c)) - 1
	if index > colourBlack {
		throw(l, "Colour out of range")
	}
	return uint8(index)
}

func (t *terminal) getColour(colour *uint8) lua.LGFunction {
	return func(l *lua.LState) int {
		t.mu.Lock()
		defer t.mu.Unlock()
		l.Push(lua.LNumber(int(1) << *colour))
		return 1
	}
}

func (t *terminal) setColour(colour *uint8) lua.LGFunction {
	return func(l *lua.LState) int {
		value := checkColour(l, 1)
		t.mu.Lock()
		*colour = value
		t.mu.Unlock()
		return 0
	}
}

func pushRGB(l *lua.LState, rgb uint32) int {
	for shift := 16; shift >= 0; shift -= 8 {
		l.Push(lua.LNumber(float64(rgb>>uint(shift)&0xff) / 255))
	}
	return 3
}

func nativePalette(l *lua.LState) int { return pushRGB(l, defaultPalette[checkColour(l, 1)]) }

func (t *terminal) getPalette(l *lua.LState) int {
	index := checkColour(l, 1)
	t.mu.Lock()
	rgb := t.state.Palette[index]
	t.mu.Unlock()
	return pushRGB(l, rgb)
}

// setPalette takes 0xRRGGBB, or three numbers from 0 to 1.
func (t *terminal) setPalette(l *lua.LState) int {
	index := checkColour(l, 1)
	var rgb uint32
	if l.GetTop() == 2 {
		rgb = checkUint32(l, 2) & 0xffffff
	} else {
		for n := 2; n <= 4; n++ {
			f := checkFinite(l, n)
			if f < 0 || f > 1 {
				throw(l, fmt.Sprintf("bad argument #%d (value out of range)", n))
			}
			rgb = rgb<<8 | uint32(f*255)
		}
	}
	t.mu.Lock()
	t.state.Palette[index] = rgb
	t.touch()
	t.mu.Unlock()
	return 0
}
