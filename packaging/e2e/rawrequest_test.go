//go:build e2e

package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// rawRequest is an HTTP request as bytes: what no HTTP client would send, too.
type rawRequest struct {
	method, target string
	version        string   // "": HTTP/1.1
	headers        []string // whole lines
	body           string
}

// with are the headers of r, and those given in the place of r's own of the same names.
func (r rawRequest) with(headers ...string) rawRequest {
	given := map[string]bool{}
	for _, line := range headers {
		given[fieldName(line)] = true
	}
	var kept []string
	for _, line := range r.headers {
		if !given[fieldName(line)] {
			kept = append(kept, line)
		}
	}
	r.headers = append(kept, headers...)
	return r
}

func fieldName(line string) string {
	name, _, _ := strings.Cut(line, ":")
	return strings.ToLower(name)
}

func (r rawRequest) String() string {
	version := r.version
	if version == "" {
		version = "HTTP/1.1"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s\r\n", r.method, r.target, version)
	for _, line := range r.headers {
		if line != "Host" { // as an override: no Host at all
			b.WriteString(line + "\r\n")
		}
	}
	if r.body != "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(r.body))
	}
	return b.String() + "\r\n" + r.body
}

// rawResponse is one answer.
type rawResponse struct {
	status int
	header http.Header
	body   string
}

// exchangeLimit bounds one connection; refusals take milliseconds.
const exchangeLimit = time.Minute

// exchange sends bytes over a connection of their own and gives every answer that comes until the server closes it.
func exchange(t *testing.T, address, request string) (responses []rawResponse) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(exchangeLimit)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	for {
		if _, err := reader.Peek(1); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("the connection is still open after the %d answers to %q", len(responses), request)
		} else if err != nil {
			return responses // closed, or reset since we still had something to say
		}
		method, _, _ := strings.Cut(request, " ")
		if len(responses) > 0 {
			method = http.MethodGet
		}
		resp, err := http.ReadResponse(reader, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%v in the answer to %q", err, request)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatalf("%v in the answer to %q", err, request)
		}
		responses = append(responses, rawResponse{resp.StatusCode, resp.Header, string(body)})
	}
}
