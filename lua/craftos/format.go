package craftos

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// maxFormatWidth is the largest width and precision of string.format, as in Lua.
const maxFormatWidth = 99

type conversion struct {
	minus, plus, space, alternate, zero bool
	width, precision                    int // precision -1: none
	verb                                byte
}

// stringFormat is Lua's string.format, C's printf in effect. gopher-lua's goes through Go's fmt, which differs.
func stringFormat(l *lua.LState) int {
	text := checkString(l, 1)
	var b strings.Builder
	argument := 1
	for {
		at := strings.IndexByte(text, '%')
		if at < 0 {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:at])
		text = text[at+1:]
		if strings.HasPrefix(text, "%") {
			b.WriteByte('%')
			text = text[1:]
			continue
		}
		c, rest := parseConversion(l, text)
		text = rest
		argument++
		if argument > l.GetTop() {
			throw(l, fmt.Sprintf("bad argument #%d to 'format' (no value)", argument))
		}
		b.WriteString(c.apply(l, argument))
		if b.Len() > maxString {
			throw(l, "resulting string too large")
		}
	}
	l.Push(lua.LString(b.String()))
	return 1
}

func parseConversion(l *lua.LState, text string) (conversion, string) {
	c := conversion{precision: -1}
	i := 0
flags:
	for ; i < len(text); i++ {
		switch text[i] {
		case '-':
			c.minus = true
		case '+':
			c.plus = true
		case ' ':
			c.space = true
		case '#':
			c.alternate = true
		case '0':
			c.zero = true
		default:
			break flags
		}
	}
	number := func() int {
		n := 0
		for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
			if n = n*10 + int(text[i]-'0'); n > maxFormatWidth {
				throw(l, "invalid format (width or precision too long)")
			}
		}
		return n
	}
	c.width = number()
	if i < len(text) && text[i] == '.' {
		i++
		c.precision = number()
	}
	if i >= len(text) {
		throw(l, "invalid conversion '%"+text+"' to 'format'")
	}
	c.verb = text[i]
	return c, text[i+1:]
}

func (c conversion) apply(l *lua.LState, n int) string {
	switch c.verb {
	case 'c':
		return c.pad(string([]byte{byte(checkInt(l, n))}))
	case 'd', 'i':
		return c.number(c.integer(checkInteger(l, n), 10, false))
	case 'u':
		return c.number(c.integer(checkInteger(l, n), 10, true))
	case 'o':
		return c.number(c.integer(checkInteger(l, n), 8, true))
	case 'x':
		return c.number(c.integer(checkInteger(l, n), 16, true))
	case 'X':
		return strings.ToUpper(c.number(c.integer(checkInteger(l, n), 16, true)))
	case 'e', 'E', 'f', 'F', 'g', 'G', 'a', 'A':
		return c.float(checkNumber(l, n))
	case 'q':
		return quote(l.Get(n))
	case 's':
		text := toText(l, l.Get(n))
		if c.precision >= 0 && len(text) > c.precision {
			text = text[:c.precision]
		}
		return c.pad(text)
	}
	throw(l, "invalid conversion '%"+string(c.verb)+"' to 'format'")
	return ""
}

func checkInteger(l *lua.LState, n int) int64 {
	f := checkNumber(l, n)
	if f != math.Trunc(f) || math.IsInf(f, 0) {
		throw(l, fmt.Sprintf("bad argument #%d to 'format' (number has no integer representation)", n))
	}
	if f >= 1<<63 {
		return math.MaxInt64
	}
	if f < -1<<63 {
		return math.MinInt64
	}
	return int64(f)
}

func (c conversion) integer(v int64, base int, unsigned bool) string {
	text := strconv.FormatInt(v, base)
	if unsigned {
		text = strconv.FormatUint(uint64(v), base)
	}
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	if missing := c.precision - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	if c.alternate && base == 16 && v != 0 {
		sign += "0x"
	}
	return sign + text
}

func (c conversion) float(f float64) string {
	precision := c.precision
	if precision < 0 {
		precision = 6
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		c.zero = false
		return c.number(formatNumber(f))
	}
	var text string
	switch c.verb | 0x20 {
	case 'e':
		text = strconv.FormatFloat(f, 'e', precision, 64)
	case 'f':
		text = strconv.FormatFloat(f, 'f', precision, 64)
	case 'g':
		text = formatGeneral(f, precision, c.alternate)
	case 'a':
		text = strconv.FormatFloat(f, 'x', c.precision, 64)
	}
	text = c.number(text)
	if c.verb < 'a' {
		text = strings.ToUpper(text)
	}
	return text
}

// number adds the sign flags and pads, with zeros after the sign when asked.
func (c conversion) number(text string) string {
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	} else if c.plus {
		sign = "+"
	} else if c.space {
		sign = " "
	}
	if c.zero && !c.minus {
		if missing := c.width - len(sign) - len(text); missing > 0 {
			text = strings.Repeat("0", missing) + text
		}
	}
	return c.pad(sign + text)
}

func (c conversion) pad(text string) string {
	missing := c.width - len(text)
	if missing <= 0 {
		return text
	}
	if c.minus {
		return text + strings.Repeat(" ", missing)
	}
	return strings.Repeat(" ", missing) + text
}

// quote is %q: a Lua literal.
func quote(v lua.LValue) string {
	s, ok := v.(lua.LString)
	if !ok {
		return v.String()
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString("\\\n")
		case c == '\r':
			b.WriteString("\\r")
		case c < 0x20 || c == 0x7f:
			if i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9' {
				fmt.Fprintf(&b, "\\%03d", c)
			} else {
				fmt.Fprintf(&b, "\\%d", c)
			}
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
