package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// Computer describes a connected computer. It is a copy: nothing in it changes any more.
type Computer struct {
	NetworkID   string
	TraposID    string // "<id>:<label>"; split it at its first colon, a label may hold more
	ComputerID  int
	Label       string   // "" when it has none
	Serves      []string // the request types that it advertises; ping is not among them
	State       State
	ConnectedAt time.Time
	LastSeen    time.Time
	Remote      string // address and port
	Agent       string // what its programs call themselves
}

// Registry holds the connected computers, by network and traposId. Its methods may be called concurrently.
type Registry struct {
	opts    *Options
	log     *zap.Logger
	changed func()
	jitter  atomic.Uint64
	prefix  string // of request ids, different in each process: a late answer to a former one must not match
	lastID  atomic.Uint64

	mu    sync.RWMutex // taken before a computer's mu, never after
	byKey map[key]*computer
	byID  map[int][]*computer
}

type key struct{ network, traposID string }

// Request sends a request to a computer and returns the payload of its answer, as JSON. traposID may also be the bare
// computer id, if the network has one such computer; with networkID "" every network is searched, and a name that more
// than one network has is CodeBadRequest.
//
// payload must be valid JSON; empty means {}. It may have at most 2 MiB. The deadline of ctx travels with the request;
// without one it is 60 s. Requests to one computer are sent in the order in which they came; at most 8 are under way, and
// Options.QueueLength more wait. An error is an *Error. No request is ever sent twice. After CodeTimeout, CodeCancelled and
// CodeDisconnected the computer may nevertheless have acted on it.
func (r *Registry) Request(ctx context.Context, networkID, traposID, requestType string, payload json.RawMessage) (json.RawMessage, error) {
	answer, err := r.request(ctx, networkID, traposID, requestType, payload)
	if err != nil {
		return nil, err
	}
	return answer, nil
}

func (r *Registry) request(ctx context.Context, networkID, traposID, requestType string, payload json.RawMessage) (json.RawMessage, *Error) {
	began := time.Now()
	answer, e := r.exchange(ctx, networkID, traposID, requestType, payload)
	r.observe(requestType, began, e)
	return answer, e
}

func (r *Registry) exchange(ctx context.Context, networkID, traposID, requestType string, payload json.RawMessage) (json.RawMessage, *Error) {
	if !validType(requestType) {
		return nil, newError(CodeBadRequest, "a request type must be 1 to 64 printable characters")
	}
	if err := ctx.Err(); err != nil {
		return nil, contextError(err, traposID, requestType)
	}
	c, e := r.find(networkID, traposID)
	if e != nil {
		return nil, e
	}
	text, e := requestPayload(payload)
	if e != nil {
		return nil, e
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(defaultRequestTimeout)
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	cl := &call{
		id:      r.prefix + strconv.FormatUint(r.lastID.Add(1), 36),
		request: requestType, payload: text, deadline: deadline, done: make(chan reply, 1),
	}
	if e := c.submit(cl); e != nil {
		return nil, e
	}
	select {
	case got := <-cl.done:
		return got.payload, got.err
	case <-ctx.Done():
		if c.abandon(cl) {
			return nil, contextError(ctx.Err(), traposID, requestType)
		}
		got := <-cl.done // whoever took the call out of its table is about to reply, and does not wait for anything
		return got.payload, got.err
	}
}

func requestPayload(payload json.RawMessage) ([]byte, *Error) {
	switch {
	case len(payload) == 0:
		return []byte("{}"), nil
	case !json.Valid(payload):
		return nil, newError(CodeBadRequest, "the payload is not valid json")
	}
	text := []byte(payload)
	if !isASCII(text) {
		text = appendASCII(make([]byte, 0, len(text)+len(text)/2), text)
	}
	if len(text)+requestEnvelope > maxComputerAssembled {
		return nil, newError(CodeTooLarge, "the payload is ", strconv.Itoa(len(text)), " bytes as ascii; a computer takes ",
			strconv.Itoa(maxComputerAssembled-requestEnvelope), "; send it in parts")
	}
	return text, nil
}

func contextError(err error, traposID, requestType string) *Error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &Error{Code: CodeTimeout, Message: "computer " + traposID + " did not answer " + requestType + " in time", cause: err}
	}
	return &Error{Code: CodeCancelled, Message: "the request " + requestType + " to computer " + traposID + " was cancelled", cause: err}
}

// Computers returns the connected computers, sorted by network, computer id and label.
func (r *Registry) Computers() []Computer {
	all := r.all(nil)
	list := make([]Computer, 0, len(all))
	for _, c := range all {
		if s, connected := c.snapshot(); connected {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b Computer) int {
		return cmp.Or(cmp.Compare(a.NetworkID, b.NetworkID), cmp.Compare(a.ComputerID, b.ComputerID), cmp.Compare(a.Label, b.Label))
	})
	return list
}

// all appends every computer to buf.
func (r *Registry) all(buf []*computer) []*computer {
	r.mu.RLock()
	defer r.mu.RUnlock()
	buf = slices.Grow(buf, len(r.byKey))
	for _, c := range r.byKey {
		buf = append(buf, c)
	}
	return buf
}

// find looks a computer up.
func (r *Registry) find(network, traposID string) (*computer, *Error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if c := r.byKey[key{network, traposID}]; c != nil {
		return c, nil
	}
	idText, label, hasLabel := strings.Cut(traposID, ":")
	id, err := strconv.Atoi(idText)
	if err != nil || id < 0 {
		return nil, newError(CodeBadRequest, strconv.Quote(cutText(traposID, maxErrorText)), " is not a traposId; write <computer id>:<label>")
	}
	var found, others []*computer
	for _, c := range r.byID[id] {
		switch {
		case network != "" && c.network != network:
		case hasLabel && c.label != label:
			others = append(others, c)
		default:
			found = append(found, c)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, unknownComputer(network, traposID, others)
	default:
		return nil, newError(CodeBadRequest, "more than one computer is called ", strconv.Quote(traposID), ": ", names(found),
			"; name the network and the whole traposId")
	}
}

func unknownComputer(network, traposID string, others []*computer) *Error {
	where := ""
	if network != "" {
		where = " in network " + strconv.Quote(cutText(network, maxIDLength))
	}
	hint := "; probe-computers and `traposd computers` list those that are"
	if len(others) > 0 {
		hint = "; there is " + names(others)
	}
	return newError(CodeUnknownComputer, "no computer ", strconv.Quote(cutText(traposID, maxErrorText)), " is connected", where, hint)
}

// maxNamed bounds the computers that one message names.
const maxNamed = 5

func names(list []*computer) string {
	var out []string
	for _, c := range list {
		out = append(out, strconv.Quote(c.traposID)+" in network "+c.network)
	}
	slices.Sort(out)
	if len(out) > maxNamed {
		out = append(out[:maxNamed], "and more")
	}
	return strings.Join(out, ", ")
}
