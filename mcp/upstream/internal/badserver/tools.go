package badserver

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// call runs a tool:
//
//	echo          the arguments, raw, among members that no library knows
//	slow          waits {"ms"} or for its cancellation, which it then writes to {"file"}
//	pid           its process id
//	progress      {"n"} progress notifications, then the result
//	sample        asks the client for a sample and returns the answer
//	ask           asks the client for {"method"} under the id {"id"}, raw, and returns the id of the answer, raw, as text;
//	              an id of null is not waited for
//	exit          exits with {"code"} in the middle of the call
//	noisy-result  a line that is no JSON before the result
//	big           a text of {"bytes"}
//	grow          offers one more tool from now on, and says so
func (s *server) call(m message, cancelled <-chan struct{}) {
	var p struct {
		Name      string
		Arguments struct {
			MS, N, Code, Bytes int
			File, Method       string
			ID                 json.RawMessage
		}
		Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	var raw struct{ Arguments json.RawMessage }
	if err := json.Unmarshal(m.Params, &raw); err != nil {
		raw.Arguments = nil
	}
	_ = json.Unmarshal(m.Params, &p) // echo takes arguments of any shape
	text := ""
	switch p.Name {
	case "echo":
		s.result(m.ID, `{"content":[{"type":"future","n":9007199254740993,"f":1.0}],"structuredContent":`+string(raw.Arguments)+`,"unknown":{"a":[1.50]}}`)
		return
	case "slow":
		select {
		case <-time.After(time.Duration(p.Arguments.MS) * time.Millisecond):
		case <-cancelled:
			if p.Arguments.File != "" {
				_ = os.WriteFile(p.Arguments.File, []byte("cancelled"), 0o600)
			}
			return
		}
	case "pid":
		text = strconv.Itoa(os.Getpid())
	case "progress":
		for i := range p.Arguments.N {
			s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"extra":1.0}}`, p.Meta.ProgressToken, i+1))
		}
	case "sample":
		text = answerOf(s.ask("", "sampling/createMessage", `{"messages":[]}`))
	case "ask":
		text = string(s.ask(string(p.Arguments.ID), p.Arguments.Method, `{}`).ID)
	case "exit":
		fmt.Fprintln(os.Stderr, "npm error 404 not found")
		os.Exit(p.Arguments.Code)
	case "noisy-result":
		s.raw("debug: about to answer\n")
	case "big": // encoding/json would take seconds for it under the race detector
		s.result(m.ID, `{"content":[{"type":"text","text":"`+strings.Repeat("x", p.Arguments.Bytes)+`"}]}`)
		return
	case "grow":
		s.mu.Lock()
		s.tools = append(s.tools, `{"name":"grown`+strconv.Itoa(len(s.tools))+`","inputSchema":{"type":"object"}}`)
		s.mu.Unlock()
		s.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	default:
		s.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32602,"message":"unknown tool","data":{"n":1.0}}}`)
		return
	}
	s.mu.Lock()
	delete(s.live, string(m.ID))
	s.mu.Unlock()
	quoted, _ := json.Marshal(text)
	s.result(m.ID, `{"content":[{"type":"text","text":`+string(quoted)+`}]}`)
}

// ask sends a request to the client and returns its answer. Without an id it gets one of its own; one of null, which
// nobody can answer, is not waited for.
func (s *server) ask(id, method, params string) message {
	answer := make(chan message, 1)
	s.mu.Lock()
	if id == "" {
		s.next++
		id = strconv.Quote("ask-" + strconv.Itoa(s.next))
	}
	s.asked[id] = answer
	s.mu.Unlock()
	s.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
	if id == "null" {
		return message{}
	}
	return <-answer
}

// answerOf is an answer, error or result, as text.
func answerOf(m message) string {
	if m.Error != nil {
		return string(m.Error)
	}
	return string(m.Result)
}
