package mcpconfig

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/zap"         //nolint:depguard // only to see what it would log
	"go.uber.org/zap/zapcore" //nolint:depguard // only to see what it would log
	"pgregory.net/rapid"
)

// canary stands in every value of the generated files; variable and file names do not hold it.
const canary = "CaNaRy"

// drawValue draws a JSON value that holds the canary wherever it holds text.
func drawValue(t *rapid.T) string {
	text := func() string {
		return rapid.SampledFrom([]string{
			canary, "https://" + canary + "/mcp", "http://u:" + canary + "@h/", canary + " x", "./" + canary, "~/" + canary,
			"${Y:-" + canary + "}", "${T}" + canary, "${Y}" + canary, "${input:" + canary + "}", "${env:-" + canary + "}", "${file:" + canary + "}", "${file:x:-" + canary + "}", "${credential:-" + canary + "}", "${credential:a/" + canary + "}",
			"${" + canary + "%",
			"${command:" + canary + "}", "-" + canary, "file:///" + canary, canary + "\r\n", canary + "\x00",
			"http://127.0.0.1:4445/" + canary, "https://h:99999/" + canary, "https://h/%zz" + canary, strings.Repeat(canary, 100),
		}).Draw(t, "text")
	}
	quotedText := func() string {
		quoted, err := json.Marshal(text())
		if err != nil {
			t.Fatal(err)
		}
		return string(quoted)
	}
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return "[" + quotedText() + "," + quotedText() + "]"
	case 1:
		return `{"A":` + quotedText() + `,"B":[` + quotedText() + `]}`
	case 2:
		return `{"A=` + canary + `":` + quotedText() + `,"":1}`
	case 3:
		return `{"A":` + quotedText() + `,"A":` + quotedText() + `}`
	case 4:
		return rapid.SampledFrom([]string{"null", "true", "0", "-1", "[[]]", "{}"}).Draw(t, "plain")
	default:
		return quotedText()
	}
}

// drawFile draws a file of a few servers, most of them with problems, perhaps cut or followed by more.
func drawFile(t *rapid.T) string {
	keys := slices.Concat(ownKeys, slices.Sorted(maps.Keys(aliases)), []string{"transport", "headersHelper", "Command", "x"})
	keys = slices.DeleteFunc(keys, func(key string) bool { return key == "type" })
	var servers []string
	for range rapid.IntRange(0, 3).Draw(t, "servers") {
		var members []string
		if rapid.Bool().Draw(t, "typed") {
			members = append(members, `"type":"`+rapid.SampledFrom([]string{"http", "stdio", "sse", "ws"}).Draw(t, "type")+`"`)
		}
		for range rapid.IntRange(0, 5).Draw(t, "members") {
			members = append(members, strconv.Quote(rapid.SampledFrom(keys).Draw(t, "key"))+":"+drawValue(t))
		}
		servers = append(servers, strconv.Quote(rapid.SampledFrom([]string{"a", "b", "c", "", "x__y", "command"}).Draw(t, "name"))+":{"+strings.Join(members, ",")+"}")
	}
	root := rapid.SampledFrom([]string{"mcpServers", "mcpServers", "mcpServers", "mcpservers", "servers"}).Draw(t, "root")
	text := `{"` + root + `":{` + strings.Join(servers, ",\n") + `},"other":"` + canary + `"}`
	switch rapid.IntRange(0, 9).Draw(t, "damage") {
	case 0:
		return text[:rapid.IntRange(0, len(text)).Draw(t, "cut")]
	case 1:
		return text + canary
	case 2:
		i := rapid.IntRange(0, len(text)).Draw(t, "place")
		return text[:i] + rapid.SampledFrom([]string{"'", "\n", "#", canary, "\x00", "\xff", ",", "}", `"`}).Draw(t, "damage") + text[i:]
	}
	return text
}

func loadText(text string, last *Set) (Set, Problems) {
	return Load(Options{
		Supplied: []SuppliedFile{{Path: "file.json", Data: []byte(text)}}, HomeDir: "/home/x", LastGood: last,
		Getenv: environment(map[string]string{"T": canary + "fromT", "E": ""}), Self: []string{"127.0.0.1:4445"},
	})
}

// holder has a Secret in a field that fmt cannot call methods on.
type holder struct {
	secret Secret
	Secret Secret
	pair   struct{ list []Secret }
}

// renderings returns every text that can be made of a value without asking for what it hides.
func renderings(t *rapid.T, v any) []string {
	var out []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%x", "%d"} {
		out = append(out, fmt.Sprintf(verb, v))
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out = append(out, string(encoded))
	if text, err := xml.Marshal(v); err == nil {
		out = append(out, string(text))
	}
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "v", v)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "v", v)
	for _, encoder := range []zapcore.Encoder{zapcore.NewJSONEncoder(zapcore.EncoderConfig{}), zapcore.NewConsoleEncoder(zapcore.EncoderConfig{MessageKey: "m"})} {
		zap.New(zapcore.NewCore(encoder, zapcore.AddSync(&logged), zap.DebugLevel)).Info("x", zap.Any("v", v), zap.Reflect("r", v))
	}
	return append(out, logged.String())
}

func noCanary(t *rapid.T, v any) {
	for _, text := range renderings(t, v) {
		if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
			t.Fatalf("%T shows a value: %s", v, text)
		}
	}
}

func TestNothingReadIsRepeated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, problems := loadText(drawFile(t), nil)
		kept, more := loadText(drawFile(t), &set)
		type plain Server // without the methods
		var naked []plain
		var held []holder
		for _, s := range slices.Concat(set.All(), kept.All()) {
			naked = append(naked, plain(s))
			held = append(held, holder{secret: s.Command, Secret: s.URL, pair: struct{ list []Secret }{s.Args}})
		}
		noCanary(t, set.All())
		noCanary(t, naked)
		noCanary(t, held)
		for _, p := range slices.Concat(problems, more) {
			if strings.ContainsAny(p.String(), "\n\r\x00") {
				t.Fatalf("more than one line: %q", p.String())
			}
		}
		for _, s := range []Set{set, kept} {
			noCanary(t, s)
			noCanary(t, s.Sources())
			noCanary(t, kept.Diff(s))
		}
		noCanary(t, more)
		noCanary(t, problems)
		if err := problems.Err(); err != nil {
			if strings.Contains(err.Error(), canary) {
				t.Fatal(err)
			}
			if _, ok := errors.AsType[Problem](err); !ok {
				t.Fatalf("%T holds no Problem", err)
			}
		}
	})
}

// drawServer draws what an entry may hold, as the reader would give it back.
func drawServer(t *rapid.T, name string) Server {
	text := rapid.StringMatching(`[a-zé😀 \\"/:,}\[\]$\t-]{0,12}`)
	s := Server{Name: name, Disabled: rapid.Bool().Draw(t, "disabled")}
	if rapid.Bool().Draw(t, "stdio") {
		s.Transport = TransportStdio
		s.Command = NewSecret("c" + rapid.StringMatching(`[a-z0-9.é😀"\\-]{0,8}`).Draw(t, "command") + "c")
		if strings.ContainsAny(s.Command.Reveal(), `\`) {
			s.Command = NewSecret("c")
		}
		s.Cwd = NewSecret("/" + rapid.StringMatching(`[a-z0-9"é]{0,8}`).Draw(t, "cwd"))
		for range rapid.IntRange(0, 4).Draw(t, "args") {
			s.Args = append(s.Args, NewSecret("a"+text.Draw(t, "arg")))
		}
		for _, variable := range rapid.SliceOfDistinct(rapid.StringMatching(`[A-Za-z_é. ]{1,6}`), rapid.ID[string]).Draw(t, "variables") {
			s.Env = append(s.Env, EnvVar{Name: variable, Value: NewSecret(text.Draw(t, "value"))})
		}
		slices.SortFunc(s.Env, func(a, b EnvVar) int { return strings.Compare(a.Name, b.Name) })
		return s
	}
	s.Transport = rapid.SampledFrom([]Transport{TransportSSE, TransportHTTP}).Draw(t, "transport")
	s.URL = NewSecret("https://h/" + rapid.StringMatching(`[a-z0-9?=&é"]{0,12}`).Draw(t, "path"))
	names := rapid.SliceOfDistinct(rapid.StringMatching(`[A-Za-z-]{1,6}`), strings.ToLower).Draw(t, "headers")
	slices.Sort(names)
	for _, header := range names {
		s.Headers = append(s.Headers, Header{Name: header, Value: NewSecret(text.Draw(t, "value"))})
	}
	return s
}

// layout draws formatting: spaces, comments, line breaks, trailing commas, the order of members.
type layout struct{ t *rapid.T }

func (l layout) space() string {
	return rapid.SampledFrom([]string{"", " ", "\n", "\r\n\t", "/* \" */", "// ' }\n"}).Draw(l.t, "space")
}

func (l layout) string(text string) string {
	if rapid.Bool().Draw(l.t, "escaped") {
		var b strings.Builder
		for _, r := range text {
			if r < 0x10000 {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
		return `"` + b.String() + `"`
	}
	encoded, _ := json.Marshal(text)
	return string(encoded)
}

func (l layout) list(opening string, items []string, closing string) string {
	var b strings.Builder
	b.WriteString(l.space() + opening + l.space())
	for i, item := range items {
		b.WriteString(item + l.space())
		if i < len(items)-1 || rapid.Bool().Draw(l.t, "trailing") {
			b.WriteString("," + l.space())
		}
	}
	return b.String() + closing + l.space()
}

func (l layout) object(members map[string]string) string {
	var items []string
	for _, key := range rapid.Permutation(slices.Sorted(maps.Keys(members))).Draw(l.t, "order") {
		items = append(items, l.string(key)+l.space()+":"+l.space()+members[key])
	}
	return l.list("{", items, "}")
}

// print writes servers as a file.
func (l layout) print(servers map[string]Server) string {
	members := map[string]string{}
	for name, s := range servers {
		fields := map[string]string{"type": l.string(s.Transport.String()), "foreign": l.object(map[string]string{"x": "[1,]"})}
		if s.Disabled {
			fields["disabled"] = "true"
		}
		if s.Transport == TransportStdio {
			fields["command"], fields["cwd"] = l.string(s.Command.Reveal()), l.string(s.Cwd.Reveal())
			var items []string
			for _, arg := range s.Args {
				items = append(items, l.string(arg.Reveal()))
			}
			fields["args"] = l.list("[", items, "]")
			env := map[string]string{}
			for _, variable := range s.Env {
				env[variable.Name] = l.string(variable.Value.Reveal())
			}
			fields["env"] = l.object(env)
		} else {
			fields["url"] = l.string(s.URL.Reveal())
			headers := map[string]string{}
			for _, header := range s.Headers {
				headers[header.Name] = l.string(header.Value.Reveal())
			}
			fields["headers"] = l.object(headers)
		}
		members[name] = l.object(fields)
	}
	return l.space() + l.object(map[string]string{"mcpServers": l.object(members), "$schema": l.string("x")}) + l.space()
}

func drawServers(t *rapid.T) map[string]Server {
	servers := map[string]Server{}
	for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z@/. é]{0,5}[a-z]`), 0, 4, rapid.ID[string]).Draw(t, "names") {
		servers[name] = drawServer(t, name)
	}
	return servers
}

func TestPrintedServersAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		servers := drawServers(t)
		text := layout{t}.print(servers)
		set, problems := loadText(text, nil)
		if problems.Errors() || len(set.All()) != len(servers) {
			t.Fatalf("%v\n%s", problems, text)
		}
		for _, got := range set.All() {
			want := servers[got.Name]
			if got.Fingerprint() != want.Fingerprint() || !got.runsLike(want) || got.Disabled != want.Disabled || got.Invalid {
				t.Fatalf("%v came back different from\n%s", got, text)
			}
		}
	})
}

func TestFormattingDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		servers := drawServers(t)
		one, _ := loadText(layout{t}.print(servers), nil)
		two, _ := loadText("\xef\xbb\xbf"+layout{t}.print(servers), nil)
		if !one.Equal(two) || !one.Diff(two).Empty() || len(one.Diff(two).Unchanged) != len(one.Servers()) {
			t.Fatal("the same servers in another layout are different")
		}
		if !slices.Equal(names(one.All()), names(two.All())) {
			t.Fatal("the order of keys shows")
		}
	})
}
