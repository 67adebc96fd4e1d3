package craftos

import (
	"bufio"
	"bytes"
	"slices"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

func FuzzReadFrame(f *testing.F) {
	for _, seed := range []string{"\x81\x05hello", "\x01\x02ab\x80\x01c", "\x88\x02\x0f\xa1", "\x81\x7e\x00\x02ab", "\x82\x7f\x00\x00\x00\x00\x00\x00\x00\x01a", "\xff"} {
		f.Add([]byte(seed))
	}
	const limit = 1 << 10
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReader(bytes.NewReader(data))
		for {
			frame, err := readFrame(r, limit)
			if err != nil {
				return
			}
			if len(frame.payload) > limit || frame.opcode >= opClose && len(frame.payload) > maxControlPayload {
				t.Fatalf("frame %x of %d bytes", frame.opcode, len(frame.payload))
			}
		}
	})
}

func FuzzUnserialiseJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e3,null,true,"\u00e9\n"]}`, `[]`, `"\ud83d"`, `12345678901234567890`, `{"a"`, ``} {
		f.Add(seed)
	}
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	c := &jsonCodec{emptyArray: newTable(), null: newTable()}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, "[")+strings.Count(text, "{") >= maxJSONDepth {
			return
		}
		r := &jsonReader{jsonCodec: c, l: l, s: text, emptyArray: true, parseNull: true}
		value, failure := r.document()
		if failure != nil {
			if failure.position < 1 || failure.position > len(text)+1 {
				t.Fatalf("position %d of %d bytes", failure.position, len(text))
			}
			return
		}
		w := &jsonWriter{jsonCodec: c, active: map[*lua.LTable]bool{}, repeated: true}
		if err := w.value(value, 0); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		for _, b := range []byte(w.b.String()) {
			if b >= 0x7f {
				t.Fatalf("not ASCII: %q", w.b.String())
			}
		}
	})
}

func FuzzPattern(f *testing.F) {
	for _, seed := range [][2]string{{"hello world", "(%w+) (%w+)"}, {"THE (quick) fox", "%f[%a]%u+"}, {"((a)b)", "%b()"}, {"aaa", "a-b"}, {"x", "[^%]-]"}, {"", "()"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, s, p string) {
		if len(s) > 64 || len(p) > 16 {
			return
		}
		m := &matcher{s: s, p: p}
		for at := 0; at <= len(s); at++ {
			end, err := m.match(at)
			if err != nil {
				return
			}
			if end != -1 && (end < at || end > len(s)) {
				t.Fatalf("match of %q in %q from %d ends at %d", p, s, at, end)
			}
		}
	})
}

func FuzzPlainEscapes(f *testing.F) {
	for _, seed := range []string{`return "\x41\z  \u{e9}" -- "\x`, `[==[ \x ]==]`, `'\`, `"\u{`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		out := plainEscapes(source)
		if !strings.Contains(source, `\`) && out != source {
			t.Fatalf("%q became %q", source, out)
		}
	})
}

func isSlash(r rune) bool { return r == '/' || r == '\\' }

func FuzzCleanPath(f *testing.F) {
	for _, seed := range []string{"a/../b", "../../x", `c:\x`, "...", "a/ /b.", "/", strings.Repeat(".", maxPathPart) + "d."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		clean := cleanPath(path)
		// What is left of a part that was cut can be nothing but dots or end in a space, and the next look drops that: the real
		// one's rule, whose cut comes last as well.
		cut := slices.ContainsFunc(strings.FieldsFunc(path, isSlash), func(part string) bool { return len(part) > maxPathPart })
		if !cut && cleanPath(clean) != clean {
			t.Fatalf("%q becomes %q, then %q", path, clean, cleanPath(clean))
		}
		if strings.HasPrefix(clean, "/") || strings.Contains("/"+clean+"/", "/./") || strings.Contains(strings.TrimLeft(clean, "./"), "/../") {
			t.Fatalf("%q becomes %q", path, clean)
		}
	})
}
