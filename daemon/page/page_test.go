package page

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

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

func (b *bed) get(t *testing.T, path string) (*http.Response, string) {
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
	return resp, string(body)
}

func TestThePageBringsAllItNeeds(t *testing.T) {
	b := newBed(t)
	resp, html := b.get(t, "/")
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		t.Fatalf("%s %s", resp.Status, resp.Header)
	}
	links := regexp.MustCompile(`(?:src|href)="([^"#][^"]*)"`).FindAllStringSubmatch(html, -1)
	if len(links) < 3 {
		t.Errorf("%q", links)
	}
	for _, link := range links {
		resp, body := b.get(t, link[1])
		if resp.StatusCode != http.StatusOK || body == "" || !strings.HasPrefix(link[1], "/ui/") {
			t.Errorf("%s: %s", link[1], resp.Status)
		}
		if csp := resp.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %s", link[1], resp.Header)
		}
	}
	// What the policy forbids is not there: no inline script, style or handler.
	if bad := regexp.MustCompile(`<style|<script>|\son[a-z]+=|\sstyle=`).FindString(html); bad != "" {
		t.Errorf("inline: %s", bad)
	}
	_, script := b.get(t, "/ui/page.js")
	if bad := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(`).FindString(script); bad != "" {
		t.Errorf("the script makes markup of data: %s", bad)
	}
	for _, path := range []string{"/nothing", "/ui/nothing", "/ui/../page.go"} {
		if resp, _ := b.get(t, path); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, resp.Status)
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

func (b *bed) live(t *testing.T) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.server.URL+"/ui/live", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestTheStreamFollows(t *testing.T) {
	b := newBed(t)
	b.log.Info("one")
	resp := b.live(t)
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
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
	if resp := b.live(t); resp.StatusCode != http.StatusServiceUnavailable {
		t.Error(resp.Status)
	} else {
		_ = resp.Body.Close()
	}
}

func TestViewersAreBounded(t *testing.T) {
	b := newBed(t)
	var open []*http.Response
	for range maxViewers {
		open = append(open, b.live(t))
	}
	more := b.live(t)
	if more.StatusCode != http.StatusServiceUnavailable {
		t.Error(more.Status)
	}
	for _, resp := range append(open, more) {
		_ = resp.Body.Close()
	}
}

func TestScreens(t *testing.T) {
	b := newBed(t)
	resp, body := b.get(t, "/ui/screen?network=n&computer=1%3Aa+b")
	if body != "picture" || resp.Header.Get("Content-Type") != "image/png" {
		t.Errorf("%s %q", resp.Status, body)
	}
	if resp, _ := b.get(t, "/ui/screen?network=n&computer=2"); resp.StatusCode != http.StatusNotFound {
		t.Error(resp.Status)
	}
}
