package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// order is what the fleet is told to do, one line of JSON each; it answers each with a tally.
type order struct {
	Do       string // "connect", "echo", "kill", "tally"
	URL      string `json:",omitempty"`
	First    int    `json:",omitempty"` // number of the first computer
	Count    int    `json:",omitempty"`
	Password string `json:",omitempty"` // of this run's gateway, made for it
}

// tally is the state of the fleet.
type tally struct {
	Connected int
	Refused   int    // by an HTTP status, a hello_error or a close code of the gateway's
	Reason    string // of the last one
	Error     string // why the order could not be carried out
}

const (
	backoffFirst   = time.Second // as the computers' own programs do
	backoffLongest = 30 * time.Second
	connectAtOnce  = 128 // connections being opened at a time, at first
	orderLimit     = 5 * time.Minute
)

// fleet is many computers in one process.
type fleet struct {
	ctx     context.Context
	running sync.WaitGroup
	opening chan struct{}

	connected, refused atomic.Int64

	mu      sync.Mutex
	members []*member // the computers
	echoes  []*member
	reason  string
}

// member is one computer, or one client of the echo.
type member struct {
	fleet  *fleet
	id     int
	url    string
	hello  []byte // empty: it says nothing
	joined chan struct{}

	mu   sync.Mutex
	wire *wireConn // guarded by mu; its reading and writing is the member's own
}

// ServeFleet is the process of the computers: it carries out orders until in ends.
func ServeFleet(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	f := &fleet{ctx: ctx, opening: make(chan struct{}, connectAtOnce)}
	defer func() {
		cancel()
		f.killAll()
		f.running.Wait()
	}()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var o order
		err := json.Unmarshal(lines.Bytes(), &o)
		if err == nil {
			err = f.carryOut(o)
		}
		f.mu.Lock()
		t := tally{Connected: int(f.connected.Load()), Refused: int(f.refused.Load()), Reason: f.reason}
		f.mu.Unlock()
		if err != nil {
			t.Error = err.Error()
		}
		text, err := json.Marshal(t)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(text, '\n')); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (f *fleet) carryOut(o order) error {
	switch o.Do {
	case "connect":
		return f.connect(o, func(id int) []byte {
			return fmt.Appendf(nil, `{"type":"hello","protocol":1,"password":%q,"computerId":%d,"label":"bench","boot":"b%d","serves":["exec-lua","write-file"],"agent":"bench"}`,
				o.Password, id, id)
		})
	case "echo":
		return f.connect(o, nil)
	case "kill":
		f.mu.Lock()
		defer f.mu.Unlock()
		for range min(o.Count, len(f.members)) {
			f.members[rand.IntN(len(f.members))].kill()
		}
		return nil
	case "tally":
		return nil
	}
	return errors.New("unknown order " + strconv.Quote(o.Do))
}

// connect starts members and waits until each is in.
func (f *fleet) connect(o order, hello func(id int) []byte) error {
	if err := raiseDescriptors(o.Count + 512); err != nil {
		return err
	}
	list := make([]*member, o.Count)
	for i := range list {
		m := &member{fleet: f, id: o.First + i, url: o.URL, joined: make(chan struct{})}
		if hello != nil {
			m.hello = hello(m.id)
		}
		list[i] = m
	}
	f.mu.Lock()
	if hello != nil {
		f.members = append(f.members, list...)
	} else {
		f.echoes = append(f.echoes, list...)
	}
	f.mu.Unlock()
	for _, m := range list {
		f.running.Go(m.live)
	}
	limit := time.NewTimer(orderLimit)
	defer limit.Stop()
	for _, m := range list {
		select {
		case <-m.joined:
		case <-limit.C:
			f.mu.Lock()
			defer f.mu.Unlock()
			return fmt.Errorf("%d of %d are connected after %v; %s", f.connected.Load(), o.Count, orderLimit, f.reason)
		case <-f.ctx.Done():
			return f.ctx.Err()
		}
	}
	return nil
}

func (f *fleet) killAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range slices.Concat(f.members, f.echoes) {
		m.kill()
	}
}

func (f *fleet) note(err error) {
	var no *refusedError
	if errors.As(err, &no) {
		f.refused.Add(1)
		f.mu.Lock()
		f.reason = no.text
		f.mu.Unlock()
	}
}

// live connects, answers, and comes back after a loss, until the fleet ends. One that says no hello does not come back.
func (m *member) live() {
	entered := sync.OnceFunc(func() { close(m.joined) })
	for failures := 0; m.fleet.ctx.Err() == nil; failures++ {
		wire, err := m.open()
		if err == nil {
			entered()
			failures = 0
			m.fleet.connected.Add(1)
			err = m.serve(wire)
			m.fleet.connected.Add(-1)
		}
		m.fleet.note(err)
		longest := min(backoffLongest, backoffFirst<<min(failures, 10))
		if m.hello == nil || !pause(m.fleet.ctx, longest/2+rand.N(longest/2)) {
			return
		}
	}
}

// open makes the connection and says hello.
func (m *member) open() (*wireConn, error) {
	select {
	case m.fleet.opening <- struct{}{}:
	case <-m.fleet.ctx.Done():
		return nil, m.fleet.ctx.Err()
	}
	defer func() { <-m.fleet.opening }()
	wire, err := dialWire(m.fleet.ctx, m.url)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.wire = wire
	m.mu.Unlock()
	if m.fleet.ctx.Err() != nil || m.hello == nil {
		return wire, m.fleet.ctx.Err()
	}
	wire.write(m.hello)
	_ = wire.conn.SetReadDeadline(time.Now().Add(wireHandshake))
	answer, err := wire.read()
	if err == nil {
		var frame struct{ Type, Code, Message string }
		if json.Unmarshal(answer, &frame) != nil || frame.Type != "hello_ok" {
			err = &refusedError{frame.Code + " " + frame.Message}
		}
	}
	if err != nil {
		wire.kill()
		return nil, err
	}
	return wire, wire.conn.SetReadDeadline(time.Time{})
}

func (m *member) serve(wire *wireConn) error {
	defer wire.kill()
	for {
		frame, err := wire.read()
		if err != nil {
			return err
		}
		wire.answer(frame)
	}
}

// kill cuts the member's connection, if it has one; live notices.
func (m *member) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.wire != nil {
		m.wire.kill()
	}
}

// pause reports whether ctx still goes on afterwards.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
