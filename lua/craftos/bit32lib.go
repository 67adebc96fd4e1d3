package craftos

import (
	"math"
	"math/bits"

	lua "github.com/yuin/gopher-lua"
)

// openBit32 installs Lua 5.2's bit32.
func (m *machine) openBit32() {
	lib := newTable()
	fold := func(start uint32, f func(a, b uint32) uint32) lua.LGFunction {
		return func(l *lua.LState) int {
			result := start
			for i := 1; i <= l.GetTop(); i++ {
				result = f(result, checkUint32(l, i))
			}
			l.Push(lua.LNumber(result))
			return 1
		}
	}
	and := func(a, b uint32) uint32 { return a & b }
	m.setFuncs(lib, map[string]lua.LGFunction{
		"band": fold(math.MaxUint32, and),
		"bor":  fold(0, func(a, b uint32) uint32 { return a | b }),
		"bxor": fold(0, func(a, b uint32) uint32 { return a ^ b }),
		"bnot": func(l *lua.LState) int { l.Push(lua.LNumber(^checkUint32(l, 1))); return 1 },
		"btest": func(l *lua.LState) int {
			result := uint32(math.MaxUint32)
			for i := 1; i <= l.GetTop(); i++ {
				result &= checkUint32(l, i)
			}
			l.Push(lua.LBool(result != 0))
			return 1
		},
		"lshift":  func(l *lua.LState) int { return pushShift(l, checkInt(l, 2)) },
		"rshift":  func(l *lua.LState) int { return pushShift(l, -checkInt(l, 2)) },
		"arshift": bitArithmeticShift,
		"lrotate": func(l *lua.LState) int {
			l.Push(lua.LNumber(bits.RotateLeft32(checkUint32(l, 1), checkInt(l, 2)%32)))
			return 1
		},
		"rrotate": func(l *lua.LState) int {
			l.Push(lua.LNumber(bits.RotateLeft32(checkUint32(l, 1), -(checkInt(l, 2) % 32))))
			return 1
		},
		"extract": func(l *lua.LState) int {
			shift, mask := bitField(l, 2)
			l.Push(lua.LNumber(checkUint32(l, 1) >> shift & mask))
			return 1
		},
		"replace": func(l *lua.LState) int {
			shift, mask := bitField(l, 3)
			n, v := checkUint32(l, 1), checkUint32(l, 2)
			l.Push(lua.LNumber(n&^(mask<<shift) | (v&mask)<<shift))
			return 1
		},
	})
	m.root.SetGlobal("bit32", lib)
}

// checkUint32 takes a number modulo 2^32, as bit32 does.
func checkUint32(l *lua.LState, n int) uint32 {
	f := math.Floor(checkNumber(l, n))
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	f = math.Mod(f, 1<<32)
	if f < 0 {
		f += 1 << 32
	}
	return uint32(f)
}

func pushShift(l *lua.LState, left int) int {
	x := checkUint32(l, 1)
	switch {
	case left <= -32 || left >= 32:
		x = 0
	case left >= 0:
		x <<= uint(left)
	default:
		x >>= uint(-left)
	}
	l.Push(lua.LNumber(x))
	return 1
}

func bitArithmeticShift(l *lua.LState) int {
	x, by := checkUint32(l, 1), checkInt(l, 2)
	if by < 0 {
		return pushShift(l, -by)
	}
	l.Push(lua.LNumber(uint32(int32(x) >> uint(min(by, 31)))))
	return 1
}

func bitField(l *lua.LState, n int) (shift, mask uint32) {
	field, width := checkInt(l, n), optInt(l, n+1, 1)
	if field < 0 || width < 1 || field+width > 32 {
		throw(l, "trying to access non-existent bits")
	}
	return uint32(field), uint32(1<<uint(width) - 1)
}
