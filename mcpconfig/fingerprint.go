package mcpconfig

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"
	"strings"
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
	return d.sum()
}

// ApprovalHash is what an approval of the entry is bound to: a hash (SHA-256, hexadecimal) over the path of its file, its
// name, the whole entry as it is written (unknown keys included, comments, formatting and the order of keys not) and the
// variables its envFile gives. A changed variable of the service's own environment does not change it. It is "" for a
// server that came from no file.
func (s Server) ApprovalHash() string { return s.approval.Reveal() }

// approvalHash hashes the entry at v of doc; env is what the entry's envFile gave.
func approvalHash(doc *document, path, name string, v value, env []EnvVar) Secret {
	d := newDigest("traposd approval 1")
	d.text(path)
	d.text(name)
	d.json(doc, v)
	d.environment(env)
	return NewSecret(d.sum())
}

// digest hashes a sequence of values, each with its length or kind before it, so that no two sequences look alike.
type digest struct{ hash hash.Hash }

func newDigest(purpose string) digest {
	d := digest{sha256.New()}
	d.text(purpose)
	return d
}

func (d digest) sum() string { return hex.EncodeToString(d.hash.Sum(nil)) }

func (d digest) number(n int) {
	var buffer [8]byte
	binary.BigEndian.PutUint64(buffer[:], uint64(n))
	_, _ = d.hash.Write(buffer[:])
}

func (d digest) text(s string) {
	d.number(len(s))
	_, _ = d.hash.Write([]byte(s))
}

func (d digest) flag(set bool) {
	if set {
		d.number(1)
	} else {
		d.number(0)
	}
}

func (d digest) environment(env []EnvVar) {
	d.number(len(env))
	for _, variable := range env {
		d.text(variable.Name)
		d.flag(variable.Unset)
		d.text(variable.Value.Reveal())
	}
}

// maxSortedMembers bounds the objects whose members are sorted before they are hashed: larger ones, which nobody wrote by
// hand, are hashed in their own order rather than copied.
const maxSortedMembers = 1000

func (d digest) json(doc *document, v value) {
	kind := doc.kind(v)
	d.number(int(kind))
	switch kind {
	case '{':
		members, whole := doc.firstMembers(v, maxSortedMembers)
		if !whole {
			for m := range doc.members(v) {
				d.member(doc, m)
			}
			return
		}
		slices.SortStableFunc(members, func(a, b member) int {
			return strings.Compare(doc.text(a.key), doc.text(b.key))
		})
		d.number(len(members))
		for _, m := range members {
			d.member(doc, m)
		}
	case '[':
		for element := range doc.elements(v) {
			d.json(doc, element)
		}
	case '"':
		d.text(doc.text(v))
	default:
		d.text(doc.raw(v))
	}
	d.number(-1)
}

func (d digest) member(doc *document, m member) {
	d.text(doc.text(m.key))
	d.json(doc, m.value)
}
