package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// TestSoak has computers that are killed, reboot, stall, and send rubbish, oversize and floods at random, while others
// send requests to them. No request may be acted on twice, no answer may belong to another request, what was answered must
// have been acted on, and nothing may be left over. TRAPOSD_SOAK=5m makes it long, and with 200 computers.
func TestSoak(t *testing.T) {
	length, computers := 2*time.Second, 20
	if s := os.Getenv("TRAPOSD_SOAK"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		length, computers = d, 200
		if s := os.Getenv("TRAPOSD_SOAK_COMPUTERS"); s != "" {
			if _, err := fmt.Sscan(s, &computers); err != nil {
				t.Fatal(err)
			}
		}
	}
	b := newBed(t, Options{
		AllowRelay: true, ReconnectGrace: 200 * time.Millisecond, Heartbeat: 50 * time.Millisecond, Unresponsive: 300 * time.Millisecond,
		Drop: 2 * time.Second, HelloTimeout: time.Second, QueueLength: 16,
	})
	w := &world{url: b.url, stop: make(chan struct{}), done: make(map[string]int)}
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	// On a machine that is too busy for any of the short calls, it goes on until the first of them succeeds.
	last, giveUp := context.WithTimeout(t.Context(), length+time.Minute)
	defer giveUp()
	var succeeded atomic.Bool
	var callers, players sync.WaitGroup
	for i := range computers {
		players.Go(func() { w.play(i, rand.New(rand.NewPCG(1, uint64(i)))) })
	}
	var mu sync.Mutex
	outcomes := make(map[string]int)
	for i := range 2 * computers {
		callers.Go(func() {
			rng := rand.New(rand.NewPCG(2, uint64(i)))
			for n := 0; ctx.Err() == nil || !succeeded.Load() && last.Err() == nil; n++ {
				outcome := w.call(last, t, b.g.Registry(), fmt.Sprintf("%d.%d", i, n), rng, computers)
				if outcome == "ok" {
					succeeded.Store(true)
				}
				mu.Lock()
				outcomes[outcome]++
				mu.Unlock()
			}
		})
	}
	callers.Wait()
	close(w.stop)
	players.Wait()
	t.Logf("outcomes: %v", outcomes)
	if outcomes["ok"] == 0 {
		t.Error("nothing succeeded")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for task, n := range w.done {
		if n > 1 {
			t.Errorf("task %s was done %d times", task, n)
		}
	}
	eventually(t, "everyone to be gone", func() bool { return len(b.g.Registry().all(nil)) == 0 })
}

type world struct {
	url  string
	stop chan struct{}

	mu   sync.Mutex
	done map[string]int // how often each task was done
}

func (w *world) call(ctx context.Context, t *testing.T, reg *Registry, task string, rng *rand.Rand, computers int) string {
	size := 0
	if rng.IntN(20) == 0 {
		size = rng.IntN(300_000)
	}
	payload, _ := json.Marshal(map[string]string{"task": task, "pad": strings.Repeat("x", size)})
	ctx, cancel := context.WithTimeout(ctx, time.Duration(20+rng.IntN(2000))*time.Millisecond)
	defer cancel()
	answer, err := reg.Request(ctx, "default", fmt.Sprint(rng.IntN(computers)), "do", payload)
	var coded *Error
	switch {
	case err == nil:
		w.mu.Lock()
		defer w.mu.Unlock()
		if string(answer) != `"`+task+`"` || w.done[task] != 1 {
			t.Errorf("task %s was answered %s and done %d times", task, answer, w.done[task])
		}
		return "ok"
	case asError(err, &coded):
		if coded.Code == CodeUnknownComputer || coded.Code == CodeDisconnected || coded.Code == CodeBusy {
			pause(ctx.Done(), time.Millisecond)
		}
		return string(coded.Code)
	default:
		t.Errorf("an error without a code: %v", err)
		return "?"
	}
}

func asError(err error, into **Error) bool {
	e, ok := err.(*Error) //nolint:errorlint // Request promises an *Error, not one that wraps it
	*into = e
	return ok
}

func pause(done <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	}
}

// play is the life of one computer: boots, and within a boot, connections.
func (w *world) play(id int, rng *rand.Rand) {
	for n := 0; ; n++ {
		var unsent []frame // answers that were due when the connection broke
		for connected := true; connected; {
			select {
			case <-w.stop:
				return
			default:
			}
			unsent, connected = w.connection(id, fmt.Sprintf("%d-%d", id, n), rng, unsent)
			pause(w.stop, time.Duration(rng.IntN(20))*time.Millisecond)
		}
	}
}

// connection lives until the connection ends. same says whether the same boot connects again.
func (w *world) connection(id int, boot string, rng *rand.Rand, unsent []frame) (rest []frame, same bool) {
	conn, resp, err := websocket.DefaultDialer.DialContext(context.Background(), w.url, nil)
	if err != nil {
		return unsent, true
	}
	_ = resp.Body.Close()
	defer func() { _ = conn.Close() }()
	stopped := make(chan struct{})
	defer close(stopped)
	go func() {
		select {
		case <-w.stop:
			_ = conn.Close()
		case <-stopped:
		}
	}()
	h := helloFrame(id, "x")
	h["boot"], h["serves"] = boot, []string{"do"}
	send := func(f frame) bool { return conn.WriteJSON(f) == nil }
	if !send(h) {
		return unsent, true
	}
	chunks := make(map[string][]byte)
	for {
		_, data, err := conn.ReadMessage()
		if err != nil {
			return unsent, true
		}
		f := decode(data)
		if f["type"] == "hello_ok" {
			for _, a := range unsent {
				send(a)
			}
			unsent = nil
			continue
		}
		if again, ends := w.mischief(conn, rng, send); ends {
			return unsent, again
		}
		if f["type"] == "chunk" {
			var c inbound
			_ = json.Unmarshal(data, &c)
			chunks[c.ID] = append(chunks[c.ID], c.Data...)
			if c.Seq == 0 {
				chunks[c.ID] = c.Data
			}
			if !c.Last {
				send(frame{"type": "chunk_ack", "id": c.ID, "seq": c.Seq})
				continue
			}
			f = decode(chunks[c.ID])
			delete(chunks, c.ID)
		}
		switch f["type"] {
		case "server_request":
			if f["request"] == "ping" { // relayed from a neighbour
				send(frame{"type": "computer_response", "id": f["id"], "ok": true})
				continue
			}
			task := f["payload"].(map[string]any)["task"].(string)
			w.mu.Lock()
			w.done[task]++
			w.mu.Unlock()
			a := frame{"type": "computer_response", "id": f["id"], "ok": true, "payload": task}
			if rng.IntN(50) == 0 {
				unsent = append(unsent, a)
				_ = conn.NetConn().Close()
				return unsent, true
			}
			send(a)
		case "ping":
			send(frame{"type": "pong", "t": f["t"]})
		}
	}
}

// mischief does something bad at times. ends says whether the connection is over, and again whether the boot goes on.
func (w *world) mischief(conn *websocket.Conn, rng *rand.Rand, send func(frame) bool) (again, ends bool) {
	switch rng.IntN(400) {
	case 0, 1:
		_ = conn.NetConn().Close()
		return true, true
	case 2, 3:
		_ = conn.NetConn().Close()
		return false, true // a reboot
	case 4:
		return false, true // half-open for a moment: the next boot is here before this connection is closed
	case 5:
		_ = conn.WriteMessage(websocket.TextMessage, []byte("{rubbish"))
	case 6:
		_ = conn.WriteMessage(websocket.TextMessage, []byte(strings.Repeat("x", 200_000)))
	case 7:
		pause(w.stop, time.Duration(rng.IntN(400))*time.Millisecond)
	case 8:
		for range 300 {
			send(frame{"type": "ping", "t": 1})
		}
	case 9:
		send(frame{"type": "computer_request", "id": "r", "request": "relay", "payload": frame{"to": "0", "request": "ping"}, "timeoutMs": 50})
	case 10:
		send(frame{"type": "chunk", "id": "half", "seq": 0, "data": b64("{")})
	}
	return true, false
}
