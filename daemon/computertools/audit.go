package computertools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/daemon/policy"
	"github.com/traposd/traposd/gateway"
	"github.com/traposd/traposd/mcp"
)

// maxLoggedPath bounds a path in the log, in bytes.
const maxLoggedPath = 256

type clientKey struct{}

// withClient remembers who asks, for questions and the audit.
func withClient(ctx context.Context, client mcp.Client) context.Context {
	if client == nil {
		return ctx
	}
	return context.WithValue(ctx, clientKey{}, client)
}

// clientOf is nil if nobody is known.
func clientOf(ctx context.Context) mcp.Client {
	client, _ := ctx.Value(clientKey{}).(mcp.Client)
	return client
}

// deed is one thing that a call does to a computer.
type deed struct {
	tool        string
	read, write []policy.Path // the paths that it uses
	content     []byte        // what is hashed: the code, or what the file gets; nil for what a person might type, which may be a password
	size        int           // of that, in bytes, or characters and keys
	shown       string        // what somebody who is asked is shown of it, beside the paths
}

// paths are those of the deed, each once, in the order of its arguments.
func (d *deed) paths() (out []string) {
	seen := map[string]bool{}
	for _, list := range [][]policy.Path{d.read, d.write} {
		for _, p := range list {
			if !seen[p.Name] {
				seen[p.Name] = true
				out = append(out, p.Name)
			}
		}
	}
	return out
}

// fields are what the log says of the deed: never the content.
func (d *deed) fields() []zap.Field {
	fields := []zap.Field{zap.String("tool", d.tool)}
	for i, path := range d.paths() {
		if len(path) > maxLoggedPath {
			path = path[:maxLoggedPath] + "…"
		}
		fields = append(fields, zap.String([...]string{"path", "to"}[i], strings.ToValidUTF8(path, "?")))
	}
	if d.content != nil {
		fields = append(fields, zap.String("sha256", hashOf(d.content)))
	}
	if d.content != nil || d.size > 0 {
		fields = append(fields, zap.Int("bytes", d.size))
	}
	return fields
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// audit writes the line of a deed: who, where, what, and what came of it. What only reads leaves one if the policy refused it,
// or somebody was asked about it.
func (s *Server) audit(ctx context.Context, d deed, p permission, start time.Time, failure *Failure, err error) {
	var refused *refusal
	if !s.changes(d.tool) && !errors.As(err, &refused) && p.verdict.Outcome != policy.Ask {
		return
	}
	result := "ok"
	switch {
	case err != nil:
		result = failureOf(err).Kind
	case ctx.Err() != nil:
		result = string(gateway.CodeCancelled)
	case failure != nil:
		result = failure.Kind
	}
	var who []zap.Field
	if client := clientOf(ctx); client != nil {
		who = append(who, zap.String("client", client.Name()))
		if c, ok := client.(mcp.Sessioned); ok && c.Session() != "" {
			who = append(who, zap.String("session", c.Session()))
		}
	}
	s.record(append(who, zap.String("network", p.to.Network), zap.String("computer", p.to.Computer)), d, p.verdict, result, start)
}

// record writes the line.
func (s *Server) record(who []zap.Field, d deed, v policy.Verdict, result string, start time.Time) {
	fields := append(who, d.fields()...)
	if v.Clause != "" {
		fields = append(fields, zap.String("rule", strings.TrimSpace(v.Rule+" "+v.Clause)))
	}
	s.log.Info("computer tool used", append(fields, zap.String("outcome", result), zap.Duration("duration", s.now().Sub(start)))...)
}
