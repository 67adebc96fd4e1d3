package computertools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

const (
	questionTimeout = 10 * time.Minute // for a person to answer
	maxShown        = 4096             // bytes of code or content in a question
)

// askFirst puts a question to the person at the client, which is an elicitation by form with nothing to fill in: accept or
// decline. nil is a yes.
func (s *Server) askFirst(ctx context.Context, d deed, asking []*permission) error {
	client := clientOf(ctx)
	cannot := func(why string) error {
		v := asking[0].verdict
		return &refusal{kindCannotAsk, fmt.Sprintf("the policy at %s asks somebody before %s on %s (%s), and %s; "+
			"use a client that takes elicitations, or change that rule", v.Rule, d.tool, asking[0].to.Computer, v.Clause, why)}
	}
	if client == nil || !takesForms(client.Capabilities()) {
		return cannot("the client cannot be asked: it has not declared elicitation by form")
	}
	params, err := json.Marshal(map[string]any{
		"message":         question(client.Name(), d, asking),
		"requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}},
	})
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	raw, err := client.Request(waiting, "elicitation/create", params)
	var coded *wire.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case waiting.Err() != nil:
		return &refusal{kindDeclined, fmt.Sprintf("nobody said yes to %s within %s", d.tool, questionTimeout)}
	case errors.As(err, &coded) && coded.Code == mcp.CodeClientCannot:
		return cannot("the client cannot be asked: " + coded.Message)
	case err != nil:
		return cannot("the client failed to ask")
	}
	answer, _ := wire.Get(raw, "action")
	if action, _ := wire.String(answer); action != "accept" {
		return &refusal{kindDeclined, fmt.Sprintf("somebody was asked about %s on %s, as the policy at %s wants it, and did not agree", d.tool, namesOf(asking), asking[0].verdict.Rule)}
	}
	return nil
}

// takesForms reports whether a client with these capabilities can show a form. An elicitation capability with nothing in it
// means forms (2025-11-25, client/elicitation, "Capabilities").
func takesForms(capabilities json.RawMessage) bool {
	declared, has := wire.Get(capabilities, "elicitation")
	if !has || wire.Kind(declared) != '{' {
		return false
	}
	_, form := wire.Get(declared, "form")
	_, url := wire.Get(declared, "url")
	return form || !url
}

// question is what the person reads. What the caller wrote comes last, so that it cannot pass for our words.
func question(client string, d deed, asking []*permission) string {
	var b strings.Builder
	if client == "" {
		client = "an MCP client"
	}
	fmt.Fprintf(&b, "May %s use %s on %s? The policy at %s (%s) asks you first.",
		line(client), d.tool, line(namesOf(asking)), asking[0].verdict.Rule, asking[0].verdict.Clause)
	for _, path := range d.paths() {
		fmt.Fprintf(&b, "\nPath: %s", line(path))
	}
	if d.shown != "" {
		text, cut := d.shown, ""
		if len(text) > maxShown {
			text, cut = text[:maxShown], fmt.Sprintf("\n[and %d bytes more]", len(d.shown)-maxShown)
		}
		fmt.Fprintf(&b, "\nWhat it sends:\n%s%s", plain(text), cut)
	}
	return b.String()
}

// line is plain text that cannot pass for several lines.
func line(text string) string { return strings.ReplaceAll(plain(text), "\n", " ") }

// plain is text without anything that changes how the rest looks: control characters, and those that turn its direction.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}
