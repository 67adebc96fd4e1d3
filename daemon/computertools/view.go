package computertools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/traposd/traposd/gateway"
)

// Picture is a computer's screen as PNG, for the operator's own eyes: the policy is about what clients may do, and has no say
// in it. It fails with a *gateway.Error if the computer does not answer.
func (s *Server) Picture(ctx context.Context, network, traposID string) ([]byte, error) {
	payload, err := s.registry.Request(ctx, network, traposID, "read-screen", json.RawMessage(`{}`))
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
