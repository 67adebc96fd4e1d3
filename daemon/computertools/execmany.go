package computertools

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/traposd/traposd/gateway"
)

const (
	maxTargets      = 1024 // computers of one call
	maxPatterns     = 256  // entries of `computers`
	execConcurrency = 64   // of them at work at once

	// All computers of one call together return about so much text, each at least minShare and at most what one alone may.
	manyBytes = 1 << 20
	minShare  = 1 << 10
	maxShare  = 1 << 16
)

// Execution is what came of the code on one of several computers.
type Execution struct {
	Computer string `json:"computer" jsonschema:"the computer's traposId"`
	Network  string `json:"network" jsonschema:"the computer's network; empty if there is no such computer"`
	execution
	unreached bool
}

// unreached says whether no computer of several made the round trip.
func (out execOutput) unreached() bool {
	for _, r := range out.Results {
		if !r.unreached {
			return false
		}
	}
	return len(out.Results) > 0
}

// execMany runs code on all computers that in.Computers names, at most execConcurrency at once.
func (s *Server) execMany(ctx context.Context, in execInput) (execOutput, error) {
	targets, err := s.targets(in.Network, in.Computers)
	if err != nil {
		return execOutput{}, err
	}
	share := min(max(manyBytes/len(targets), minShare), maxShare)
	run, err := in.script(share)
	if err != nil {
		return execOutput{}, err
	}
	permissions := s.permitAll(ctx, targets, run.deed())
	out := execOutput{execution: execution{OK: true}, Results: make([]Execution, len(targets))}
	var wg sync.WaitGroup
	slots := make(chan struct{}, execConcurrency)
	for i, p := range permissions {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done(): // nothing is started any more
			continue
		}
		wg.Go(func() {
			defer func() { <-slots }()
			result := &out.Results[i]
			result.Computer, result.Network = p.to.Computer, p.to.Network
			var err error
			if result.execution, err = s.execOne(ctx, p, run); err != nil {
				failure := failureOf(err)
				result.Error, result.unreached = &failure, true
			}
			cut(result.Returns, share)
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return execOutput{}, err
	}
	for _, r := range out.Results {
		out.OK = out.OK && r.OK
	}
	return out, nil
}

// named fills in what the caller left out of a computer's name, so that no computer is named twice.
func (s *Server) named(to target) target {
	if c, err := s.registry.Lookup(to.Network, to.Computer); err == nil {
		return target{Computer: c.TraposID, Network: c.NetworkID}
	}
	return to
}

// targets are the computers that the names and patterns stand for, each once: in the order of the list, and those of one
// pattern by network and number. A name that stands for no computer is kept, so that its result can say so.
func (s *Server) targets(network string, names []string) ([]target, error) {
	if len(names) > maxPatterns {
		return nil, badRequest("computers has %d entries; %d at most, use patterns", len(names), maxPatterns)
	}
	connected := s.registry.Computers()
	var found []target
	seen := map[target]bool{}
	add := func(to target) {
		if !seen[to] {
			seen[to] = true
			found = append(found, to)
		}
	}
	for _, name := range names {
		if !strings.ContainsAny(name, "*?") {
			add(s.named(target{Computer: name, Network: network}))
			continue
		}
		pattern, err := globOf(name, "")
		if err != nil {
			return nil, err
		}
		for _, c := range connected {
			if (network == "" || network == c.NetworkID) && fits(pattern, c) {
				add(target{Computer: c.TraposID, Network: c.NetworkID})
			}
		}
	}
	switch {
	case len(found) == 0:
		return nil, &gateway.Error{Code: gateway.CodeUnknownComputer, Message: "no connected computer fits; probe-computers lists them"}
	case len(found) > maxTargets:
		return nil, badRequest("%d computers fit; %d at most in one call, name fewer", len(found), maxTargets)
	}
	return found, nil
}

func fits(pattern *regexp.Regexp, c gateway.Computer) bool {
	return pattern.MatchString(c.TraposID) || c.Label != "" && pattern.MatchString(c.Label)
}

// cut keeps the texts of values within limit bytes in all.
func cut(values []Value, limit int) {
	for i := range values {
		text, isText := values[i].Value.(string)
		if !isText {
			continue
		}
		if len(text) > limit {
			text = strings.ToValidUTF8(text[:limit], "") // the cut may have halved a character
			values[i].Value, values[i].Truncated = text, true
		}
		limit -= len(text)
	}
}

func resultsText(results []Execution) string {
	var b strings.Builder
	well := 0
	for _, r := range results {
		if r.OK {
			well++
		}
	}
	fmt.Fprintf(&b, "%d of %d ok", well, len(results))
	for _, r := range results {
		fmt.Fprintf(&b, "\n--- %s (network %s)\n%s", r.Computer, firstWord(r.Network, "?"), r.text())
	}
	return b.String()
}
