package upstream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp/wire"
)

// pipeLink is a link to a child of which there is only the other end of its stdin. end stops it.
func pipeLink(t *testing.T) (l *stdioLink, child *os.File, end func()) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	l = &stdioLink{log: zap.NewNop(), in: newStdin(w), quit: make(chan struct{}), gone: make(chan struct{})}
	l.watcher.Go(l.write)
	return l, r, sync.OnceFunc(func() {
		close(l.quit)
		_ = w.Close()
		l.watcher.Wait()
		_ = r.Close()
	})
}

// TestMessagesArriveWholeAndInOrder has many send at once, some more than a pipe holds, to a child that reads at its
// leisure.
func TestMessagesArriveWholeAndInOrder(t *testing.T) {
	t.Parallel()
	const senders, each = 8, 60
	l, child, end := pipeLink(t)
	defer end()
	var sending sync.WaitGroup
	for sender := range senders {
		sending.Go(func() {
			for i := range each {
				size := 10
				if (i+sender)%20 == 0 {
					size = 150_000 // more than twice what a pipe holds
				}
				params := json.RawMessage(`{"sender":` + itoa(sender) + `,"number":` + itoa(i) + `,"text":"` + strings.Repeat("x", size) + `"}`)
				if err := l.send(context.Background(), &wire.Message{Method: "m", Params: params}, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var seen [senders]int
	lines := bufio.NewReader(child)
	for range senders * each {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		m, err := wire.Parse(line)
		if err != nil {
			t.Fatalf("a line of %d bytes is no message: %v", len(line), err)
		}
		var p struct{ Sender, Number int }
		if err := json.Unmarshal(m.Params, &p); err != nil {
			t.Fatal(err)
		}
		if p.Number != seen[p.Sender] {
			t.Fatalf("message %d of sender %d came where %d should be", p.Number, p.Sender, seen[p.Sender])
		}
		seen[p.Sender]++
	}
	sending.Wait()
	if n := l.in.waiting.Load(); n != 0 {
		t.Errorf("%d messages are counted as waiting", n)
	}
}

// TestChildThatDoesNotReadHoldsNoSenderUp: who sends to it goes on, or is told when its own context ends.
func TestChildThatDoesNotReadHoldsNoSenderUp(t *testing.T) {
	t.Parallel()
	l, _, end := pipeLink(t)
	defer end()
	params := json.RawMessage(`{"text":"` + strings.Repeat("x", 100_000) + `"}`)
	for range maxQueuedMessages { // the first fills the pipe, the others the queue
		if err := l.send(context.Background(), &wire.Message{Method: "m", Params: params}, nil); err != nil {
			t.Fatal(err)
		}
	}
	gone := errors.New("the client hung up")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(gone)
	var err error
	for range 2 * maxQueuedMessages { // a few more may find room
		if err = l.send(ctx, &wire.Message{Method: "m", Params: params}, nil); err != nil {
			break
		}
	}
	if !errors.Is(err, gone) {
		t.Errorf("error %v", err)
	}
	end()
	for err = nil; err == nil; { // the queue may have room for some
		err = l.send(context.Background(), &wire.Message{Method: "m", Params: params}, nil)
	}
	if !errors.Is(err, errStopped) {
		t.Errorf("after the end: %v", err)
	}
}
