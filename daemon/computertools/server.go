// Package computertools offers the computers of a gateway as MCP tools: probe-computers and exec-lua, files (write-file,
// read-file, list-files, edit-file, move-file, delete-file), the screen and keyboard (read-screen, send-keys, send-event),
// computer-info and reboot-computer.
//
// It is the adapter between gateway, which knows no MCP, and mcp, which knows no computers. A call that reached the
// computer is a successful result, also when the Lua code failed or the file could not be written: its structured content
// says ok:false and keeps what was captured. Only a call that did not make the round trip (the computer is unknown, gone,
// busy or silent), one that the policy does not let through, and arguments that are not right are results with isError set.
// What changes a computer, and what is refused, leaves one line in the log, whatever came of it. All methods may be called from many goroutines at once.
package computertools

import (
	"context"
	"encoding/json"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/daemon/policy"
	"github.com/traposd/traposd/gateway"
	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

// ID is the id of the catalogue entry that the tools are offered in.
const ID = "traposd:computers"

// Registry is what the tools need of a gateway.
type Registry interface {
	Computers() []gateway.Computer // sorted by network and number
	Lookup(networkID, traposID string) (gateway.Computer, error)
	Request(ctx context.Context, networkID, traposID, requestType string, payload json.RawMessage) (json.RawMessage, error)
}

// Options are what New needs besides computers. The zero value is usable.
type Options struct {
	Logger *zap.Logger // gets the audit lines, at level info; nil: none

	// Policy is what may be done to which computer, now. It is called for each call, from many goroutines. nil: everything.
	Policy func() *policy.Policy
}

// Server is the mcp.Server of the computer tools.
type Server struct {
	registry Registry
	policy   func() *policy.Policy
	log      *zap.Logger
	tools    map[string]tool
	order    []string
	now      func() time.Time

	lastExecs lastExecs
}

// New returns the tools over the computers of registry.
func New(registry Registry, opts Options) *Server {
	s := &Server{registry: registry, policy: opts.Policy, log: opts.Logger, tools: map[string]tool{}, now: time.Now}
	if s.log == nil {
		s.log = zap.NewNop()
	}
	if s.policy == nil {
		s.policy = func() *policy.Policy { return &policy.Policy{} }
	}
	for _, t := range []tool{
		s.probeComputers(), s.computerInfo(), s.execLua(),
		s.listFiles(), s.readFile(), s.writeFile(), s.editFile(), s.moveFile(), s.deleteFile(),
		s.readScreen(), s.sendKeys(), s.sendEvent(), s.rebootComputer(),
	} {
		s.tools[t.definition.Name] = t
		s.order = append(s.order, t.definition.Name)
	}
	return s
}

// Names are those of the tools, sorted.
func Names() []string {
	return []string{
		"computer-info", "delete-file", "edit-file", "exec-lua", "list-files", "move-file", "probe-computers", "read-file",
		"read-screen", "reboot-computer", "send-event", "send-keys", "write-file",
	}
}

// Entry is the tools' place in the catalogue: no prefix, and before every configured server.
func (s *Server) Entry() mcp.Entry {
	e := mcp.Entry{ID: ID, Server: s}
	for _, name := range s.order {
		e.Tools = append(e.Tools, mcp.Definition{Name: name, Raw: s.tools[name].raw})
	}
	return e
}

// Call runs one tool. The only method is tools/call.
func (s *Server) Call(ctx context.Context, req mcp.Request) (json.RawMessage, error) {
	if req.Method != "tools/call" {
		return nil, wire.Errorf(wire.CodeMethodNotFound, "the computer tools answer tools/call only")
	}
	raw, _ := wire.Get(req.Params, "name")
	name, _ := wire.String(raw)
	t, found := s.tools[name]
	if !found {
		return nil, wire.Errorf(wire.CodeInvalidParams, "unknown tool %q", name)
	}
	arguments, found := wire.Get(req.Params, "arguments")
	if !found || wire.Kind(arguments) == 'n' {
		arguments = json.RawMessage(`{}`)
	}
	result, err := t.run(withClient(ctx, req.Client), arguments)
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}
