// Package badserver is an MCP server for tests, on stdio, that misbehaves on demand: one switch per misbehaviour. It
// answers with bytes of its own making, so that a test can see what a relay does to them.
package badserver

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Switches, given to Main separated by spaces; those with "=" take a value.
//
//	ok                    no misbehaviour
//	noise                 prints a greeting and other lines that are no JSON-RPC
//	stderr-flood          writes 4 MiB to stderr without a newline before it answers
//	secret=TEXT           writes TEXT to stderr
//	fail=TEXT             writes TEXT to stderr and exits with code 7 at once
//	fail-if=FILE          exits at once if there is that file
//	silent                never answers anything
//	exit-unknown          exits on a method it does not know
//	ignore-eof            goes on when stdin ends
//	ignore-term           ignores SIGTERM
//	grandchild=FILE       starts a child of its own that outlives it, and writes its pid to FILE
//	setsid-grandchild=FILE the same in a session of its own
//	crash-after=METHOD    exits with code 7 when that method is called, without an answer
//	page-loop             the pages of its list repeat
//	version=TEXT          answers with that protocol version
//	tools=N               offers N tools besides the usual ones
//	describe-from=FILE    describes its tool "echo" with what is in that file when it is asked
//	tool=NAME             offers a tool of that name as well
//	bad-schemas           offers tools with schemas that are no object schemas
//	slow-start=MS         waits before it answers initialize
//	string-ids            answers with ids turned into strings
//	float-ids             answers with ids turned into fractional numbers, as languages without integers write them
//	answer-notifications  answers notifications too, with an error whose id is null
//	answer-twice          gives every answer twice, and one that nobody asked for
//	ignore-cancel         finishes calls that are cancelled
//	stdout-flood          writes 4 MiB to stdout without a newline before it answers
//	notify-flood          says 5000 times right after the handshake that its tools changed
//	ask-flood             asks 500 things at once right after the handshake
//	ask-roots             asks for roots right after the handshake
type switches map[string]string

type server struct {
	sw  switches
	out struct {
		sync.Mutex
		*bufio.Writer
	}
	calls sync.WaitGroup
	mu    sync.Mutex
	live  map[string]chan struct{} // calls in flight, by id: closed on cancellation
	asked map[string]chan message  // requests of ours to the client
	next  int
	tools []string
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// Main runs the server on this process's stdin and stdout and returns the exit code.
func Main(mode string) int {
	s := &server{sw: switches{}, live: map[string]chan struct{}{}, asked: map[string]chan message{}}
	for word := range strings.FieldsSeq(mode) {
		name, value, _ := strings.Cut(word, "=")
		s.sw[name] = value
	}
	s.out.Writer = bufio.NewWriter(os.Stdout)
	if text, ok := s.sw["fail"]; ok {
		fmt.Fprintln(os.Stderr, strings.ReplaceAll(text, "_", " "))
		return 7
	}
	if file, ok := s.sw["fail-if"]; ok {
		if _, err := os.Stat(file); err == nil {
			return 7
		}
	}
	s.prepare()
	err := s.serve(os.Stdin)
	if _, ok := s.sw["ignore-eof"]; ok {
		select {}
	}
	s.calls.Wait()
	if !errors.Is(err, io.EOF) {
		return 1
	}
	return 0
}

func (s *server) prepare() {
	if _, ok := s.sw["ignore-term"]; ok {
		signal.Ignore(syscall.SIGTERM)
	}
	if _, ok := s.sw["noise"]; ok {
		s.raw("Welcome to the server!\n\n{not json\n{\"some\":\"object\"}\n[1,2]\n\x00\xff\xfe\n")
	}
	if _, ok := s.sw["stdout-flood"]; ok {
		s.raw(strings.Repeat("progress 10% \r", 300<<10) + "\n")
	}
	if text, ok := s.sw["secret"]; ok {
		fmt.Fprintln(os.Stderr, "the token is "+text)
	}
	if _, ok := s.sw["stderr-flood"]; ok {
		_, _ = os.Stderr.WriteString(strings.Repeat("\x1b[31mx\x00\xff", 512<<10))
	}
	if file, ok := s.sw["grandchild"]; ok {
		s.breed(file, false)
	}
	if file, ok := s.sw["setsid-grandchild"]; ok {
		s.breed(file, true)
	}
}

// breed starts a child that ignores the end of its stdin.
func (s *server) breed(file string, session bool) {
	cmd := exec.Command(os.Args[0]) //nolint:noctx // it is to outlive us
	cmd.Env = append(os.Environ(), "TEST_UPSTREAM_SERVER=ignore-eof ignore-term")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // it keeps the pipes open
	if session {
		ownSession(cmd)
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (s *server) raw(text string) {
	s.out.Lock()
	defer s.out.Unlock()
	_, _ = s.out.WriteString(text)
	_ = s.out.Flush()
}

func (s *server) send(text string) { s.raw(text + "\n") }

func (s *server) serve(in io.Reader) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		if _, ok := s.sw["silent"]; ok {
			continue
		}
		if m.Method == "" {
			s.mu.Lock()
			c := s.asked[string(m.ID)]
			s.mu.Unlock()
			if c != nil {
				c <- m
			}
			continue
		}
		s.handle(m)
	}
}

func (s *server) handle(m message) {
	if at, ok := s.sw["crash-after"]; ok && at == m.Method {
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		os.Exit(7)
	}
	if _, ok := s.sw["answer-notifications"]; ok && m.ID == nil {
		s.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"unknown method"}}`)
	}
	switch m.Method {
	case "initialize":
		if ms, err := strconv.Atoi(s.sw["slow-start"]); err == nil {
			time.Sleep(time.Duration(ms) * time.Millisecond)
		}
		version := "2025-11-25"
		if v, ok := s.sw["version"]; ok {
			version = v
		}
		s.result(m.ID, `{"protocolVersion":"`+version+`","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"bad","version":"1"},"instructions":"be good"}`)
	case "notifications/initialized":
		if _, ok := s.sw["ask-roots"]; ok {
			s.send(`{"jsonrpc":"2.0","id":"early","method":"roots/list"}`)
		}
		if _, ok := s.sw["notify-flood"]; ok {
			s.raw(strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n", 5000))
		}
		if _, ok := s.sw["ask-flood"]; ok {
			for i := range 500 {
				s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"flood-%d","method":"sampling/createMessage","params":{}}`, i))
			}
		}
	case "notifications/cancelled":
		if _, ok := s.sw["ignore-cancel"]; ok {
			return
		}
		var p struct{ RequestID json.RawMessage }
		_ = json.Unmarshal(m.Params, &p)
		s.mu.Lock()
		if c := s.live[string(p.RequestID)]; c != nil {
			delete(s.live, string(p.RequestID))
			close(c)
		}
		s.mu.Unlock()
	case "ping":
		s.result(m.ID, `{}`)
	case "tools/list":
		s.result(m.ID, s.list(m.Params))
	case "tools/call":
		cancelled := make(chan struct{})
		s.mu.Lock()
		s.live[string(m.ID)] = cancelled
		s.mu.Unlock()
		s.calls.Go(func() { s.call(m, cancelled) })
	default:
		if m.ID == nil {
			return
		}
		if _, ok := s.sw["exit-unknown"]; ok {
			os.Exit(3)
		}
		s.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32601,"message":"unknown method"}}`)
	}
}

func (s *server) result(id json.RawMessage, result string) {
	if _, ok := s.sw["string-ids"]; ok {
		id = json.RawMessage(strconv.Quote(string(id)))
	}
	if _, ok := s.sw["float-ids"]; ok {
		id = append(append(json.RawMessage{}, id...), ".0"...)
	}
	text := `{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`
	if _, ok := s.sw["answer-twice"]; ok {
		text += "\n" + `{"jsonrpc":"2.0","id":4711,"result":{}}` + "\n" + text
	}
	s.send(text)
}

func (s *server) list(params json.RawMessage) string {
	description := "d"
	if text, err := os.ReadFile(s.sw["describe-from"]); err == nil {
		description = string(text)
	}
	tools := []string{`{"name":"echo","description":` + strconv.Quote(description) + `,"inputSchema":{"type":"object","x":9007199254740993},"future":1.0}`}
	for _, name := range []string{"slow", "pid", "progress", "sample", "ask", "exit", "noisy-result", "big", "grow"} {
		tools = append(tools, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
	}
	if name, ok := s.sw["tool"]; ok {
		tools = append(tools, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
	}
	n, _ := strconv.Atoi(s.sw["tools"])
	for i := range n {
		tools = append(tools, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, i))
	}
	if _, ok := s.sw["bad-schemas"]; ok {
		tools = append(tools, `{"name":"none"}`, `{"name":"null","inputSchema":null}`, `{"name":"untyped","inputSchema":{"properties":{}}}`,
			`{"name":"union","inputSchema":{"type":["null","object"]}}`, `{"name":"string","inputSchema":{"type":"string"}}`, `{"name":""}`, `null`, `7`,
			`{"name":"echo","inputSchema":{"type":"object"}}`, `{"name":"array","inputSchema":[]}`, `{"name":"true","inputSchema":true}`)
	}
	s.mu.Lock()
	tools = append(tools, s.tools...)
	s.mu.Unlock()
	cursor := ""
	if _, ok := s.sw["page-loop"]; ok {
		cursor = `,"nextCursor":"again"`
		if params != nil {
			tools = []string{`{"name":"second","inputSchema":{"type":"object"}}`}
		}
	}
	return `{"tools":[` + strings.Join(tools, ",") + `]` + cursor + `}`
}
