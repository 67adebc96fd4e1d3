package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

// The revisions that we ask for. Every session revision begins with the same handshake, so the newest one is asked for
// and the server's answer is taken, whichever it is.
const (
	revisionSession   = "2025-11-25"
	revisionStateless = "2026-07-28"
)

// clientCapabilities are what we declare to servers. The clients behind us differ and come later than the handshake;
// what one of them cannot do is refused when it is asked (mcp.CodeClientCannot).
const clientCapabilities = `{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}`

// identity is how we introduce ourselves.
type identity struct{ name, version string }

func (i identity) json() json.RawMessage {
	out := wire.AppendString([]byte(`{"name":`), i.name)
	out = wire.AppendString(append(out, `,"version":`...), i.version)
	return append(out, '}')
}

// hello is what a handshake agreed on.
type hello struct {
	epoch        int // +1 with every handshake of the session
	revision     string
	stateless    bool // 2026-07-28: every request stands for itself
	capabilities json.RawMessage
	instructions string
}

func (h hello) can(capability string) bool {
	_, ok := wire.Get(h.capabilities, capability)
	return ok
}

func (s *session) agreed() hello {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hello
}

func (s *session) modern() bool { return s.agreed().stateless }

// handshake agrees on a revision.
//
// It begins with `initialize`, which every server of a session revision understands, and which servers of both eras do.
// A server that refuses it because of the version or does not know it is asked with `server/discover`. A remote server
// that answered but gave no session is asked too, for at most times.Discover: without a session it has no way to tell
// us that its lists changed, with 2026-07-28 it has. A server on stdio that answered `initialize` is not asked again,
// since some end themselves on unknown methods.
func (s *session) handshake(ctx context.Context, epoch int) error {
	s.link.use("")
	h, err := s.initialize(ctx)
	switch {
	case err == nil && h.revision < revisionStateless && !s.sessionless():
	case err == nil:
		if modern, ok := s.discover(ctx, s.times.Discover); ok {
			h = modern
		} else {
			s.link.use(h.revision)
		}
	case refusesInitialize(err):
		modern, ok := s.discover(ctx, s.times.Start)
		if !ok {
			return err
		}
		h, err = modern, nil
	}
	if err != nil {
		return err
	}
	h.epoch = epoch
	s.mu.Lock()
	s.hello = h
	s.mu.Unlock()
	if !h.stateless {
		if err := s.link.send(ctx, &wire.Message{Method: "notifications/initialized"}, nil); err != nil {
			return err
		}
	}
	s.link.listen()
	s.subscribe()
	return nil
}

// sessionless reports whether the link could have got a session and did not.
func (s *session) sessionless() bool {
	l, ok := s.link.(interface{ sessionless() bool })
	return ok && l.sessionless()
}

// refusesInitialize tells a server that knows no `initialize` from one that fails at it.
func refusesInitialize(err error) bool {
	var rpc *wire.Error
	return errors.As(err, &rpc) && (rpc.Code == mcp.CodeUnsupportedVersion || rpc.Code == wire.CodeMethodNotFound)
}

func (s *session) initialize(ctx context.Context) (hello, error) {
	params := []byte(`{"protocolVersion":"` + revisionSession + `","capabilities":` + clientCapabilities + `,"clientInfo":`)
	params = append(append(params, s.client.json()...), '}')
	result, _, err := s.once(ctx, mcp.Request{Method: "initialize", Params: params}, forever) // ctx is that of the start
	if err != nil {
		return hello{}, err
	}
	h := hello{}
	if v, ok := wire.Get(result, "protocolVersion"); ok {
		h.revision, _ = wire.String(v)
	}
	if h.revision == "" {
		return hello{}, failf(nil, "its answer to initialize names no protocol version")
	}
	if !slices.Contains([]string{"2024-11-05", "2025-03-26", "2025-06-18", revisionSession, revisionStateless}, h.revision) {
		s.log.Warn("the server speaks an unknown protocol revision; going on as if it were known", zap.String("revision", clip(h.revision, 40)))
	}
	h.read(result)
	s.link.use(h.revision)
	return h, nil
}

func (h *hello) read(result json.RawMessage) {
	h.capabilities, _ = wire.Get(result, "capabilities")
	if v, ok := wire.Get(result, "instructions"); ok {
		h.instructions, _ = wire.String(v)
	}
}

// discover asks whether the server speaks 2026-07-28.
func (s *session) discover(ctx context.Context, limit time.Duration) (hello, bool) {
	s.link.use(revisionStateless)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	params := wire.Set(nil, "_meta", s.stamp(nil, nil, nil))
	result, _, err := s.once(ctx, mcp.Request{Method: "server/discover", Params: params}, limit)
	if err != nil {
		return hello{}, false
	}
	versions, _ := wire.Get(result, "supportedVersions")
	for v := range wire.Elements(versions) {
		if text, ok := wire.String(v); ok && text == revisionStateless {
			h := hello{revision: revisionStateless, stateless: true}
			h.read(result)
			return h, true
		}
	}
	return hello{}, false
}

// renewal is a handshake that replaces a forgotten session.
type renewal struct {
	done chan struct{}
	err  error // after done
}

// renew makes a new session in place of that of the given epoch, once for all calls that find it gone, and waits for it.
func (s *session) renew(ctx context.Context, epoch int) error {
	s.mu.Lock()
	if s.failed != nil {
		defer s.mu.Unlock()
		return s.failed
	}
	r := s.renewing
	if r == nil && s.hello.epoch != epoch {
		s.mu.Unlock()
		return nil // done meanwhile
	}
	begin := r == nil
	if begin {
		r = &renewal{done: make(chan struct{})}
		s.renewing = r
		s.hello = hello{epoch: epoch} // until the new one is agreed on, nothing is
	}
	s.mu.Unlock()
	if begin {
		s.later(func() { s.renewed(r, epoch+1) })
	}
	select {
	case <-r.done:
		return r.err
	case <-s.ended.Done():
		return context.Cause(s.ended)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *session) renewed(r *renewal, epoch int) {
	ctx, cancel := context.WithTimeout(s.ended, s.times.Start)
	defer cancel()
	s.log.Info("the server has forgotten its session; beginning a new one")
	r.err = s.handshake(ctx, epoch)
	s.mu.Lock()
	s.renewing = nil
	s.mu.Unlock()
	close(r.done)
	if r.err != nil {
		s.fail(r.err)
		return
	}
	s.touch(kindTools, kindPrompts, kindResources, kindTemplates) // it has probably been started anew
	s.adoptLogLevel()
}

// clip bounds a text that came from a server, for messages.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return text[:limit] + "…"
}
