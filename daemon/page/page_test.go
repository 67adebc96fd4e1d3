package page

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/traposd/traposd/daemon/recent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type bed struct {
	page   *Page
	server *httptest.Server
	log    *zap.Logger
	status atomic.Pointer[string]
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{}
	first := "first"
	b.status.Store(&first)
	events := recent.New(zapcore.InfoLevel)
	b.log = zap.New(events)
	b.page = New(Options{
		Status: func() any { return map[string]string{"state": *b.status.Load()} }, Events: events,
		Screen: func(_ context.Context, network, traposID string) ([]byte, error) {
			if network != "n" || traposID != "1:a b" {
				return nil, errors.New("unknown")
			}
			return []byte("picture"), nil
		},
	})
	b.server = httptest.NewServer(b.page)
	t.Cleanup(func() {
		b.page.Close()
		b.server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return b
}

// answer is a whole answer of the page.
type answer struct {
	status int
	header http.Header
	body   string
}

func (b *bed) get(t *testing.T, path string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.server.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func TestThePageBringsAllItNeeds(t *testing.T) {
	b := newBed(t)
	html := b.get(t, "/")
	if html.status != http.StatusOK || !strings.HasPrefix(html.header.Get("Content-Type"), "text/html") {
		t.Fatalf("%d %s", html.status, html.header)
	}
	links := regexp.MustCompile(`(?:src|href)="([^"#][^"]*)"`).FindAllStringSubmatch(html.body, -1)
	if len(links) < 3 {
		t.Errorf("%q", links)
	}
	for _, link := range links {
		part := b.get(t, link[1])
		if part.status != http.StatusOK || part.body == "" || !strings.HasPrefix(link[1], "/ui/") {
			t.Errorf("%s: %d", link[1], part.status)
		}
		if csp := part.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || part.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %s", link[1], part.header)
		}
	}
	// What the policy forbids is not there: no inline script, style or handler.
	if bad := regexp.MustCompile(`<style|<script>|\son[a-z]+=|\sstyle=`).FindString(html.body); bad != "" {
		t.Errorf("inline: %s", bad)
	}
	if bad := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(`).FindString(b.get(t, "/ui/page.js").body); bad != "" {
		t.Errorf("the script makes markup of data: %s", bad)
	}
	for _, path := range []string{"/nothing", "/ui/nothing", "/ui/../page.go"} {
		if got := b.get(t, path); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}

// follow returns the next event of a name from the stream.
func follow(t *testing.T, lines *bufio.Scanner, name string, into any) {
	t.Helper()
	for lines.Scan() {
		if lines.Text() != "event: "+name {
			continue
		}
		lines.Scan()
		if err := json.Unmarshal([]byte(strings.TrimPrefix(lines.Text(), "data: ")), into); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("the stream ended before %s: %v", name, lines.Err())
}

// live opens a stream, which is closed at the test's end.
func (b *bed) live(t *testing.T) (status int, stream *bufio.Scanner) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.server.URL+"/ui/live", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp.StatusCode, bufio.NewScanner(resp.Body)
}

func TestTheStreamFollows(t *testing.T) {
	b := newBed(t)
	b.log.Info("one")
	_, lines := b.live(t)
	var status map[string]string
	var events []recent.Event
	follow(t, lines, "status", &status)
	follow(t, lines, "events", &events)
	if status["state"] != "first" || len(events) != 1 || events[0].Message != "one" {
		t.Errorf("%v %v", status, events)
	}
	next := "next\n\n</script>"
	b.status.Store(&next)
	follow(t, lines, "status", &status)
	if status["state"] != next {
		t.Errorf("%v", status)
	}
	b.log.Warn("two")
	follow(t, lines, "events", &events)
	if len(events) != 1 || events[0].Message != "two" || events[0].Level != "warn" {
		t.Errorf("%v", events)
	}
	b.page.Close()
	for lines.Scan() { // to the end, which closing brings
	}
	if status, _ := b.live(t); status != http.StatusServiceUnavailable {
		t.Error(status)
	}
}

func TestViewersAreBounded(t *testing.T) {
	b := newBed(t)
	for range maxViewers {
		if status, _ := b.live(t); status != http.StatusOK {
			t.Error(status)
		}
	}
	if status, _ := b.live(t); status != http.StatusServiceUnavailable {
		t.Error(status)
	}
}

// A viewer that takes nothing must not hold up the end of the service.
func TestCloseWaitsForNoViewer(t *testing.T) {
	b := newBed(t)
	b.page.writeLimit = time.Hour
	long := strings.Repeat("x", 16<<20) // more than the buffers of a connection hold
	b.status.Store(&long)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", b.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "GET /ui/live HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		b.page.Close()
	}()
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Error("the page waits for a viewer that takes nothing")
		_ = conn.Close()
		<-closed
	}
}

func TestScreens(t *testing.T) {
	b := newBed(t)
	if got := b.get(t, "/ui/screen?network=n&computer=1%3Aa+b"); got.body != "picture" || got.header.Get("Content-Type") != "image/png" {
		t.Errorf("%+v", got)
	}
	if got := b.get(t, "/ui/screen?network=n&computer=2"); got.status != http.StatusNotFound {
		t.Errorf("%+v", got)
	}
}
