package daemon

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// badWire carries connections to an address, and stalls and cuts them at random. Nothing of it outlives end.
type badWire struct {
	t       *testing.T
	socket  net.Listener
	to      string
	running sync.WaitGroup
	stop    chan struct{} // closed by end

	mu   sync.Mutex
	open map[net.Conn]bool // guarded by mu
	good bool              // guarded by mu: from now on it does nothing bad
	over bool              // guarded by mu
}

const (
	wireLife  = 20 * time.Second // of a connection, at most
	wireStall = 3 * time.Second  // at most
)

func newBadWire(t *testing.T, to string) *badWire {
	t.Helper()
	socket, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &badWire{t: t, socket: socket, to: to, open: map[net.Conn]bool{}, stop: make(chan struct{})}
	w.running.Go(func() {
		for {
			conn, err := socket.Accept()
			if err != nil {
				return
			}
			w.running.Go(func() { w.carry(conn) })
		}
	})
	return w
}

func (w *badWire) addr() string { return w.socket.Addr().String() }

// keep notes a connection that end has to close; it reports false when it came too late.
func (w *badWire) keep(conn net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[conn] = true
	return !w.over
}

func (w *badWire) drop(conns ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(w.open, conn)
	}
}

func (w *badWire) isGood() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.good
}

func (w *badWire) carry(near net.Conn) {
	far, err := new(net.Dialer).DialContext(context.Background(), "tcp", w.to)
	if err != nil {
		_ = near.Close()
		return
	}
	defer w.drop(near, far)
	if !w.keep(near) || !w.keep(far) {
		return
	}
	var both sync.WaitGroup
	pump := func(to, from net.Conn) {
		defer w.drop(near, far)
		rng := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
		buf := make([]byte, 4096)
		for {
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			if !w.isGood() && rng.IntN(300) == 0 {
				idle(w.stop, time.Duration(rng.Int64N(int64(wireStall))))
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	both.Go(func() { pump(far, near) })
	both.Go(func() { pump(near, far) })
	cut := time.AfterFunc(time.Duration(rand.Int64N(int64(wireLife))), func() {
		if w.isGood() {
			return
		}
		if rand.IntN(2) == 0 { // without a word, or in the middle of one
			_, _ = io.WriteString(near, "\x81\x7e\x10\x00{")
		}
		w.drop(near, far)
	})
	both.Wait()
	cut.Stop()
}

// behave ends the mischief; the connections go on.
func (w *badWire) behave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.good = true
}

func (w *badWire) end() {
	_ = w.socket.Close()
	close(w.stop)
	w.mu.Lock()
	w.over = true
	for conn := range w.open {
		_ = conn.Close()
	}
	w.mu.Unlock()
	w.running.Wait()
}

// idle waits, unless stop is closed.
func idle(stop <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stop:
	}
}
