package craftos

import (
	"fmt"
	"math"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// gameDay is how long a day of the game takes: 24,000 ticks.
const gameDay = 24_000 * tick

// maxEventDepth bounds the nesting of the tables that os.queueEvent copies.
const maxEventDepth = 64

// openOS installs the natives of the os API; the rom adds those that wait for events.
func (m *machine) openOS() {
	lib := newTable()
	m.setFuncs(lib, map[string]lua.LGFunction{
		"queueEvent": m.osQueueEvent, "startTimer": m.osStartTimer, "cancelTimer": m.osCancelTimer, "setAlarm": m.osSetAlarm,
		"cancelAlarm": m.osCancelTimer, "clock": m.osClock, "time": m.osTime, "day": m.osDay, "epoch": m.osEpoch, "date": osDate,
		"getComputerID": m.osComputerID, "computerID": m.osComputerID, "getComputerLabel": m.osGetLabel,
		"computerLabel": m.osGetLabel, "setComputerLabel": m.osSetLabel,
		"shutdown": func(*lua.LState) int { m.end(outcomeShutdown); return 0 },
		"reboot":   func(*lua.LState) int { m.end(outcomeReboot); return 0 },
	})
	m.root.SetGlobal("os", lib)
}

// end makes the machine end once the running program yields.
func (m *machine) end(how outcome) { m.want = &how }

func (m *machine) osQueueEvent(l *lua.LState) int {
	name := checkString(l, 1)
	args := make([]any, 0, l.GetTop()-1)
	seen := map[*lua.LTable]*lua.LTable{}
	for i := 2; i <= l.GetTop(); i++ {
		args = append(args, m.copyValue(l.Get(i), seen, 0))
	}
	m.queue.push(name, args...)
	return 0
}

// copyValue copies what crosses the event queue: tables deeply, functions and coroutines not at all.
func (m *machine) copyValue(v lua.LValue, seen map[*lua.LTable]*lua.LTable, depth int) lua.LValue {
	switch v := v.(type) {
	case lua.LBool, lua.LNumber, lua.LString:
		return v
	case *lua.LTable:
		if t, ok := seen[v]; ok {
			return t
		}
		t := newTable()
		seen[v] = t
		if depth >= maxEventDepth {
			return t
		}
		v.ForEach(func(key, value lua.LValue) {
			key, value = m.copyValue(key, seen, depth+1), m.copyValue(value, seen, depth+1)
			if key != lua.LNil && value != lua.LNil {
				t.RawSet(key, value)
			}
		})
		return t
	}
	return lua.LNil
}

func (m *machine) osStartTimer(l *lua.LState) int {
	return m.startTimer(l, "timer", ticks(checkFinite(l, 1)))
}

func (m *machine) startTimer(l *lua.LState, event string, after time.Duration) int {
	id, ok := m.timers.start(event, after, time.Now())
	if !ok {
		throw(l, "Too many timers")
	}
	l.Push(lua.LNumber(id))
	return 1
}

func (m *machine) osCancelTimer(l *lua.LState) int {
	m.timers.cancel(checkInt(l, 1))
	return 0
}

// osSetAlarm queues "alarm" at the given hour (0–24) of the game's day.
func (m *machine) osSetAlarm(l *lua.LState) int {
	at := checkFinite(l, 1)
	if at < 0 || at >= 24 {
		throw(l, "Number out of range")
	}
	hours := at - m.gameHour()
	if hours <= 0 {
		hours += 24
	}
	return m.startTimer(l, "alarm", time.Duration(hours/24*float64(gameDay)))
}

// gameTime is the age of the world: a computer's world begins at 6:00 of day 1 when it boots.
func (m *machine) gameTime() time.Duration { return gameDay/4 + gameDay + time.Since(m.started) }

func (m *machine) gameHour() float64 {
	return math.Mod(m.gameTime().Hours()/gameDay.Hours()*24, 24)
}

func (m *machine) osClock(l *lua.LState) int {
	passed := time.Since(m.started).Truncate(tick)
	l.Push(lua.LNumber(passed.Seconds()))
	return 1
}

func (m *machine) osTime(l *lua.LState) int {
	if t, ok := l.Get(1).(*lua.LTable); ok {
		l.Push(lua.LNumber(tableTime(l, t).Unix()))
		return 1
	}
	switch locale(l, 1) {
	case "utc":
		l.Push(lua.LNumber(hourOfDay(time.Now().UTC())))
	case "local":
		l.Push(lua.LNumber(hourOfDay(time.Now())))
	default:
		l.Push(lua.LNumber(math.Floor(m.gameHour()*1000) / 1000))
	}
	return 1
}

func locale(l *lua.LState, n int) string {
	name := strings.ToLower(optString(l, n, "ingame"))
	switch name {
	case "ingame", "utc", "local":
		return name
	}
	throw(l, "Unsupported operation")
	return ""
}

func hourOfDay(t time.Time) float64 {
	return float64(t.Hour()) + float64(t.Minute())/60 + float64(t.Second())/3600
}

func (m *machine) osDay(l *lua.LState) int {
	switch locale(l, 1) {
	case "utc", "local":
		l.Push(lua.LNumber(time.Now().Unix() / (24 * 60 * 60)))
	default:
		l.Push(lua.LNumber(m.gameTime() / gameDay))
	}
	return 1
}

func (m *machine) osEpoch(l *lua.LState) int {
	switch locale(l, 1) {
	case "utc":
		l.Push(lua.LNumber(time.Now().UnixMilli()))
	case "local":
		now := time.Now()
		_, offset := now.Zone()
		l.Push(lua.LNumber(now.UnixMilli() + int64(offset)*1000))
	default:
		l.Push(lua.LNumber(math.Floor(m.gameTime().Hours() / gameDay.Hours() * 86_400_000)))
	}
	return 1
}

func (m *machine) osComputerID(l *lua.LState) int {
	l.Push(lua.LNumber(m.computer.opts.ID))
	return 1
}

func (m *machine) osGetLabel(l *lua.LState) int {
	if label := m.computer.Label(); label != "" {
		l.Push(lua.LString(label))
	} else {
		l.Push(lua.LNil)
	}
	return 1
}

func (m *machine) osSetLabel(l *lua.LState) int {
	m.computer.setLabel(optString(l, 1, ""))
	return 0
}

func tableTime(l *lua.LState, t *lua.LTable) time.Time {
	field := func(name string, otherwise int) int {
		v := t.RawGetString(name)
		if n, ok := v.(lua.LNumber); ok {
			return toInt(float64(n))
		}
		if otherwise < 0 {
			throw(l, fmt.Sprintf("field %q missing in date table", name))
		}
		return otherwise
	}
	return time.Date(field("year", -1), time.Month(field("month", -1)), field("day", -1),
		field("hour", 12), field("min", 0), field("sec", 0), 0, time.Local)
}

// osDate is os.date([format [, time]]): a table for "*t", text otherwise.
func osDate(l *lua.LState) int {
	format := optString(l, 1, "%c")
	at := time.Now()
	if l.Get(2) != lua.LNil {
		at = time.Unix(int64(checkFinite(l, 2)), 0)
	}
	if strings.HasPrefix(format, "!") {
		format, at = format[1:], at.UTC()
	}
	if format == "*t" {
		t := newTable()
		for name, value := range map[string]int{
			"year": at.Year(), "month": int(at.Month()), "day": at.Day(), "hour": at.Hour(), "min": at.Minute(),
			"sec": at.Second(), "wday": int(at.Weekday()) + 1, "yday": at.YearDay(),
		} {
			t.RawSetString(name, lua.LNumber(value))
		}
		t.RawSetString("isdst", lua.LBool(at.IsDST()))
		l.Push(t)
		return 1
	}
	l.Push(lua.LString(strftime(l, format, at)))
	return 1
}

// dateLayouts are the conversions of os.date as layouts of package time.
var dateLayouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'c': "Mon Jan _2 15:04:05 2006", 'd': "02", 'D': "01/02/06", 'e': "_2",
	'F': "2006-01-02", 'H': "15", 'I': "03", 'j': "002", 'm': "01", 'M': "04", 'p': "PM", 'r': "03:04:05 PM", 'R': "15:04",
	'S': "05", 'T': "15:04:05", 'x': "01/02/06", 'X': "15:04:05", 'y': "06", 'Y': "2006", 'z': "-0700", 'Z': "MST",
}

func strftime(l *lua.LState, format string, at time.Time) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		switch c := format[i]; c {
		case '%':
			b.WriteByte('%')
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'w':
			b.WriteByte('0' + byte(at.Weekday()))
		default:
			layout, ok := dateLayouts[c]
			if !ok {
				throw(l, "bad argument #1: invalid conversion specifier '%"+string(c)+"'")
			}
			b.WriteString(at.Format(layout))
		}
	}
	return b.String()
}
