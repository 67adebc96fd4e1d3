package computertools

import (
	"context"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	defaultReturnSeconds = 15
	maxReturnSeconds     = 120
	returnPoll           = 100 * time.Millisecond
)

type rebootInput struct {
	target
	WaitSeconds *int `json:"waitSeconds,omitempty" jsonschema:"how long to wait for the computer to be back and ready, in seconds; 15 if left out, 120 at most, 0 does not wait"`
}

type rebootOutput struct {
	OK    bool     `json:"ok" jsonschema:"whether the computer reboots"`
	Back  bool     `json:"back,omitempty" jsonschema:"whether it is connected and ready again"`
	Error *Failure `json:"error,omitempty" jsonschema:"why not; absent if ok"`
}

func (s *Server) rebootComputer() tool {
	return define(sdk.Tool{
		Name:        "reboot-computer",
		Title:       "Reboot a computer",
		Description: "Reboots a connected ComputerCraft computer: every program on it ends, sessions of exec-lua are forgotten, startup files run.",
		Annotations: changes(false),
	}, s.reboot,
		func(f Failure) rebootOutput { return rebootOutput{Error: &f} },
		func(out rebootOutput) string {
			switch {
			case out.Error != nil:
				return failed(out.Error)
			case out.Back:
				return "rebooted, and connected again"
			}
			return "it reboots, and was not back yet"
		})
}

func (s *Server) reboot(ctx context.Context, in rebootInput) (rebootOutput, error) {
	seconds := defaultReturnSeconds
	if in.WaitSeconds != nil {
		seconds = *in.WaitSeconds
	}
	if seconds < 0 || seconds > maxReturnSeconds {
		return rebootOutput{}, badRequest("waitSeconds must be from 0 to %d", maxReturnSeconds)
	}
	before, err := s.registry.Lookup(in.Network, in.Computer)
	if err != nil {
		return rebootOutput{}, err
	}
	to := target{Computer: before.TraposID, Network: before.NetworkID}
	var reply outcome
	if _, err := s.carryOut(ctx, to, deed{tool: "reboot-computer"}, map[string]any{}, &reply); err != nil {
		return rebootOutput{}, err
	}
	out := rebootOutput{OK: reply.OK, Error: reply.failure()}
	if out.OK {
		out.Back = s.awaitReturn(ctx, to, before.ConnectedAt, time.Duration(seconds)*time.Second)
	}
	return out, nil
}

// awaitReturn waits until the computer has a newer connection and serves again, and reports whether it came to that.
func (s *Server) awaitReturn(ctx context.Context, to target, before time.Time, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(returnPoll)
	defer tick.Stop()
	for {
		now, err := s.registry.Lookup(to.Network, to.Computer)
		if err == nil && now.ConnectedAt.After(before) && slices.Contains(now.Serves, "exec-lua") {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}
