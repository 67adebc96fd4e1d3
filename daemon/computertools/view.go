package computertools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/traposd/traposd/daemon/policy"
	"github.com/traposd/traposd/gateway"
)

// Picture is a computer's screen as PNG, for the status page. Whoever reaches the page may be any local process, so a screen
// that clients may not read, or only after somebody was asked, is not shown there either. It fails with a *gateway.Error if
// the computer does not answer.
func (s *Server) Picture(ctx context.Context, network, traposID string) ([]byte, error) {
	found, err := s.registry.Lookup(network, traposID)
	if err != nil {
		return nil, err
	}
	p := permission{to: target{Computer: found.TraposID, Network: found.NetworkID}, computer: computerOf(found)}
	if s.judge(ctx, &p, deed{tool: "read-screen"}); p.verdict.Outcome != policy.Allow {
		return nil, &refusal{kindDenied, p.verdict.Message("read-screen", p.to.Computer)}
	}
	payload, err := s.registry.Request(ctx, p.to.Network, p.to.Computer, "read-screen", json.RawMessage(`{}`))
	if err != nil {
		return nil, err
	}
	var reply screenReply
	if err := json.Unmarshal(payload, &reply); err != nil {
		return nil, &gateway.Error{Code: gateway.CodeInternal, Message: fmt.Sprintf("computer %s sent what is no screen", traposID)}
	}
	if failure := reply.failure(); failure != nil {
		return nil, errors.New(failure.Message)
	}
	if !reply.valid() {
		return nil, &gateway.Error{Code: gateway.CodeInternal, Message: fmt.Sprintf("computer %s sent a screen that does not fit its size", traposID)}
	}
	return draw(&reply)
}
