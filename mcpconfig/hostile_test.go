package mcpconfig

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// hostileMemory bounds what reading any file allocates in all, which is more than it ever holds.
const hostileMemory = 32 << 20

// hostileFiles are files of nearly hostileSize, each made to cost as much as can be.
func hostileFiles() map[string]string {
	fill := func(before, unit, after string) string {
		return before + strings.Repeat(unit, (hostileSize-len(before)-len(after))/len(unit)) + after
	}
	numbered := func(before, format, after string) string {
		var b strings.Builder
		b.WriteString(before)
		for i := 0; b.Len() < hostileSize-len(after)-2*len(format); i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String() + after
	}
	return map[string]string{
		"arguments":         fill(`{"mcpServers":{"a":{"command":"x","args":[`, `0,`, `]}}}`),
		"bad arguments":     fill(`{"mcpServers":{"a":{"command":"x","args":[`, `[],`, `]}}}`),
		"foreign arrays":    fill(`{"mcpServers":{"a":{"command":"x","foreign":[`, `[],`, `]}}}`),
		"foreign depth":     fill(`{"mcpServers":{"a":{"command":"x","foreign":`+strings.Repeat("[", 150), `[],`, strings.Repeat("]", 150)+`}}}`),
		"foreign members":   fill(`{"mcpServers":{"a":{"command":"x","foreign":{`, `"a":0,`, `}}}}`),
		"servers":           numbered(`{"mcpServers":{`, `"%d":{},`, `}}`),
		"bad servers":       numbered(`{"mcpServers":{`, `"%d":{"command":[],"args":1,"env":{"":1},"cwd":2,"envFile":3,"foreign":"`+strings.Repeat("x", 4000)+`"},`, `}}`),
		"one name":          fill(`{"mcpServers":{`, `"a":{},`, `}}`),
		"keys":              numbered(`{`, `"%d":0,`, `}`),
		"keys of an entry":  numbered(`{"mcpServers":{"a":{`, `"%d":0,`, `}}}`),
		"wrapped":           numbered(`{"a":{`, `"%d":0,`, `}}`),
		"variables":         numbered(`{"mcpServers":{"a":{"command":"x","env":{`, `"A%d":0,`, `}}}}`),
		"spaces":            fill(`{`, " ", `}`),
		"lines":             fill(`{"mcpServers":{`, "\n", `"a":{"command":3}}}`),
		"comments":          fill(`{`, "/**/", `}`),
		"slashes":           fill(`{`, "/", `}`),
		"open comment":      fill(`{"mcpServers":{}}/*`, "/*", ``),
		"escapes":           fill(`{"mcpServers":{"a":{"command":"`, `\u00e9`, `"}}}`),
		"surrogates":        fill(`{"mcpServers":{"a":{"command":"`, `\ud800`, `"}}}`),
		"placeholders":      fill(`{"mcpServers":{"a":{"command":"`, `${LONG}`, `"}}}`),
		"many placeholders": numbered(`{"mcpServers":{"a":{"command":"x","env":{`, `"A%d":"${LONG}",`, `}}}}`),
		"open placeholders": fill(`{"mcpServers":{"a":{"command":"`, `${Y:-`, `"}}}`),
		"one line":          numbered(`{"mcpServers":{`, `"%d":{"command":[],"foreign":"`+strings.Repeat("é", 2000)+`"},`, `}}`),
		"long name":         fill(`{"mcpServers":{"`, `n`, `":{"command":[],"args":1,"env":2,"cwd":3}}}`),
		"text":              fill(``, `x`, ``),
		"quotation marks":   fill(``, `"`, ``),
		"half characters":   fill(`{"`, "\xe5\x90", `"}`),
		"url":               fill(`{"mcpServers":{"a":{"url":"https://h/`, `%41`, `"}}}`),
	}
}

func TestHostileFilesAreCheap(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for what, text := range hostileFiles() {
		t.Run(what, func(t *testing.T) {
			if len(text) > hostileSize {
				t.Fatal("the file is too large to be read at all")
			}
			b := newBed(t)
			b.options.Getenv = environment(map[string]string{"LONG": long})
			b.write(b.workspaceFile, text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var problems Problems
			took := timed(t, func() { _, problems = Load(b.options) })
			runtime.ReadMemStats(&after)
			for try := 0; took > hostileTime && try < 5; try++ { // it may have been disturbed
				took = timed(t, func() { Load(b.options) })
			}
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%v, %d KiB, %d problems", took, allocated>>10, len(problems))
			if took > hostileTime {
				t.Errorf("took %v", took)
			}
			if allocated > hostileMemory {
				t.Errorf("allocated %d MiB", allocated>>20)
			}
			if len(problems) > maxProblems+1 {
				t.Errorf("%d problems", len(problems))
			}
		})
	}
}
