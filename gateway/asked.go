package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// maxRelayTimeout bounds how long a computer may have us wait for another one.
const maxRelayTimeout = 10 * time.Minute

// asks answers a computer_request.
func (s *session) asks(f *inbound) error {
	if !validID(f.ID) {
		return newError(CodeBadRequest, "a request's id must be 1 to 64 printable characters")
	}
	ctx, cancel := context.WithCancel(context.Background())
	if refusal := s.admit(f.ID, cancel); refusal != nil {
		cancel()
		return s.reply(appendErrorResponse(nil, f.ID, refusal))
	}
	if f.Request == "relay" && (s.g.opts.AllowRelay || s.g.opts.Relay != nil) {
		id, payload, timeout := f.ID, f.Payload, relayTimeout(f.TimeoutMs)
		s.g.running.Go(func() {
			defer cancel()
			s.relay(ctx, id, payload, timeout)
		})
		return nil
	}
	cancel() // the others are answered before the next frame is read
	payload, err := s.builtin(f)
	s.respond(f.ID, payload, err)
	return nil
}

// admit notes that a request of the computer is being answered.
func (s *session) admit(id string, cancel context.CancelFunc) *Error {
	c := s.computer
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := s.asked[id]; taken {
		return newError(CodeDuplicate, "a request of that id is being answered")
	}
	if len(s.asked) >= maxAsked {
		return newError(CodeBusy, "too many requests of this computer are being answered; wait for some of them")
	}
	if s.asked == nil {
		s.asked = make(map[string]context.CancelFunc)
	}
	s.asked[id] = cancel
	return nil
}

func (s *session) builtin(f *inbound) ([]byte, *Error) {
	c := s.computer
	switch f.Request {
	case "ping":
		if len(f.Payload) == 0 {
			return []byte("null"), nil
		}
		return f.Payload, nil
	case "whoami":
		c.mu.Lock()
		me := whoami{c.traposID, c.network, c.computerID}
		c.mu.Unlock()
		return marshal(me)
	case "computers":
		c.mu.Lock()
		network := c.network
		c.mu.Unlock()
		return marshal(s.g.registry.neighbours(network))
	case "relay":
		return nil, newError(CodeUnauthorized, "this gateway does not relay between computers")
	default:
		return nil, newError(CodeUnknownType, "the gateway answers ping, whoami, computers and relay only")
	}
}

type whoami struct {
	TraposID   string `json:"traposId"`
	NetworkID  string `json:"networkId"`
	ComputerID int    `json:"computerId"`
}

type neighbour struct {
	TraposID   string   `json:"traposId"`
	ComputerID int      `json:"computerId"`
	Label      string   `json:"label"`
	Serves     []string `json:"serves"`
	State      State    `json:"state"`
}

type neighbours struct {
	Computers []neighbour `json:"computers"`
}

func (r *Registry) neighbours(network string) neighbours {
	list := neighbours{Computers: []neighbour{}}
	for _, c := range r.Computers() {
		if c.NetworkID == network {
			list.Computers = append(list.Computers, neighbour{c.TraposID, c.ComputerID, c.Label, append([]string{}, c.Serves...), c.State})
		}
	}
	return list
}

func marshal(v any) ([]byte, *Error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, newError(CodeInternal, err.Error())
	}
	return b, nil
}

// relayed is the payload of a relay request.
type relayed struct {
	To      string          `json:"to"`
	Request string          `json:"request"`
	Payload json.RawMessage `json:"payload"`
}

// relay asks another computer of the same network, and answers with its answer.
func (s *session) relay(ctx context.Context, id string, payload json.RawMessage, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var r relayed
	if err := json.Unmarshal(payload, &r); err != nil || r.To == "" || r.Request == "" {
		s.respond(id, nil, newError(CodeBadRequest, "a relay's payload must have to, request and payload"))
		return
	}
	from, connected := s.computer.snapshot()
	if !connected {
		return // nobody is there for the answer
	}
	answer, err := s.g.registry.relay(ctx, from, r, s.g.opts.Relay)
	s.respond(id, answer, err)
}

// RelayRequest is what one computer asks of another of its network.
type RelayRequest struct {
	From, To Computer
	Type     string
	Payload  json.RawMessage // valid JSON, or empty
}

func (r *Registry) relay(ctx context.Context, from Computer, asked relayed, hook func(context.Context, RelayRequest) (json.RawMessage, error)) ([]byte, *Error) {
	if hook == nil {
		return r.request(ctx, from.NetworkID, asked.To, asked.Request, asked.Payload)
	}
	found, e := r.find(from.NetworkID, asked.To)
	if e != nil {
		return nil, e
	}
	to, connected := found.snapshot()
	if !connected {
		return nil, unknownComputer(from.NetworkID, asked.To, nil)
	}
	answer, err := hook(ctx, RelayRequest{From: from, To: to, Type: asked.Request, Payload: asked.Payload})
	var coded *Error
	switch {
	case err == nil:
		return answer, nil
	case errors.As(err, &coded):
		return nil, coded
	}
	return nil, newError(CodeInternal, err.Error())
}

func relayTimeout(ms float64) time.Duration {
	switch {
	case ms > float64(maxRelayTimeout.Milliseconds()):
		return maxRelayTimeout
	case ms >= 1:
		return time.Duration(ms) * time.Millisecond
	default:
		return defaultRequestTimeout
	}
}

// respond queues the answer to a computer_request, unless the computer has cancelled it or is gone.
func (s *session) respond(id string, payload []byte, e *Error) {
	var frame []byte
	if e == nil {
		frame = appendResponse(nil, id, appendASCII(nil, payload))
		if len(frame) > maxComputerAssembled {
			e = newError(CodeTooLarge, "the answer is larger than a computer takes")
		}
	}
	if e != nil {
		frame = appendErrorResponse(nil, id, e)
	}
	c := s.computer
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, asked := s.asked[id]; !asked {
		return
	}
	s.responses = append(s.responses, &outgoing{stream: id, frame: frame})
	s.pump()
}

// cancelled ends what the computer has given up: its own request, our answer under way, or the chunked frame that it
// was sending.
func (s *session) cancelled(id string) {
	s.assembler.drop(id)
	c := s.computer
	c.mu.Lock()
	cancel := s.asked[id]
	delete(s.asked, id)
	for i, o := range s.responses {
		if o.stream == id {
			s.responses = append(s.responses[:i:i], s.responses[i+1:]...)
			break
		}
	}
	if s.active != nil && s.active.call == nil && s.active.stream == id {
		s.active = nil
	}
	s.pump()
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
