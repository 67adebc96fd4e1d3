package daemon

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/tailscale/hujson"
	"go.uber.org/zap"

	"github.com/traposd/traposd/daemon/computertools"
	"github.com/traposd/traposd/daemon/policy"
	"github.com/traposd/traposd/mcpconfig"
)

// meansPolicy reports whether a key is, or was meant to be, that of the policy: a slip of the pen must not leave the computers
// without one.
func meansPolicy(key string) bool { return strings.HasPrefix(strings.ToLower(key), "pol") }

// nextPolicy is the policy that the file has, or the last good one if there is an error anywhere in it: the order of rules
// decides, so that one of them says nothing without the others. Without a last good one, it is what can be understood of
// the file, and what cannot be is denied.
func nextPolicy(path string, data []byte, file *hujson.Object, before policy.Policy) (policy.Policy, mcpconfig.Problems) {
	now, wrong := parsePolicy(data, file)
	kept := len(wrong) > 0 && !before.Doubtful()
	var problems mcpconfig.Problems
	for _, p := range wrong {
		line, column := position(data, p.Offset)
		message := p.Message
		if !kept {
			message += "; until it is mended, no tool may use the computers that it may be about"
		}
		problems = append(problems, mcpconfig.Problem{
			Severity: mcpconfig.SeverityError, Path: path, Line: line, Column: column, Scope: mcpconfig.ScopeSupplied,
			Field: p.Field, Message: message, KeptLastGood: kept,
		})
	}
	if kept {
		return before, problems
	}
	return now, problems
}

func parsePolicy(data []byte, file *hujson.Object) (now policy.Policy, wrong []policy.Problem) {
	misnamed := false
	for _, m := range file.Members {
		switch key := m.Name.Value.(hujson.Literal).String(); {
		case key == "policy":
			var problems []policy.Problem
			now, problems = policy.Parse(m.Value, policy.Options{
				At: func(offset int) string {
					line, column := position(data, offset)
					return fmt.Sprintf("%s:%d:%d", ownFileName, line, column)
				},
				Tools: computertools.Names(),
			})
			wrong = append(wrong, problems...)
		case meansPolicy(key):
			wrong = append(wrong, policy.Problem{Offset: m.Name.StartOffset, Field: "policy", Message: "in this file the rules stand under `policy`"})
			misnamed = true
		}
	}
	if misnamed {
		return policy.Unread(ownFileName), wrong // whatever else there is
	}
	return now, wrong
}

// applyPolicy makes the computer tools keep to a policy from the next call on.
func (d *Daemon) applyPolicy(now policy.Policy) {
	before := d.policy.Swap(&now)
	if d.gateway == nil || reflect.DeepEqual(*before, now) {
		return
	}
	level := zap.InfoLevel
	if now.Doubtful() {
		level = zap.WarnLevel
	}
	d.log.Log(level, "policy applied", zap.Int("rules", now.Rules()), zap.Bool("closed_in_part", now.Doubtful()))
}
