package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

// offer is what one server offers; it is never changed once made.
type offer struct {
	lists        [kinds][]mcp.Definition
	capabilities json.RawMessage
	instructions string
}

// listing says how one kind of list is read.
type listing struct {
	method, member, name, capability string
}

var listings = [kinds]listing{
	kindTools:     {"tools/list", "tools", "name", "tools"},
	kindPrompts:   {"prompts/list", "prompts", "name", "prompts"},
	kindResources: {"resources/list", "resources", "uri", "resources"},
	kindTemplates: {"resources/templates/list", "resourceTemplates", "uriTemplate", "resources"},
}

// fetchAll reads every list that the server says it has, all at once. Tools must come; another list that does not is
// left out with a warning.
func (s *session) fetchAll(ctx context.Context) (*offer, error) {
	h := s.agreed()
	o := &offer{capabilities: h.capabilities, instructions: h.instructions}
	var (
		wg   sync.WaitGroup
		errs [kinds]error
	)
	for k, l := range listings {
		if !h.can(l.capability) && (kind(k) != kindTools || hasMembers(h.capabilities)) {
			continue // a server that declares nothing at all is still asked for tools: some forget to
		}
		wg.Go(func() { o.lists[k], errs[k] = s.fetch(ctx, kind(k)) })
	}
	wg.Wait()
	if errs[kindTools] != nil {
		return nil, errs[kindTools]
	}
	for k, err := range errs {
		if err != nil {
			s.log.Warn("the server cannot list what it offers; that list stays empty", zap.String("method", listings[k].method), zap.String("err", describe(err)))
		}
	}
	return o, nil
}

func hasMembers(object json.RawMessage) bool {
	for range wire.Members(object) {
		return true
	}
	return false
}

// refetch reads one list again; every other one stays that of o.
func (s *session) refetch(ctx context.Context, o *offer, k kind) (*offer, error) {
	h := s.agreed()
	if !h.can(listings[k].capability) {
		return o, nil
	}
	list, err := s.fetch(ctx, k)
	if err != nil {
		return o, err
	}
	next := *o
	next.lists[k] = list
	return &next, nil
}

// fetch reads one list, page by page. It ends at a cursor that was seen before, which would repeat for ever, and at
// maxPages and maxDefinitions.
func (s *session) fetch(ctx context.Context, k kind) ([]mcp.Definition, error) {
	l := listings[k]
	sieve := newSieve(s.log, k)
	seen := map[string]bool{}
	var params json.RawMessage
	for range maxPages {
		result, err := s.call(ctx, mcp.Request{Method: l.method, Params: params}, s.times.Start)
		if notThere(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		page, _ := wire.Get(result, l.member)
		for raw := range wire.Elements(page) {
			sieve.add(raw)
		}
		cursor, ok := wire.Get(result, "nextCursor")
		if !ok || wire.Kind(cursor) == 'n' || len(sieve.kept) >= maxDefinitions {
			break
		}
		if seen[string(cursor)] {
			s.log.Warn("the server's pages repeat; the list ends here", zap.String("method", l.method))
			break
		}
		seen[string(cursor)] = true
		params = wire.Set(nil, "cursor", cursor)
	}
	sieve.report()
	if k == kindTools {
		s.learnHeaders(sieve.kept)
	}
	return sieve.kept, nil
}

// notThere reports whether the server does not know the method, though it declared it.
func notThere(err error) bool {
	var rpc *wire.Error
	return errors.As(err, &rpc) && rpc.Code == wire.CodeMethodNotFound
}

// sieve takes definitions one by one, mends those whose meaning is clear and leaves out the others.
type sieve struct {
	log    *zap.Logger
	kind   kind
	kept   []mcp.Definition
	names  map[string]bool
	mended []string
	left   []string // names of those left out, with the reason
	nameless,
	surplus int
}

func newSieve(log *zap.Logger, k kind) *sieve {
	return &sieve{log: log, kind: k, names: map[string]bool{}}
}

func (v *sieve) add(raw json.RawMessage) {
	member, _ := wire.Get(raw, listings[v.kind].name)
	name, ok := wire.String(member)
	switch {
	case !ok || name == "":
		v.nameless++
		return
	case len(v.kept) >= maxDefinitions:
		v.surplus++
		return
	case v.names[name]:
		v.left = append(v.left, clip(name, 64)+": given twice")
		return
	}
	if v.kind == kindTools {
		mended, err := mendTool(raw)
		if err != nil {
			v.left = append(v.left, clip(name, 64)+": "+err.Error())
			return
		}
		if len(mended) != len(raw) {
			v.mended = append(v.mended, clip(name, 64))
		}
		raw = mended
	}
	v.names[name] = true
	v.kept = append(v.kept, mcp.Definition{Name: name, Raw: slices.Clone(raw)}) // not to hold the whole page in memory
}

// report says once what was wrong with a list.
func (v *sieve) report() {
	method := zap.String("method", listings[v.kind].method)
	if len(v.left) > 0 || v.nameless > 0 || v.surplus > 0 {
		v.log.Warn("some definitions of the server were left out", method, zap.Strings("names", firstOf(v.left, 10)),
			zap.Int("count", len(v.left)+v.nameless+v.surplus), zap.Int("without_name", v.nameless))
	}
	if len(v.mended) > 0 {
		v.log.Debug("some input schemas of the server were mended", method, zap.Strings("names", firstOf(v.mended, 10)), zap.Int("count", len(v.mended)))
	}
}

func firstOf(list []string, n int) []string { return list[:min(len(list), n)] }

// errSchema is why a tool is left out.
var errSchema = errors.New("its inputSchema is not one of an object")

// mendTool gives a tool the input schema that clients insist on (an object schema of type "object", 2025-11-25,
// server/tools) where it is clear what was meant: none or null means any object, no type in an object schema means
// "object", and so does a union that contains it.
func mendTool(raw json.RawMessage) (json.RawMessage, error) {
	schema, _ := wire.Get(raw, "inputSchema")
	switch wire.Kind(schema) {
	case 0, 'n', 't':
		return wire.Set(raw, "inputSchema", json.RawMessage(`{"type":"object"}`)), nil
	case '{':
	default:
		return nil, errSchema
	}
	kind, found := wire.Get(schema, "type")
	switch {
	case !found, wire.Kind(kind) == 'n':
	case string(kind) == `"object"`:
		return raw, nil
	case wire.Kind(kind) == '[':
		if !slices.ContainsFunc(slices.Collect(wire.Elements(kind)), func(e json.RawMessage) bool { return string(e) == `"object"` }) {
			return nil, errSchema
		}
	default:
		return nil, errSchema
	}
	return wire.Set(raw, "inputSchema", wire.Set(schema, "type", json.RawMessage(`"object"`))), nil
}

func (o *offer) equal(other *offer) bool {
	if o == nil || other == nil {
		return o == other
	}
	for k := range o.lists {
		if !slices.EqualFunc(o.lists[k], other.lists[k], sameDefinition) {
			return false
		}
	}
	return bytes.Equal(o.capabilities, other.capabilities) && o.instructions == other.instructions
}

func sameDefinition(a, b mcp.Definition) bool { return a.Name == b.Name && bytes.Equal(a.Raw, b.Raw) }

// entry is the offer as the catalogue takes it.
func (o *offer) entry(id, name string, server mcp.Server) mcp.Entry {
	return mcp.Entry{
		ID: id, Name: name, Server: server,
		Tools: o.lists[kindTools], Prompts: o.lists[kindPrompts],
		Resources: o.lists[kindResources], ResourceTemplates: o.lists[kindTemplates],
		Capabilities: o.capabilities, Instructions: o.instructions,
	}
}
