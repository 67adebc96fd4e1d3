package mcpconfig

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
)

// Fingerprint is a hash (SHA-256, hexadecimal) over the name and everything that makes the server run differently:
// transport, command, arguments, environment, working folder, url, headers, time limits; not over positions, formatting
// or the order of keys. It is made of secrets: compare it, do not publish it.
func (s Server) Fingerprint() string {
	d := newDigest("traposd server 1")
	d.text(s.Name)
	d.text(s.Transport.String())
	d.text(s.Command.Reveal())
	d.number(len(s.Args))
	for _, arg := range s.Args {
		d.text(arg.Reveal())
	}
	d.environment(s.Env)
	d.text(s.Cwd.Reveal())
	d.text(s.URL.Reveal())
	d.number(len(s.Headers))
	for _, header := range s.Headers {
		d.text(header.Name)
		d.text(header.Value.Reveal())
	}
	d.flag(s.AllowPlaintextCredentials)
	d.number(int(s.Timeout))
	d.number(int(s.StartupTimeout))
	return hexadecimal(d.sum())
}

// ApprovalHash is what an approval of the entry is bound to: a hash (SHA-256, hexadecimal) over the path of its file, its
// name, the whole entry as it is written (unknown keys included, comments, formatting and the order of its keys not) and
// the variables its envFile gives. A changed variable of the service's own environment does not change it. It is "" for a
// server that came from no file, and for an entry with an error. It is computed at the first call.
func (s Server) ApprovalHash() string {
	if s.approval == nil {
		return ""
	}
	s.approval.once.Do(s.approval.compute)
	return s.approval.hash.Reveal()
}

// consent is what there is to approve of an entry. Copies of a Server share it, and what was computed.
type consent struct {
	path, name string
	entry      Secret   // the object as it is written, well formed and without repeated keys
	env        []EnvVar // what its envFile gave

	once sync.Once
	hash Secret // written once
}

// compute hashes the entry. Members are sorted, and those of env and headers too; within other values the order stays as
// it is.
func (c *consent) compute() {
	entry := c.entry.Reveal()
	doc := &document{data: []byte(entry), kept: entry}
	members, _, _ := doc.object(value{0, len(entry)}, maxKeys, nil)
	d := newDigest("traposd approval 1")
	d.text(c.path)
	d.text(c.name)
	d.members(doc, members, true)
	d.environment(c.env)
	c.hash = NewSecret(hexadecimal(d.sum()))
}

type hash [sha256.Size]byte

func hexadecimal(h hash) string { return hex.EncodeToString(h[:]) }

// digest gathers a sequence of values to hash, each with its length before it, so that no two sequences look alike.
type digest struct{ data []byte }

func newDigest(purpose string) *digest {
	d := &digest{}
	d.text(purpose)
	return d
}

func (d *digest) sum() hash { return sha256.Sum256(d.data) }

func (d *digest) number(n int) { d.data = binary.BigEndian.AppendUint64(d.data, uint64(n)) }

func (d *digest) text(s string) {
	d.number(len(s))
	d.data = append(d.data, s...)
}

func (d *digest) flag(set bool) {
	if set {
		d.data = append(d.data, 1)
	} else {
		d.data = append(d.data, 0)
	}
}

func (d *digest) environment(env []EnvVar) {
	d.number(len(env))
	for _, variable := range env {
		d.text(variable.Name)
		d.flag(variable.Unset)
		d.text(variable.Value.Reveal())
	}
}

// members adds an object's members, sorted; those of its env and headers too if outer is set.
func (d *digest) members(doc *document, members []namedValue, outer bool) {
	slices.SortFunc(members, func(a, b namedValue) int { return strings.Compare(a.name, b.name) })
	d.number(len(members))
	for _, m := range members {
		d.text(m.name)
		if outer && (m.name == "env" || m.name == "headers") && doc.kind(m.value) == '{' {
			inner, _, _ := doc.object(m.value, maxKeys, nil)
			d.members(doc, inner, false)
			continue
		}
		start := len(d.data)
		d.number(0)
		d.data = doc.compact(d.data, m.value)
		binary.BigEndian.PutUint64(d.data[start:], uint64(len(d.data)-start))
	}
}
