package mcp

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func readOf(t *testing.T, b *bodies, size int, chunked bool) (got []byte, release func(), refused *bodyRefusal) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", bytes.NewReader(bytes.Repeat([]byte{'x'}, size)))
	if chunked {
		r.ContentLength = -1
	}
	return b.read(httptest.NewRecorder(), r)
}

func TestBodiesOfEverySize(t *testing.T) {
	for _, chunked := range []bool{false, true} {
		for size, status := range map[int]int{
			0: 0, 1: 0, largeBody - 1: 0, largeBody: 0, largeBody + 1: 0, 3 << 20: 0, 3<<20 + 1: http.StatusRequestEntityTooLarge,
		} {
			got, release, refused := readOf(t, newBodies(3<<20), size, chunked)
			release()
			switch {
			case status == 0 && (refused != nil || len(got) != size):
				t.Errorf("%d bytes, chunked %v: %d bytes, %v", size, chunked, len(got), refused)
			case status != 0 && (refused == nil || refused.status != status):
				t.Errorf("%d bytes, chunked %v: %v", size, chunked, refused)
			}
		}
	}
}

// Only so many large bodies are held at one time; small ones pass beside them, and a slot that is given back is used.
func TestLargeBodiesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBodies(DefaultMaxBodyBytes)
		var releases []func()
		for range largeBodies {
			_, release, refused := readOf(t, b, largeBody+1, false)
			if refused != nil {
				t.Fatal(refused)
			}
			releases = append(releases, release)
		}
		start := time.Now()
		if _, _, refused := readOf(t, b, largeBody+1, true); refused == nil || refused.code != CodeBusy || refused.status != http.StatusServiceUnavailable {
			t.Errorf("one too many: %v", refused)
		}
		if waited := time.Since(start); waited != slotTime {
			t.Errorf("it waited %v", waited)
		}
		if _, release, refused := readOf(t, b, largeBody, false); refused != nil {
			t.Errorf("a small one: %v", refused)
		} else {
			release()
		}
		time.AfterFunc(time.Second, releases[0])
		if _, release, refused := readOf(t, b, largeBody+1, false); refused != nil {
			t.Errorf("after a slot was given back: %v", refused)
		} else {
			release()
		}
	})
}
