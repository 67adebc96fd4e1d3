package computertools

import (
	"context"
	"strings"

	"github.com/traposd/traposd/daemon/policy"
	"github.com/traposd/traposd/gateway"
)

// Kinds of failures that come from the policy.
const (
	kindDenied    = "denied"     // a rule says no
	kindDeclined  = "declined"   // somebody was asked, and said no or nothing
	kindCannotAsk = "cannot_ask" // somebody has to be asked, and the client has no way to
)

// refusal is a call that the policy did not let through. Nothing was sent to the computer.
type refusal struct{ kind, message string }

func (r *refusal) Error() string { return r.message }

// permission is what the policy says to a deed on one computer.
type permission struct {
	to       target // as the computer is called in full, so that the request goes to the one that was judged
	computer policy.Computer
	verdict  policy.Verdict
	err      error // why it may not be done; nil: it may
}

// permit looks a computer up and says whether the deed may be done to it, after asking if that is needed.
func (s *Server) permit(ctx context.Context, to target, d deed) permission {
	return s.permitAll(ctx, []target{to}, d)[0]
}

// permitAll is permit for several computers, with one question about all of them for which there is one to ask.
func (s *Server) permitAll(ctx context.Context, targets []target, d deed) []permission {
	all := make([]permission, len(targets))
	var asking []*permission
	for i, to := range targets {
		p := &all[i]
		p.to = to
		found, err := s.registry.Lookup(to.Network, to.Computer)
		if err != nil {
			p.err = err
			continue
		}
		p.to = target{Computer: found.TraposID, Network: found.NetworkID}
		p.computer = computerOf(found)
		s.judge(ctx, p, d)
		if p.verdict.Outcome == policy.Ask {
			asking = append(asking, p)
		}
	}
	if len(asking) == 0 {
		return all
	}
	err := s.askFirst(ctx, d, asking)
	for _, p := range asking {
		if p.err = err; err == nil {
			s.judge(ctx, p, d) // the policy may be another one by now
		}
	}
	return all
}

func computerOf(c gateway.Computer) policy.Computer {
	return policy.Computer{Network: c.NetworkID, TraposID: c.TraposID, Label: c.Label}
}

// judge fills in the verdict, and the error if it is a denial.
func (s *Server) judge(ctx context.Context, p *permission, d deed) {
	rules := s.policy()
	r := s.requestOf(p.computer, d)
	p.verdict = rules.Decide(r)
	if p.verdict.Outcome > policy.Allow && below(r) {
		// What is about a whole folder is judged by all that may be in it. A file has nothing in it.
		point := r
		point.Read, point.Write = points(r.Read), points(r.Write)
		if v := rules.Decide(point); v.Outcome < p.verdict.Outcome && s.isNoFolder(ctx, p.to, d.paths()[0]) {
			p.verdict = v
		}
	}
	if p.verdict.Outcome == policy.Deny {
		p.err = &refusal{kindDenied, p.verdict.Message(d.tool, p.to.Computer)}
	}
}

func (s *Server) requestOf(c policy.Computer, d deed) policy.Request {
	return policy.Request{
		Computer: c, Tool: d.tool, Changes: s.changes(d.tool), Open: s.open(d.tool), Read: d.read, Write: d.write,
	}
}

// changes and open are what the tool's annotations say of it.
func (s *Server) changes(tool string) bool { return !s.tools[tool].definition.Annotations.ReadOnlyHint }

func (s *Server) open(tool string) bool { return *s.tools[tool].definition.Annotations.OpenWorldHint }

func below(r policy.Request) bool {
	for _, list := range [][]policy.Path{r.Read, r.Write} {
		for _, p := range list {
			if p.Below {
				return true
			}
		}
	}
	return false
}

func points(paths []policy.Path) []policy.Path {
	out := make([]policy.Path, len(paths))
	for i, p := range paths {
		out[i] = policy.Path{Name: p.Name}
	}
	return out
}

// isNoFolder asks the computer whether a path is a file, or nothing at all.
func (s *Server) isNoFolder(ctx context.Context, to target, path string) bool {
	payload := map[string]any{"limit": 1}
	putPath(payload, "path", path)
	var reply listReply
	if err := s.ask(ctx, to, "list-files", payload, &reply); err != nil {
		return false
	}
	failure := reply.failure()
	return failure != nil && (failure.Kind == "bad_path" || failure.Kind == "not_found")
}

// carryOut does a deed that a computer answers at once, if it may be done, and leaves its line in the log.
func (s *Server) carryOut(ctx context.Context, to target, d deed, payload map[string]any, reply interface{ failure() *Failure }) (policy.Computer, error) {
	p := s.permit(ctx, to, d)
	start := s.now()
	if p.err == nil {
		p.err = s.ask(ctx, p.to, d.tool, payload, reply)
	}
	s.audit(ctx, d, p, start, reply.failure(), p.err)
	return p.computer, p.err
}

// names of computers for a person, not too many of them.
func namesOf(list []*permission) string {
	const most = 8
	var out []string
	for i, p := range list {
		if i == most {
			out = append(out, "…")
			break
		}
		out = append(out, p.to.Computer+" (network "+p.to.Network+")")
	}
	return strings.Join(out, ", ")
}
