package craftos

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// gameError is a failure in the words of the game, which programs compare and people know.
type gameError string

func (e gameError) Error() string { return string(e) }

// badArgument throws the error that CC:Tweaked's own functions throw for a wrong argument.
func badArgument(l *lua.LState, n int, want string, got lua.LValue) {
	throw(l, fmt.Sprintf("bad argument #%d (%s expected, got %s)", n, want, typeName(l, n, got)))
}

func typeName(l *lua.LState, n int, v lua.LValue) string {
	if v == lua.LNil && n > l.GetTop() {
		return "no value"
	}
	return v.Type().String()
}

func checkFunction(l *lua.LState, n int) *lua.LFunction {
	fn, ok := l.Get(n).(*lua.LFunction)
	if !ok {
		badArgument(l, n, "function", l.Get(n))
	}
	return fn
}

func checkTable(l *lua.LState, n int) *lua.LTable {
	t, ok := l.Get(n).(*lua.LTable)
	if !ok {
		badArgument(l, n, "table", l.Get(n))
	}
	return t
}

// checkString accepts a string, or a number as its text.
func checkString(l *lua.LState, n int) string {
	switch v := l.Get(n).(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return formatNumber(float64(v))
	}
	badArgument(l, n, "string", l.Get(n))
	return ""
}

func optString(l *lua.LState, n int, otherwise string) string {
	if l.Get(n) == lua.LNil {
		return otherwise
	}
	return checkString(l, n)
}

// checkNumber accepts a number, or a string that reads as one.
func checkNumber(l *lua.LState, n int) float64 {
	switch v := l.Get(n).(type) {
	case lua.LNumber:
		return float64(v)
	case lua.LString:
		if f, ok := parseNumber(string(v)); ok {
			return f
		}
	}
	badArgument(l, n, "number", l.Get(n))
	return 0
}

// checkFinite refuses NaN and infinities, as the game's functions do.
func checkFinite(l *lua.LState, n int) float64 {
	f := checkNumber(l, n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		throw(l, fmt.Sprintf("bad argument #%d (number expected, got %s)", n, formatNumber(f)))
	}
	return f
}

func checkInt(l *lua.LState, n int) int { return toInt(checkNumber(l, n)) }

func optInt(l *lua.LState, n, otherwise int) int {
	if l.Get(n) == lua.LNil {
		return otherwise
	}
	return checkInt(l, n)
}

// toInt converts with saturation, where Go's conversion of what does not fit is undefined.
func toInt(f float64) int {
	switch {
	case math.IsNaN(f):
		return 0
	case f >= math.MaxInt32:
		return math.MaxInt32
	case f <= math.MinInt32:
		return math.MinInt32
	}
	return int(f)
}

// formatNumber writes a number as Lua does: 14 digits, integers without a point.
func formatNumber(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if f == math.Trunc(f) && math.Abs(f) < 1e14 {
		if f == 0 && math.Signbit(f) {
			return "-0"
		}
		return strconv.FormatInt(int64(f), 10)
	}
	return formatGeneral(f, 14, false)
}

// formatGeneral is C's %.<precision>g.
func formatGeneral(f float64, precision int, keepZeros bool) string {
	if precision == 0 {
		precision = 1
	}
	exponent := 0
	if f != 0 {
		text := strconv.FormatFloat(f, 'e', precision-1, 64)
		exponent, _ = strconv.Atoi(text[strings.IndexByte(text, 'e')+1:])
	}
	if exponent < -4 || exponent >= precision {
		text := strconv.FormatFloat(f, 'e', precision-1, 64)
		at := strings.IndexByte(text, 'e')
		return trimZeros(text[:at], keepZeros) + text[at:]
	}
	return trimZeros(strconv.FormatFloat(f, 'f', precision-1-exponent, 64), keepZeros)
}

func trimZeros(text string, keep bool) string {
	if keep || !strings.Contains(text, ".") {
		return text
	}
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// parseNumber reads a number as Lua's tonumber does: decimal or hexadecimal, with spaces around it.
func parseNumber(text string) (float64, bool) {
	text = strings.Trim(text, " \t\n\v\f\r")
	if text == "" || strings.ContainsAny(text, "_iInN") { // Go's underscores, infinities and NaN are not Lua's
		return 0, false
	}
	body := strings.TrimLeft(text, "+-")
	if len(text)-len(body) > 1 {
		return 0, false
	}
	if strings.HasPrefix(body, "0x") || strings.HasPrefix(body, "0X") {
		return parseHex(text, body)
	}
	if strings.ContainsAny(body, "xXpP") {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

func parseHex(text, body string) (float64, bool) {
	if !strings.ContainsAny(body, "pP") {
		body += "p0"
	}
	f, err := strconv.ParseFloat(body, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	if text[0] == '-' {
		f = -f
	}
	return f, true
}

// newTable makes an empty table. gopher-lua's own begins with room for 64 values, which most never have.
func newTable() *lua.LTable { return &lua.LTable{Metatable: lua.LNil} }
