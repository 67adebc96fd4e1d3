package mcp

import (
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// largeBody is the size from which on a body needs a slot. No more is allocated for a Content-Length before the body is
	// there, either.
	largeBody = 1 << 20

	// largeBodies bounds how many bodies above largeBody are held at one time: without a bound, twenty half-sent ones cost
	// 900 MB (measured). A slot is held until the request is answered, as its parameters are part of the body.
	largeBodies = 8

	// slotTime is how long a large body waits for a slot before it is refused as busy.
	slotTime = 5 * time.Second
)

// bodies reads the bodies of POSTs within bounds.
type bodies struct {
	limit int64 // bytes of one
	slots chan struct{}
}

func newBodies(limit int64) *bodies {
	return &bodies{limit: limit, slots: make(chan struct{}, largeBodies)}
}

// bodyRefusal is why a body was not taken.
type bodyRefusal struct {
	status  int
	code    int64
	message string
}

// read reads a whole body; release, never nil, gives back what it holds.
func (b *bodies) read(w http.ResponseWriter, r *http.Request) (body []byte, release func(), refused *bodyRefusal) {
	release = func() {}
	tooLarge := &bodyRefusal{http.StatusRequestEntityTooLarge, CodeTooLarge, "the body is larger than " + byteSize(b.limit) + ", which is the limit"}
	if r.ContentLength > b.limit {
		return nil, release, tooLarge
	}
	reader := http.MaxBytesReader(w, r.Body, b.limit)
	body, err := readStart(reader, r.ContentLength)
	if err == nil && len(body) > largeBody {
		if !b.acquire(r) {
			return nil, release, &bodyRefusal{http.StatusServiceUnavailable, CodeBusy, "too many large requests at one time; try again in a moment"}
		}
		release = func() { <-b.slots }
		var rest []byte
		rest, err = io.ReadAll(reader)
		body = append(body, rest...)
	}
	var exceeded *http.MaxBytesError
	switch {
	case errors.As(err, &exceeded):
		return nil, release, tooLarge
	case err != nil:
		return nil, release, &bodyRefusal{http.StatusBadRequest, CodeParseError, "the body ended early"}
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // the guard's; it would end the call
	return body, release, nil
}

// readStart reads a body, or one byte more than largeBody of it.
func readStart(reader io.Reader, length int64) ([]byte, error) {
	if length > 0 && length <= largeBody {
		body := make([]byte, length)
		_, err := io.ReadFull(reader, body)
		return body, err
	}
	return io.ReadAll(io.LimitReader(reader, largeBody+1))
}

func (b *bodies) acquire(r *http.Request) bool {
	timer := time.NewTimer(slotTime)
	defer timer.Stop()
	select {
	case b.slots <- struct{}{}:
		return true
	case <-timer.C:
	case <-r.Context().Done():
	}
	return false
}
