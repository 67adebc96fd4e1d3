package lua

import (
	"bytes"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// basePlaceholder is what install.lua has in place of the address that served it.
const basePlaceholder = "@BASE@"

// hostPattern is every Host header that may be put into Lua source: a name or an address, and a port. It holds no quote, no
// backslash and no line break, and is stricter than RFC 3986 on purpose.
var hostPattern = regexp.MustCompile(`^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?$`)

// Handler serves the programs to computers: GET and HEAD of /install.lua, /lua/manifest.json and /lua/PATH for each path
// of the manifest, nothing else. install.lua is told the address by which it was asked for (the Host header, https when
// the request came by TLS); a Host that is not a plain name or address, with or without a port, is answered 400. version is
// what the computers report in their hello.
//
// The handler looks paths up in a table and never in a file system.
func Handler(version string) http.Handler {
	b, err := newBundle(version)
	if err != nil {
		panic(err) // only embedded files are read: it cannot fail in one build and not in its tests
	}
	return http.HandlerFunc(b.serve)
}

func (b *bundle) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
		return
	}
	switch r.URL.Path {
	case "/install.lua":
		b.serveInstaller(w, r)
	case "/lua/manifest.json":
		write(w, r, "application/json", b.manifest)
	default:
		name, found := strings.CutPrefix(r.URL.Path, "/lua/")
		data, known := b.files[name]
		if !found || !known {
			http.Error(w, "no such program; see /lua/manifest.json", http.StatusNotFound)
			return
		}
		write(w, r, "text/plain; charset=utf-8", data)
	}
}

func (b *bundle) serveInstaller(w http.ResponseWriter, r *http.Request) {
	if !hostPattern.MatchString(r.Host) {
		http.Error(w, "the Host header must be a name or an address, with or without a port", http.StatusBadRequest)
		return
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	write(w, r, "text/plain; charset=utf-8", bytes.Replace(b.installer, []byte(basePlaceholder), []byte(scheme+r.Host), 1))
}

func write(w http.ResponseWriter, r *http.Request, contentType string, data []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(data) // a computer that went away needs no answer
}
