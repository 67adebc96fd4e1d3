package computertools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/traposd/traposd/daemon/policy"

	"github.com/traposd/traposd/gateway"
)

const (
	probeTimeout     = 2 * time.Second
	probeConcurrency = 256 // pings under way at once
)

type probeInput struct {
	Network string `json:"network,omitempty" jsonschema:"only the computers of this network; all if left out"`
}

// Probed is one connected computer.
type Probed struct {
	Network    string   `json:"network" jsonschema:"the network that the computer joined"`
	TraposID   string   `json:"traposId" jsonschema:"how to name the computer in other tools: <id>:<label>"`
	ComputerID int      `json:"computerId" jsonschema:"the computer's number in its world"`
	Label      string   `json:"label" jsonschema:"the computer's label; empty if it has none"`
	Serves     []string `json:"serves" jsonschema:"the requests that it answers besides ping"`
	State      string   `json:"state" jsonschema:"ready, or unresponsive if it did not answer within 2 s (its world may be paused)"`
	LatencyMS  *float64 `json:"latencyMs,omitempty" jsonschema:"milliseconds that its answer took; absent if none came"`
}

type probeOutput struct {
	Computers []Probed `json:"computers" jsonschema:"the computers connected now, by network and number"`
	Hidden    int      `json:"hidden,omitempty" jsonschema:"how many more are connected that the policy of the service does not let be seen"`
	Error     *Failure `json:"error,omitempty" jsonschema:"present only if the probe could not be made"`
}

func (s *Server) probeComputers() tool {
	return define(sdk.Tool{
		Name:  "probe-computers",
		Title: "Probe computers",
		Description: "Lists the ComputerCraft computers that are connected now and asks each for a sign of life. " +
			"Use a traposId from the answer to name a computer in the other tools.",
		Annotations: reads(),
	}, s.probe,
		func(f Failure) probeOutput { return probeOutput{Computers: []Probed{}, Error: &f} },
		probeText)
}

func (s *Server) probe(ctx context.Context, in probeInput) (probeOutput, error) {
	out := probeOutput{Computers: []Probed{}}
	rules := s.policy()
	for _, c := range s.registry.Computers() {
		if in.Network != "" && in.Network != c.NetworkID {
			continue
		}
		// A rule that asks cannot do so here: the question would be about all of them.
		if rules.Decide(policy.Request{Computer: computerOf(c), Tool: "probe-computers"}).Outcome != policy.Allow {
			out.Hidden++
			continue
		}
		serves := c.Serves
		if serves == nil {
			serves = []string{}
		}
		out.Computers = append(out.Computers, Probed{
			Network: c.NetworkID, TraposID: c.TraposID, ComputerID: c.ComputerID, Label: c.Label,
			Serves: serves, State: string(c.State),
		})
	}
	gone := make([]bool, len(out.Computers))
	var wg sync.WaitGroup
	slots := make(chan struct{}, probeConcurrency)
	for i := range out.Computers {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			gone[i] = s.ping(ctx, &out.Computers[i])
		})
	}
	wg.Wait()
	connected := out.Computers[:0]
	for i, c := range out.Computers {
		if !gone[i] {
			connected = append(connected, c)
		}
	}
	out.Computers = connected
	return out, nil
}

// ping fills in what the computer's answer tells, and reports whether the computer left meanwhile.
func (s *Server) ping(ctx context.Context, c *Probed) (gone bool) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	start := s.now()
	_, err := s.registry.Request(ctx, c.Network, c.TraposID, "ping", json.RawMessage(`{}`))
	if err == nil {
		ms := float64(s.now().Sub(start).Microseconds()) / 1000
		c.LatencyMS, c.State = &ms, string(gateway.StateReady)
		return false
	}
	c.State = string(gateway.StateUnresponsive)
	var coded *gateway.Error
	return errors.As(err, &coded) && (coded.Code == gateway.CodeDisconnected || coded.Code == gateway.CodeUnknownComputer)
}

func probeText(out probeOutput) string {
	if out.Error != nil {
		return out.Error.Kind + ": " + out.Error.Message
	}
	if len(out.Computers)+out.Hidden == 0 {
		return "No computer is connected."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d connected:", len(out.Computers))
	for _, c := range out.Computers {
		fmt.Fprintf(&b, "\n%s (network %s): %s", c.TraposID, c.Network, c.State)
		if c.LatencyMS != nil {
			fmt.Fprintf(&b, ", %.1f ms", *c.LatencyMS)
		}
		if len(c.Serves) > 0 {
			fmt.Fprintf(&b, ", serves %s", strings.Join(c.Serves, ", "))
		}
	}
	if out.Hidden > 0 {
		fmt.Fprintf(&b, "\n%d more are hidden by the policy", out.Hidden)
	}
	return b.String()
}
