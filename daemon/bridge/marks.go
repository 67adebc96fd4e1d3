package bridge

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/traposd/traposd/daemon/rpc"
	"github.com/traposd/traposd/mcp/mirror"
	"github.com/traposd/traposd/mcp/wire"
)

// mismatchError is the listener's refusal of a call whose headers do not repeat what the tool's schema wants repeated. A client
// on stdio knows nothing of headers: the bridge writes them, from the schemas in the list that it saw last.
type mismatchError struct{ answer *wire.Message }

func (e *mismatchError) Error() string { return e.answer.Error.Error() }

// marked are the arguments of a tool that are repeated in headers.
func (b *bridge) marked(tool string) []mirror.Param {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.marks[tool]
}

// learn takes from the result of a tools/list which arguments of which tools are repeated.
func (b *bridge) learn(list json.RawMessage) {
	tools, _ := wire.Get(list, "tools")
	marks := map[string][]mirror.Param{}
	for tool := range wire.Elements(tools) {
		raw, _ := wire.Get(tool, "name")
		name, _ := wire.String(raw)
		schema, _ := wire.Get(tool, "inputSchema")
		if found := mirror.Params(schema); len(found) > 0 {
			marks[name] = found
		}
	}
	b.mu.Lock()
	b.marks = marks
	b.mu.Unlock()
}

// callMarked sends a call. One that was refused for its headers was not begun: the list may have changed since the client
// had it, or the client never asked for it. So it is read, in the client's name, and the call sent once more.
func (b *bridge) callMarked(ctx context.Context, m *wire.Message, session sessionState) error {
	err := b.roundTrip(ctx, m, session)
	var refused *mismatchError
	if !errors.As(err, &refused) {
		return err
	}
	if b.readList(ctx, m, session) == nil {
		err = b.roundTrip(ctx, m, session)
	}
	if errors.As(err, &refused) {
		b.write(refused.answer)
		err = nil
	}
	return err
}

// readList asks for the tools as the client that made the call would.
func (b *bridge) readList(ctx context.Context, call *wire.Message, session sessionState) error {
	meta, _ := wire.Get(call.Params, "_meta")
	meta = wire.Delete(meta, "progressToken")
	resp, err := b.post(ctx, &wire.Message{ID: []byte(`"bridge-list"`), Method: "tools/list", Params: wire.Set(nil, "_meta", meta)}, session)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var answer *wire.Message
	if err := rpc.Messages(resp, func(m *wire.Message) bool { answer = m; return !m.IsResponse() }); err != nil {
		return err
	}
	if answer == nil || !answer.IsResponse() || answer.Error != nil {
		return errors.New("the service did not list its tools")
	}
	b.learn(answer.Result)
	return nil
}
