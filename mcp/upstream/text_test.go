package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/traposd/traposd/mcp/wire"
	"github.com/traposd/traposd/mcpconfig"
)

func TestBackoff(t *testing.T) {
	b := backoff{min: time.Second, max: 60 * time.Second}
	for _, seconds := range []float64{1, 2, 4, 8, 16, 32, 60, 60} {
		want := time.Duration(seconds * float64(time.Second))
		if got := b.next(); got < want || got > want+want/10 {
			t.Errorf("got %v, want %v and at most a tenth more", got, want)
		}
	}
	b.reset()
	if got := b.next(); got > 1100*time.Millisecond {
		t.Errorf("after reset %v", got)
	}
}

// TestStreamPauses counts the attempts of ten minutes against a server that ends the stream at once.
func TestStreamPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backoff{min: streamPauseMin, max: streamPauseMax}
		begun, n := time.Now(), 0
		for time.Since(begun) < 10*time.Minute {
			n++
			sleep(context.Background(), b.next())
		}
		if n >= 15 {
			t.Errorf("%d attempts in ten minutes", n)
		}
	})
}

func TestTail(t *testing.T) {
	tail := &tail{}
	tail.write([]byte("first\n"))
	for range 3 {
		tail.write(bytes.Repeat([]byte{'x'}, maxTailBytes-1))
	}
	tail.write([]byte("\n\x1b[31mred\x1b[0m\ttab\x00\xff\x1b]0;title\x07é\r\n\n  last  \n"))
	if n := len(tail.bytes()); n != maxTailBytes {
		t.Errorf("%d bytes are kept", n)
	}
	text := tail.text()
	if !strings.HasSuffix(text, ` / red tab\x00\xff\x1b]0;title\aé / last`) || len(text) > shownBytes+len("…") {
		t.Errorf("shown as %q", text)
	}
	if strings.ContainsAny(text, "\x1b\n\x00") {
		t.Error("control characters are shown")
	}
}

func TestMasker(t *testing.T) {
	secret := mcpconfig.NewSecret
	m := newMasker(mcpconfig.Server{
		Env:     []mcpconfig.EnvVar{{Name: "TOKEN", Value: secret("abcdefgh")}, {Name: "LONGER", Value: secret("abcdefgh-ijkl")}, {Name: "LEVEL", Value: secret("info")}, {Name: "PATH", Value: secret("/usr/bin")}},
		Headers: []mcpconfig.Header{{Name: "Authorization", Value: secret("Bearer zyxwvuts")}},
		URL:     secret("https://user:passpass@example.com/x?key=querysecret"),
		Args:    []mcpconfig.Secret{secret("-y"), secret("@scope/name"), secret("--api-key"), secret("argsecret"), secret("--token=joinedsecret"), secret("sk-0123456789abcdefghij")},
	})
	for _, hidden := range []string{"abcdefgh", "abcdefgh-ijkl", "zyxwvuts", "passpass", "querysecret", "argsecret", "joinedsecret", "sk-0123456789abcdefghij"} {
		if got := m.apply("<" + hidden + ">"); got != "<"+masked+">" {
			t.Errorf("%q is shown as %q", hidden, got)
		}
	}
	for _, shown := range []string{"info", "/usr/bin", "@scope/name", "-y", "--api-key"} {
		if got := m.apply(shown); got != shown {
			t.Errorf("%q is shown as %q", shown, got)
		}
	}
}

// TestMaskerAtCuts: a secret that is cut in two is not shown by halves.
func TestMaskerAtCuts(t *testing.T) {
	m := newMasker(mcpconfig.Server{Env: []mcpconfig.EnvVar{
		{Name: "TOKEN", Value: mcpconfig.NewSecret("abcdefgh")}, {Name: "KEY", Value: mcpconfig.NewSecret("-----BEGIN-----\r\nfirst-half\nsecond-half\n")},
	}})
	for _, c := range []struct {
		text         string
		begins, ends bool
		want         string
	}{
		{"efgh and abcdefgh", true, false, " and " + masked},
		{"abcdefgh then abcde", false, true, masked + " then "},
		{"efgh", false, false, "efgh"},
		{"cdefgh", true, true, ""},
		{"abcdefgh", true, true, masked},
		{"<first-half> <second-half>", false, false, "<" + masked + "> <" + masked + ">"},
		{"", true, true, ""},
	} {
		if got := m.applyCut(c.text, c.begins, c.ends); got != c.want {
			t.Errorf("%q, cut at its beginning %v, at its end %v: %q", c.text, c.begins, c.ends, got)
		}
	}
	lines := make(chan string, 1)
	f := forwarder{mask: m, lines: lines}
	f.add([]byte(strings.Repeat("x", loggedLineBytes-4) + "abcdefgh\n"))
	if line := <-lines; strings.HasSuffix(line, "a") || strings.Contains(line, "abcd") {
		t.Errorf("a line above the limit ends with %q", line[len(line)-10:])
	}
	tail := &tail{mask: m}
	tail.write([]byte("abcdefgh" + strings.Repeat("\n", maxTailBytes-4)))
	if text := tail.text(); text != "" {
		t.Errorf("the tail shows %q", text)
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("a", 3*lineBuffer)
	for input, want := range map[string][]string{
		"":                 {""},
		"a\nb":             {"a", "b"},
		"a\r\n\nb\n":       {"a", "", "b", ""},
		long + "\nshort\n": {long, "short", ""},
		strings.Repeat("b", 400000) + "z\nnext\n": {strings.Repeat("b", 2*edgeBytes-2) + "z", "next", ""},
	} {
		chopped := iotest.HalfReader
		if len(input) < 100 {
			chopped = iotest.OneByteReader
		}
		r := newLineReader(chopped(strings.NewReader(input)), 300000)
		var got []string
		for {
			line, _, err := r.next()
			got = append(got, string(line))
			if err != nil {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("input of %d bytes: got %d lines", len(input), len(got))
		}
	}
}

func TestIDOfCutLine(t *testing.T) {
	for line, want := range map[string]int64{
		`{"jsonrpc":"2.0","id":7,"result":{"x":"`:  7,
		`{ "id" : "8" , "jsonrpc":"2.0", "result"`: 8,
		`…"}]},"jsonrpc":"2.0","id":9}`:            9,
		`…"}]},"id":10,"jsonrpc":"2.0"}`:           10,
	} {
		if got, ok := idOfCut([]byte(line)); !ok || got != want {
			t.Errorf("%s: %d, %v", line, got, ok)
		}
	}
	if id, ok := idOfCut([]byte(`{"result":{"id":3,`)); ok {
		t.Errorf("an inner id was taken: %d", id)
	}
}

func TestIDsOfOurs(t *testing.T) {
	for raw, want := range map[string]int64{`7`: 7, `"7"`: 7, `7.0`: 7, `"7.0"`: 7, `7e0`: 7, `9007199254740991`: 1<<53 - 1} {
		if got, ok := parseID(json.RawMessage(raw)); !ok || got != want {
			t.Errorf("%s: %d, %v", raw, got, ok)
		}
	}
	for _, raw := range []string{`7.5`, `"x"`, `""`, `null`, ``, `1e300`, `"NaN"`, `"Inf"`, `9007199254740993.0`, `-1.0`, `{}`} {
		if got, ok := parseID(json.RawMessage(raw)); ok {
			t.Errorf("%s: %d", raw, got)
		}
	}
}

func TestEvents(t *testing.T) {
	input := "\ufeffretry: 1500\n\n:comment\nevent: endpoint\r\ndata: /x?y\r\n\r\nid: 1\ndata:{\ndata: }\nunknown: z\n\nid: a\x00b\ndata\n\ndata: cut off"
	var got []event
	if err := readEvents(iotest.HalfReader(strings.NewReader(input)), func(e event) { got = append(got, e) }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 || got[0].retry != 1500*time.Millisecond || got[1].name != "endpoint" || string(got[1].data) != "/x?y" ||
		got[2].id != "1" || string(got[2].data) != "{\n}" || got[3].id != "" {
		t.Errorf("events %+v", got)
	}
}

func TestMessagesOfSeveralLinesTravelAsOne(t *testing.T) {
	m := &wire.Message{Method: "x", Params: json.RawMessage("{\r\n\"a\": \"b\\n\"\n}")}
	line := oneLine(append(m.Append(nil), '\n'))
	if bytes.Count(line, []byte("\n")) != 1 || !json.Valid(line) {
		t.Errorf("%q", line)
	}
}

func TestVersionsInOrder(t *testing.T) {
	dir := t.TempDir()
	for _, v := range []string{"v9.11.2", "v22.1.0", "v22.10.0", "v8.0.0"} {
		if err := os.MkdirAll(filepath.Join(dir, v, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got := newest(filepath.Join(dir, "*", "bin"))
	if len(got) != 1 || !strings.Contains(got[0], "v22.10.0") {
		t.Errorf("newest is %v", got)
	}
}

func TestEnvironment(t *testing.T) {
	env := environment([]string{"A=1", "B=2", "C=3"}, []mcpconfig.EnvVar{{Name: "B", Unset: true}, {Name: "C", Value: mcpconfig.NewSecret("x=y")}, {Name: "D"}})
	if want := []string{"A=1", "C=x=y", "D="}; !slices.Equal(env, want) {
		t.Errorf("environment %v", env)
	}
	t.Setenv("TRAPOS_SERVER_PASSWORD", "x")
	t.Setenv("NOTIFY_SOCKET", "x")
	for _, pair := range ownEnviron() {
		if strings.HasPrefix(pair, "TRAPOS_") || strings.HasPrefix(pair, "NOTIFY_SOCKET=") {
			t.Errorf("children get %s", pair)
		}
	}
}

// TestSlowLogDoesNotHoldTheServerUp reads a flood with a log that takes nothing.
func TestSlowLogDoesNotHoldTheServerUp(t *testing.T) {
	release := make(chan struct{})
	log := zap.New(blocked{release})
	tail := &tail{}
	done := make(chan struct{})
	r, w := io.Pipe()
	go func() {
		defer close(done)
		drainStderr(r, tail, log)
	}()
	for i := range 1000 {
		if _, err := io.WriteString(w, "line "+strconv.Itoa(i)+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	close(release)
	<-done
	if !strings.HasSuffix(tail.text(), "line 999") {
		t.Errorf("the tail ends with %q", tail.text())
	}
}

// TestStderrIsForwardedAtABoundedRate: what a server floods its stderr with is read, and not all of it logged.
func TestStderrIsForwardedAtABoundedRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.DebugLevel)
		r, w := io.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			drainStderr(r, &tail{}, zap.New(core))
		}()
		for range 3 {
			for i := range 10 * loggedLinesPerTick {
				if _, err := io.WriteString(w, "line "+strconv.Itoa(i)+"\x1b[31m\n"); err != nil {
					t.Error(err)
				}
				synctest.Wait() // the log keeps up
			}
			pass(2 * loggedTick)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		<-done
		if n := logs.Len(); n != 3*loggedLinesPerTick {
			t.Errorf("%d lines were logged", n)
		}
		if line := logs.All()[0].ContextMap()["line"]; line != "line 0" {
			t.Errorf("the first is %q", line)
		}
	})
}

// TestNoiseIsSummarised: lines on stdout that are no messages are told of once, and counted in the end.
func TestNoiseIsSummarised(t *testing.T) {
	core, logs := observer.New(zap.DebugLevel)
	n := noise{log: zap.New(core)}
	for range 1000 {
		n.add(nil)
	}
	n.report()
	all := logs.All()
	if len(all) != 2 || all[0].Level != zap.WarnLevel || all[1].ContextMap()["count"] != int64(1000) {
		t.Errorf("logged %v", all)
	}
}

// FuzzLine feeds any line of a server's stdout to the filter: nothing may panic, and a pending call gets at most one
// answer.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":"m"}}`, `[{"jsonrpc":"2.0","id":1,"result":1},[]]`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`, `{"id":1}`, `hello`, `{"jsonrpc":"2.0","id":9,"method":"ping"}`, "\x00", `[`, `{"jsonrpc":"2.0","method":"notifications/message","params":[]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		s := newSession("s", zap.NewNop(), quick(), identity{"c", "1"})
		l := &stdioLink{session: s, log: s.log, in: &stdin{queue: make(chan []byte, maxQueuedMessages)}, gone: make(chan struct{}), quit: make(chan struct{})}
		s.link = l
		c := &call{done: make(chan outcome, 1), progress: make(chan json.RawMessage, 1), client: &asker{}}
		s.next, c.id = 1, 1
		s.calls[1] = c
		l.message(line)
		idOfCut(line)
		s.fail(errors.New("over"))
		s.wait()
		select {
		case <-c.done:
		default:
			t.Error("the call got no answer")
		}
	})
}
