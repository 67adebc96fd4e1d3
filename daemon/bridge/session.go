package bridge

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/traposd/traposd/daemon/rpc"
	"github.com/traposd/traposd/mcp/wire"
)

// sessionState is where requests go: the listener's URL, and the session there if the client has one.
type sessionState struct {
	url, id, revision string
}

func (b *bridge) current() sessionState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return sessionState{b.url, b.session, b.revision}
}

// initialize opens the client's session and its stream.
func (b *bridge) initialize(ctx context.Context, m *wire.Message) {
	b.mu.Lock()
	b.opening = m
	b.session, b.revision = "", ""
	b.mu.Unlock()
	answer, err := b.open(ctx, b.current().url)
	if err != nil {
		b.fail(m.ID, err)
		return
	}
	b.write(answer)
	b.listen(ctx)
}

// open sends the client's initialize, keeps the session that comes of it, and returns the answer.
func (b *bridge) open(ctx context.Context, url string) (*wire.Message, error) {
	b.mu.Lock()
	opening := b.opening
	b.mu.Unlock()
	resp, err := b.post(ctx, opening, sessionState{url: url})
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var answer *wire.Message
	if err := rpc.Messages(resp, func(m *wire.Message) bool {
		if m.IsResponse() {
			answer = m
		}
		return answer == nil
	}); err != nil {
		return nil, err
	}
	if answer == nil {
		return nil, fmt.Errorf("the service did not answer initialize (%s)", resp.Status)
	}
	if answer.Error != nil {
		return answer, nil
	}
	revision, _ := wire.Get(answer.Result, "protocolVersion")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.url, b.session = url, resp.Header.Get("Mcp-Session-Id")
	b.revision, _ = wire.String(revision)
	return answer, nil
}

// renew finds the service again and, if the client has a session, opens a new one in its name; lost is the one that is of
// no use any more. Of many that ask at once, one does it for all.
func (b *bridge) renew(ctx context.Context, lost sessionState) (sessionState, error) {
	b.renewing.Lock()
	defer b.renewing.Unlock()
	if now := b.current(); now != lost {
		return now, nil
	}
	ctx, cancel := context.WithTimeout(ctx, reconnectTime)
	defer cancel()
	tick := time.NewTicker(reconnectStep)
	defer tick.Stop()
	for {
		err := b.reopen(ctx, lost)
		if err == nil {
			return b.current(), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return sessionState{}, err
		}
	}
}

func (b *bridge) reopen(ctx context.Context, lost sessionState) error {
	url, err := b.locate(ctx)
	if err != nil {
		return err
	}
	if lost.id == "" {
		return b.reachable(ctx, url)
	}
	answer, err := b.open(ctx, url)
	if err != nil {
		return err
	}
	if answer.Error != nil {
		return answer.Error
	}
	b.deliver(ctx, &wire.Message{Method: "notifications/initialized"})
	// What the lists say may be different now, and nobody would tell.
	for _, kind := range []string{"tools", "prompts", "resources"} {
		b.write(&wire.Message{Method: "notifications/" + kind + "/list_changed"})
	}
	return nil
}

func (b *bridge) reachable(ctx context.Context, url string) error {
	req, err := b.request(ctx, http.MethodHead, http.NoBody, sessionState{url: url})
	if err != nil {
		return err
	}
	resp, err := b.http.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// listen keeps the session's stream open, through restarts of the service, and passes on what comes on it.
func (b *bridge) listen(ctx context.Context) {
	b.mu.Lock()
	opening := b.opening
	b.mu.Unlock()
	b.tasks.Go(func() {
		for ctx.Err() == nil {
			session := b.current()
			if session.id == "" {
				return
			}
			refused := b.stream(ctx, session)
			b.mu.Lock()
			replaced := b.opening != opening // by another initialize, which has a stream of its own
			b.mu.Unlock()
			if replaced || ctx.Err() != nil {
				return
			}
			if refused == nil {
				refused = b.probe(ctx, session)
			}
			if refused != nil {
				if _, err := b.renew(ctx, session); err != nil {
					// The client is told when it asks for something; until then there is nothing to listen to.
					wait(ctx, reconnectTime)
				}
				continue
			}
			wait(ctx, reconnectStep)
		}
	})
}

// stream passes on one stream until it ends; the error says that the session is gone.
func (b *bridge) stream(ctx context.Context, session sessionState) error {
	req, err := b.request(ctx, http.MethodGet, http.NoBody, session)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := b.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusNotFound {
		return fmt.Errorf("the session is gone: %s", resp.Status)
	}
	if resp.StatusCode != http.StatusOK {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, rpc.MaxBytes))
		return nil
	}
	_ = rpc.Messages(resp, func(m *wire.Message) bool { b.write(m); return true }) // its end is told by the next attempt
	return nil
}

// probe asks whether the session is still there after its stream has ended.
func (b *bridge) probe(ctx context.Context, session sessionState) error {
	resp, err := b.post(ctx, &wire.Message{ID: []byte(`"bridge-probe"`), Method: "ping"}, session)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusNotFound {
		return fmt.Errorf("the session is gone: %s", resp.Status)
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
