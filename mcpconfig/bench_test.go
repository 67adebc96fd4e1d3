package mcpconfig

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// benchBed has 200 servers in 3 files: two workspaces and the global one, with names that hide one another.
func benchBed(b testing.TB) *bed {
	bed := newBed(b)
	other := filepath.Join(filepath.Dir(bed.root), "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		b.Fatal(err)
	}
	bed.options.Workspaces = append(bed.options.Workspaces, other)
	number := 0
	file := func(path string, count int) {
		var members []string
		for range count {
			name := fmt.Sprintf("server-%d", number%180)
			number++
			if number%4 == 0 {
				members = append(members, fmt.Sprintf(`"%s":{"type":"http","url":"https://host-%d.example/mcp?key=${T}","headers":{"Authorization":"Bearer ${T}","X-N":%d}}`, name, number, number))
				continue
			}
			members = append(members, fmt.Sprintf(`"%s": {
      "command": "npx", // as published
      "args": ["-y", "@scope/package-%d", "--flag", "${Y:-default}", "~/data"],
      "env": {"TOKEN": "${T}", "N": %d, "HOME_DIR": "${workspaceFolder:-none}"},
      "alwaysAllow": ["a", "b", "c"],
      "description": "a server",
    }`, name, number, number))
		}
		bed.write(path, "{\n  \"mcpServers\": {\n    "+strings.Join(members, ",\n    ")+"\n  }\n}\n")
	}
	file(bed.workspaceFile, 70)
	file(filepath.Join(other, WorkspaceFile), 65)
	file(bed.globFile, 65)
	return bed
}

// BenchmarkLoad reads, validates and merges 200 servers in 3 files. The bound is 2 ms.
func BenchmarkLoad(b *testing.B) {
	bed := benchBed(b)
	b.ReportAllocs()
	for b.Loop() {
		set, problems := Load(bed.options)
		if len(problems) != 0 || len(set.All()) != 200 {
			b.Fatal(set, problems)
		}
	}
}

// BenchmarkUnmarshal is the yardstick of BenchmarkLoad on a machine that is busy or slow: the standard decoder on files
// of the same size, without comments, positions, checks, expansion or merge.
func BenchmarkUnmarshal(b *testing.B) {
	bed := benchBed(b)
	set, _ := Load(bed.options)
	var files [][]byte
	for _, source := range set.Sources() {
		data, err := os.ReadFile(source.Path)
		if err != nil {
			b.Fatal(err)
		}
		doc, top, syntax := parse(data)
		if syntax != nil {
			b.Fatal(syntax.message)
		}
		files = append(files, doc.compact(nil, top))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, data := range files {
			var v any
			if err := json.Unmarshal(data, &v); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkDiff compares two Sets of 200 servers that are alike, as after a save that changes nothing.
func BenchmarkDiff(b *testing.B) {
	bed := benchBed(b)
	before, _ := Load(bed.options)
	after, _ := Load(bed.options)
	b.ReportAllocs()
	for b.Loop() {
		if !after.Equal(before) || !after.Diff(before).Empty() {
			b.Fatal("not equal")
		}
	}
}

// BenchmarkHostile reads the files that were made to be expensive. The bound is 100 ms and 32 MiB.
func BenchmarkHostile(b *testing.B) {
	for what, text := range hostileFiles() {
		b.Run(what, func(b *testing.B) {
			bed := newBed(b)
			bed.options.Getenv = environment(map[string]string{"LONG": strings.Repeat("x", 100_000)})
			bed.write(bed.workspaceFile, text)
			b.ReportAllocs()
			for b.Loop() {
				Load(bed.options)
			}
		})
	}
}
