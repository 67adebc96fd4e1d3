package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

// sink is a link to a server that never says anything of its own accord; it keeps what it is sent.
type sink struct {
	mu   sync.Mutex
	sent []*wire.Message
}

func (l *sink) send(_ context.Context, m *wire.Message, _ *call) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, m)
	return nil
}

func (*sink) use(string)            {}
func (*sink) listen()               {}
func (*sink) dead() <-chan struct{} { return nil }
func (*sink) why() error            { return nil }
func (*sink) close(bool)            {}

// answers are the answers of the session to the server's request of that id.
func (l *sink) answers(id string) (found []*wire.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.sent {
		if m.IsResponse() && string(m.ID) == id {
			found = append(found, m)
		}
	}
	return found
}

// person is a client that thinks about every question until it is told the answer.
type person struct {
	asker
	answer chan string
}

func (p *person) Request(ctx context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
	p.mu.Lock()
	p.asked = append(p.asked, string(params))
	p.mu.Unlock()
	select {
	case answer := <-p.answer:
		return json.RawMessage(answer), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// shared is a session on a stream that all calls share, with the calls of some people on it.
type shared struct {
	t       *testing.T
	session *session
	link    *sink
	people  map[string]*person
	ids     map[string]string // of the calls in flight, by person
	asked   int
}

// onSharedStream runs a test in a bubble whose clock stands still unless all wait.
func onSharedStream(t *testing.T, test func(s *shared)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &shared{t: t, link: &sink{}, people: map[string]*person{}, ids: map[string]string{}}
		s.session = newSession("s", zap.NewNop(), Times{}.withDefaults(), identity{"c", "1"})
		s.session.link = s.link
		test(s)
		s.session.fail(errors.New("over"))
		s.session.wait()
		synctest.Wait()
	})
}

// call begins a person's call.
func (s *shared) call(who string) {
	s.t.Helper()
	p := &person{answer: make(chan string)}
	s.people[who] = p
	go func() {
		_, _ = s.session.call(context.Background(), mcp.Request{Method: "tools/call", Client: p}, forever)
	}()
	synctest.Wait()
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	s.ids[who] = string(s.link.sent[len(s.link.sent)-1].ID)
}

// end ends it with a result.
func (s *shared) end(who string) {
	s.session.receive(wire.Response(json.RawMessage(s.ids[who]), json.RawMessage(`{}`)), nil)
	synctest.Wait()
}

// asks has the server ask something and checks whom: nobody if want is empty, and then it is told so.
func (s *shared) asks(want string) {
	s.t.Helper()
	s.asked++
	id := `"q` + itoa(s.asked) + `"`
	s.session.receive(&wire.Message{ID: json.RawMessage(id), Method: "sampling/createMessage", Params: json.RawMessage(id)}, nil)
	synctest.Wait()
	for who, p := range s.people {
		p.mu.Lock()
		got := slices.Contains(p.asked, id)
		p.mu.Unlock()
		if got != (who == want) {
			s.t.Errorf("question %s: %s was asked: %v; it is for %q", id, who, got, want)
		}
	}
	refused := s.link.answers(id)
	if want == "" && (len(refused) != 1 || refused[0].Error == nil || !strings.Contains(refused[0].Error.Message, "no single call")) {
		s.t.Errorf("question %s was answered with %v", id, refused)
	}
}

// answers has a person answer the oldest question that is open.
func (s *shared) answers(who string) {
	s.people[who].answer <- `{}`
	synctest.Wait()
}

func TestWhoseQuestionItIs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(s *shared){
		"one call": func(s *shared) {
			s.call("a")
			s.asks("a")
			pass(time.Minute)
			s.asks("a")
		},
		"none": func(s *shared) {
			s.asks("")
			s.call("a")
			s.end("a")
			s.asks("")
		},
		"two calls, none has asked": func(s *shared) {
			s.call("a")
			s.call("b")
			s.asks("")
		},
		"one thinks, the other's call asks": func(s *shared) {
			s.call("slow")
			s.asks("slow")
			for range 3 {
				s.call("b")
				pass(burst)
				s.asks("b")
				s.answers("b")
				s.asks("b")
				s.answers("b")
				s.end("b")
			}
		},
		"two think, the third one's call asks": func(s *shared) {
			s.call("a")
			s.asks("a")
			s.call("b")
			pass(burst)
			s.asks("b")
			s.call("c")
			pass(burst)
			s.asks("c")
		},
		"one thinks, the other's call asks three things at a time": func(s *shared) {
			s.call("slow")
			s.asks("slow")
			s.call("b")
			pass(burst)
			s.asks("b")
			s.asks("b")
			pass(burst - time.Millisecond)
			s.asks("b")
			pass(burst)
			s.asks("") // it may be a new one of either
		},
		"three things at a time while another call has just begun": func(s *shared) {
			s.call("a")
			s.asks("a")
			s.call("b")
			s.asks("") // it may be the second one of a, or the first of b
			pass(burst)
			s.asks("b")
		},
		"the one that asked last is over": func(s *shared) {
			s.call("a")
			s.asks("a")
			s.call("b")
			pass(burst)
			s.asks("b")
			s.call("c")
			pass(burst)
			s.asks("c")
			s.end("c")
			s.asks("")
		},
		"all have their answers": func(s *shared) {
			s.call("a")
			s.asks("a")
			s.answers("a")
			s.call("b")
			pass(burst)
			s.asks("")
		},
	} {
		t.Run(name, func(t *testing.T) { onSharedStream(t, test) })
	}
}

// TestQuestionsEndWithTheirCall: nobody is left thinking about what nobody waits for.
func TestQuestionsEndWithTheirCall(t *testing.T) {
	t.Parallel()
	onSharedStream(t, func(s *shared) {
		s.call("a")
		s.asks("a")
		s.end("a")
		if got := s.link.answers(`"q1"`); len(got) != 1 || got[0].Error == nil {
			s.t.Errorf("the server got %v", got)
		}
	})
}
