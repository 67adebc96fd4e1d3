package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/traposd/traposd/mcp/wire"
)

// Outcome is how a relayed request ended, one word of a closed set.
type Outcome string

// The outcomes of relayed requests.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeToolError Outcome = "tool_error" // a result that says isError; not looked for in results above 64 KiB
	OutcomeRefused   Outcome = "refused"    // an error of the server itself
	OutcomeDown      Outcome = "down"       // the server is starting, down or waits for a login
	OutcomeTimeout   Outcome = "timeout"
	OutcomeCancelled Outcome = "cancelled"
)

// Observation is one request that was passed to a server, and has ended.
type Observation struct {
	ServerID string // the Entry's ID
	Server   string // its name; empty for our own tools
	Method   string
	Tool     string // as the server calls it; empty for other methods than tools/call
	Outcome  Outcome
	Duration time.Duration
}

// maxLookedAt bounds the results that are searched for isError.
const maxLookedAt = 64 << 10

func (c *call) observe(ctx context.Context, to target, began time.Time, result []byte, err error) {
	o := Observation{
		ServerID: to.entry.ID, Server: to.entry.Name, Method: c.message.Method, Outcome: OutcomeOK, Duration: time.Since(began),
	}
	if o.Method == "tools/call" {
		o.Tool = to.name
	}
	switch {
	case err == nil && len(result) <= maxLookedAt:
		if raw, _ := wire.Get(result, "isError"); string(raw) == "true" {
			o.Outcome = OutcomeToolError
		}
	case ctx.Err() != nil:
		o.Outcome = OutcomeCancelled
	case err != nil:
		o.Outcome = outcomeOf(err)
	}
	c.endpoint.l.options.Observe(o)
}

func outcomeOf(err error) Outcome {
	var failure *wire.Error
	if !errors.As(err, &failure) {
		return OutcomeRefused
	}
	switch failure.Code {
	case CodeServerStarting, CodeServerDown, CodeNeedsAuthorization:
		return OutcomeDown
	case CodeTimeout:
		return OutcomeTimeout
	case CodeCancelled:
		return OutcomeCancelled
	}
	return OutcomeRefused
}
