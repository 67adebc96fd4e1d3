package computertools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/gateway"
	"github.com/traposd/traposd/mcp"
)

// hashBytes of a SHA-256 tell one content from another in the log; the content itself is never there.
const hashBytes = 8

type clientKey struct{}

// withClient remembers who asked, for the audit.
func withClient(ctx context.Context, client mcp.Client) context.Context {
	if client == nil {
		return ctx
	}
	return context.WithValue(ctx, clientKey{}, client.Name())
}

// deed is something that changes a computer.
type deed struct {
	to      target
	tool    string
	content [][]byte // what is hashed: the code, the file, the paths; none for what somebody typed, which may be a password
}

// change is ask for a request that changes something, with its line in the log.
func (s *Server) change(ctx context.Context, d deed, payload map[string]any, reply interface{ failure() *Failure }) error {
	start, to := s.now(), s.named(d.to)
	err := s.ask(ctx, d.to, d.tool, payload, reply)
	s.audit(ctx, d, to, start, reply.failure(), err)
	return err
}

// named fills in what the caller left out of the computer's name. It is looked up before the deed, which may end the
// connection.
func (s *Server) named(to target) target {
	if c, err := s.registry.Lookup(to.Network, to.Computer); err == nil {
		return target{Computer: c.TraposID, Network: c.NetworkID}
	}
	return to
}

// audit writes one line per deed: who, where, what, and what came of it.
func (s *Server) audit(ctx context.Context, d deed, to target, start time.Time, failure *Failure, err error) {
	result := "ok"
	switch {
	case err != nil:
		result = failureOf(err).Kind
	case ctx.Err() != nil:
		result = string(gateway.CodeCancelled)
	case failure != nil:
		result = failure.Kind
	}
	client, _ := ctx.Value(clientKey{}).(string)
	fields := []zap.Field{
		zap.String("client", client), zap.String("network", to.Network), zap.String("computer", to.Computer), zap.String("tool", d.tool),
	}
	if d.content != nil {
		fields = append(fields, zap.String("sha256", hash(d.content)))
	}
	s.log.Info("computer tool used", append(fields, zap.String("outcome", result), zap.Duration("duration", s.now().Sub(start)))...)
}

// hash is over the parts with a zero byte between each two.
func hash(parts [][]byte) string {
	h := sha256.New()
	for i, part := range parts {
		if i > 0 {
			_, _ = h.Write([]byte{0}) // a hash never fails
		}
		_, _ = h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil)[:hashBytes])
}
