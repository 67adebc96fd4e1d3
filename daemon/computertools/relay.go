package computertools

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/daemon/policy"
	"github.com/traposd/traposd/gateway"
)

// Relay carries out what one computer asks of another of its network, if the policy lets it: it is for gateway.Options.Relay.
// What has the name of a tool is held against the rules for tools and paths, and leaves the same line in the log; the client
// of that line is the computer that asked. A refusal is gateway.CodeUnauthorized.
func (s *Server) Relay(ctx context.Context, r gateway.RelayRequest) (json.RawMessage, error) {
	start := s.now()
	_, isTool := s.tools[r.Type]
	d, payload := deed{tool: r.Type}, r.Payload
	var fields map[string]json.RawMessage
	if isTool {
		var err error
		if fields, d, err = relayedDeed(r.Type, r.Payload); err != nil {
			return nil, badRequest("the payload of %s cannot be read: %v", r.Type, err)
		}
	}
	request := policy.Request{Computer: computerOf(r.To), Tool: r.Type, Changes: true, Open: true, Read: d.read, Write: d.write}
	if isTool {
		request.Changes, request.Open = s.changes(r.Type), s.open(r.Type)
	}
	v := s.policy().Relay(computerOf(r.From), request, isTool)
	if v.Outcome != policy.Allow {
		s.relayed(r, d, v, kindDenied, start)
		return nil, &gateway.Error{Code: gateway.CodeUnauthorized, Message: v.Message(r.Type, r.To.TraposID)}
	}
	if r.Type == "exec-lua" && v.MaxRun > 0 && !runsWithin(fields["timeoutMs"], v.MaxRun) {
		fields["timeoutMs"] = json.RawMessage(strconv.FormatInt(v.MaxRun.Milliseconds(), 10))
	}
	if isTool {
		// What was read is what is sent: a text that two readers take for two things is not.
		var err error
		if payload, err = json.Marshal(fields); err != nil {
			return nil, err
		}
	}
	answer, err := s.registry.Request(ctx, r.To.NetworkID, r.To.TraposID, r.Type, payload)
	if request.Changes {
		s.relayed(r, d, v, relayResult(answer, err), start)
	}
	return answer, err
}

// relayed writes the line of a relay.
func (s *Server) relayed(r gateway.RelayRequest, d deed, v policy.Verdict, result string, start time.Time) {
	s.record([]zap.Field{
		zap.String("client", "computer "+r.From.TraposID), zap.String("network", r.To.NetworkID), zap.String("computer", r.To.TraposID),
	}, d, v, result, start)
}

func relayResult(answer json.RawMessage, err error) string {
	var coded *gateway.Error
	if errors.As(err, &coded) {
		return string(coded.Code)
	}
	var o struct {
		OK   *bool  `json:"ok"`
		Kind string `json:"kind"`
	}
	// What has no ok in it is a program's own answer.
	if json.Unmarshal(answer, &o) == nil && o.OK != nil && !*o.OK {
		return firstWord(o.Kind, "io")
	}
	return "ok"
}

// relayedDeed is what a payload of the gateway protocol asks a computer to do.
func relayedDeed(kind string, payload json.RawMessage) (fields map[string]json.RawMessage, d deed, err error) {
	d = deed{tool: kind}
	if len(payload) == 0 {
		payload = json.RawMessage(`{}`)
	}
	if err := json.Unmarshal(payload, &fields); err != nil || fields == nil {
		return nil, d, errors.New("it must be an object")
	}
	path := func(name string) policy.Path {
		text, _, e := bytesField(fields, name)
		err = errors.Join(err, e)
		return policy.Path{Name: text}
	}
	content := func(name string) {
		text, found, e := bytesField(fields, name)
		err = errors.Join(err, e)
		if found {
			d.content, d.size = []byte(text), len(text)
		}
	}
	switch kind {
	case "exec-lua":
		content("source")
	case "write-file":
		d.write = []policy.Path{path("path")}
		if _, expects := fields["expectedSha256"]; expects {
			d.read = d.write // the answer tells what the file holds
		}
		content("data")
	case "edit-file":
		p := path("path")
		d.read, d.write = []policy.Path{p}, []policy.Path{p}
		content("new")
	case "read-file", "list-files":
		d.read = []policy.Path{path("path")}
	case "delete-file":
		p := path("path")
		p.Below = string(fields["recursive"]) == "true"
		d.write = []policy.Path{p}
	case "move-file":
		from, to := path("from"), path("to")
		from.Below, to.Below = true, true
		d.read, d.write = []policy.Path{from}, []policy.Path{from, to}
	}
	if kind == "list-files" { // nobody would leave out of the answer what may not be seen
		d.read[0].Below = true
	}
	return fields, d, err
}

// bytesField is the field as the programs on a computer read it: NAMEBase64 if there is one, else NAME.
func bytesField(fields map[string]json.RawMessage, name string) (text string, found bool, err error) {
	if raw, found := fields[name+"Base64"]; found && string(raw) != "null" {
		var coded string
		if json.Unmarshal(raw, &coded) != nil {
			return "", false, errors.New(name + "Base64 must be a string")
		}
		data, err := base64.StdEncoding.Strict().DecodeString(coded)
		if err != nil {
			return "", false, errors.New(name + "Base64 is not base64")
		}
		return string(data), true, nil
	}
	raw, found := fields[name]
	if !found || string(raw) == "null" {
		return "", false, nil
	}
	if json.Unmarshal(raw, &text) != nil {
		return "", false, errors.New(name + " must be a string")
	}
	if slices.ContainsFunc([]byte(text), func(c byte) bool { return c >= 0x80 }) {
		return "", false, errors.New(name + " must be ASCII; use " + name + "Base64")
	}
	return text, true, nil
}

// runsWithin reports whether a payload has a time for its code to run, and not too long a one.
func runsWithin(timeoutMs json.RawMessage, limit time.Duration) bool {
	given, err := strconv.ParseFloat(string(timeoutMs), 64)
	return err == nil && given >= 1 && given <= float64(limit.Milliseconds())
}
