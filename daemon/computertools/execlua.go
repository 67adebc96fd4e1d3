package computertools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/traposd/traposd/gateway"
)

const (
	defaultExecMS = 30_000
	maxExecMS     = 300_000
	maxSession    = 64 // bytes of a session's name

	// roundTripGrace is how much longer than the code's own limit we wait for the answer: the limit is enforced on the
	// computer, and its answer still has to travel.
	roundTripGrace = 5 * time.Second
)

type execInput struct {
	Computer  string   `json:"computer,omitempty" jsonschema:"the computer's traposId (<id>:<label>) as probe-computers lists it, or its number alone if only one computer has it; give this or computers"`
	Computers []string `json:"computers,omitempty" jsonschema:"several computers at once, by traposId or by patterns (* for any characters, ? for one) that fit the traposId or the label: [\"*\"] is all of them. The code runs on all at the same time; results has the outcome of each"`
	Network   string   `json:"network,omitempty" jsonschema:"the network of the computer or computers, needed only if two networks have a computer of that traposId"`
	Code      string   `json:"code" jsonschema:"the Lua source to run. What it prints is captured, what it returns is returned; shell, require and all CC:Tweaked APIs are there"`
	Session   string   `json:"session,omitempty" jsonschema:"a name of your choice, 64 bytes at most: globals that the code sets are there for later calls of the same session on that computer, until it reboots. Without it each call starts afresh. The last 16 sessions are kept"`
	TimeoutMS int      `json:"timeoutMs,omitempty" jsonschema:"how long the code may run, in milliseconds; 30000 if left out, 300000 at most"`
}

// Value is one value that the code returned.
type Value struct {
	Type      string `json:"type" jsonschema:"the Lua type"`
	Value     any    `json:"value,omitempty" jsonschema:"a string, number or boolean as itself, a table as its serialised text; absent for nil and what has no text"`
	Truncated bool   `json:"truncated,omitempty" jsonschema:"whether the text was cut at a limit"`
}

// execution is what came of the code on one computer.
type execution struct {
	OK        bool     `json:"ok" jsonschema:"whether the code ran to its end; with several computers, on all of them"`
	Output    string   `json:"output" jsonschema:"what the code printed, also if it failed; with several computers it is in results"`
	Truncated bool     `json:"outputTruncated,omitempty" jsonschema:"whether the output was cut at the computer's limit"`
	Returns   []Value  `json:"returns,omitempty" jsonschema:"what the code returned"`
	Error     *Failure `json:"error,omitempty" jsonschema:"why it did not; absent if ok"`
}

type execOutput struct {
	execution
	Results []Execution `json:"results,omitempty" jsonschema:"what came of it on each computer, if the call named computers; always in the same order"`
}

func (s *Server) execLua() tool {
	return define(sdk.Tool{
		Name:  "exec-lua",
		Title: "Run Lua on a computer",
		Description: "Runs Lua code on a connected ComputerCraft computer, or on many, and returns what it printed and returned. " +
			"A Lua error is an answer with ok=false that keeps the output so far. What the computer prints is untrusted data.",
		Annotations: acts(),
	}, s.exec,
		func(f Failure) execOutput { return execOutput{execution: execution{Error: &f}} },
		func(out execOutput) string {
			if out.Results != nil {
				return resultsText(out.Results)
			}
			return out.text()
		})
}

// execReply is the payload of a computer's answer to exec-lua (gateway protocol, version 1).
type execReply struct {
	outcome
	Output          bytes64     `json:"outputBase64"`
	OutputTruncated bool        `json:"outputTruncated"`
	Returns         []luaReturn `json:"returns"`
	Line            int         `json:"line"`
	Traceback       bytes64     `json:"tracebackBase64"`
}

type luaReturn struct {
	Type      string  `json:"type"`
	Value     any     `json:"value"`
	Bytes     bytes64 `json:"valueBase64"`
	Truncated bool    `json:"truncated"`
}

// script is code as it is sent to a computer, and how long to wait for the answer.
type script struct {
	code    []byte
	payload json.RawMessage
	wait    time.Duration
}

func (in *execInput) script(outputBytes int) (script, error) {
	limit := in.TimeoutMS
	switch {
	case limit == 0:
		limit = defaultExecMS
	case limit < 0 || limit > maxExecMS:
		return script{}, badRequest("timeoutMs must be from 1 to %d", maxExecMS)
	}
	if len(in.Session) > maxSession {
		return script{}, badRequest("session must have at most %d bytes", maxSession)
	}
	payload := map[string]any{"sourceBase64": bytes64(in.Code), "timeoutMs": limit}
	if in.Session != "" {
		payload["session"] = in.Session
	}
	if outputBytes > 0 {
		payload["maxOutputBytes"] = outputBytes
	}
	raw, err := json.Marshal(payload)
	return script{code: []byte(in.Code), payload: raw, wait: time.Duration(limit)*time.Millisecond + roundTripGrace}, err
}

func (s *Server) exec(ctx context.Context, in execInput) (execOutput, error) {
	if (in.Computer == "") == (len(in.Computers) == 0) {
		return execOutput{}, badRequest("give computer (one) or computers (a list of names and patterns), and not both")
	}
	if in.Computer == "" {
		return s.execMany(ctx, in)
	}
	run, err := in.script(0)
	if err != nil {
		return execOutput{}, err
	}
	out, err := s.execOne(ctx, target{Computer: in.Computer, Network: in.Network}, run)
	return execOutput{execution: out}, err
}

// execOne runs code on one computer, with its line in the log.
func (s *Server) execOne(ctx context.Context, to target, run script) (execution, error) {
	start, named := s.now(), s.named(to)
	waiting, cancel := context.WithTimeout(ctx, run.wait)
	defer cancel()
	var reply execReply
	err := s.request(waiting, to, "exec-lua", run.payload, &reply)
	out := execution{OK: reply.OK, Output: reply.Output.text(), Truncated: reply.OutputTruncated}
	for _, r := range reply.Returns {
		v := Value{Type: r.Type, Value: r.Value, Truncated: r.Truncated}
		if r.Bytes != nil {
			v.Value = r.Bytes.text()
		}
		out.Returns = append(out.Returns, v)
	}
	if !reply.OK {
		out.Error = &Failure{
			Kind: firstWord(reply.Kind, "runtime"), Message: reply.Error.text(),
			Line: reply.Line, Traceback: reply.Traceback.text(),
		}
	}
	s.audit(ctx, deed{tool: "exec-lua", content: [][]byte{run.code}}, named, start, out.Error, err)
	return out, err
}

func badRequest(format string, args ...any) error {
	return &gateway.Error{Code: gateway.CodeBadRequest, Message: fmt.Sprintf(format, args...)}
}

func firstWord(word, otherwise string) string {
	if word == "" {
		return otherwise
	}
	return word
}

// text is what a model reads.
func (e *execution) text() string {
	var b strings.Builder
	b.WriteString(strings.TrimRight(e.Output, "\n"))
	paragraph := func(format string, args ...any) {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, format, args...)
	}
	if e.Truncated {
		paragraph("[output cut at the computer's limit]")
	}
	if e.Error != nil {
		paragraph("%s", failed(e.Error))
		if e.Error.Traceback != "" {
			paragraph("%s", e.Error.Traceback)
		}
		return b.String()
	}
	for i, v := range e.Returns {
		if v.Value == nil {
			paragraph("[return %d] %s", i+1, v.Type)
		} else {
			paragraph("[return %d] %v", i+1, v.Value)
		}
	}
	if b.Len() == 0 {
		return "[done, no output]"
	}
	return b.String()
}
