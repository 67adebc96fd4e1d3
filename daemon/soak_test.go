package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/traposd/traposd/gateway"
	"github.com/traposd/traposd/lua"
	"github.com/traposd/traposd/lua/craftos"
)

const (
	soakPassword = "soak secret"
	soakPaths    = 4                // files that are written again and again, per computer
	soakBoot     = 20 * time.Second // between two reboots, at most
	soakPatience = 5 * time.Minute  // for a computer to be there, and to be back after the mischief
)

// TestSoak runs the computer's real programs in emulated computers, over wires that stall and break, while the computers
// reboot at random and others send the gateway rubbish, oversize and floods. Whatever happens, a write that was acknowledged
// is on the disk, whole, no exec runs twice, one that was acknowledged has run, and nothing is left over.
// TRAPOSD_SOAK=5m makes it long, and with 200 computers, 40 of them emulated.
func TestSoak(t *testing.T) {
	length, emulated, hostile := 3*time.Second, 2, 6
	if s := os.Getenv("TRAPOSD_SOAK"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		length, emulated, hostile = d, 40, 160
	}
	g := gateway.New(gateway.Options{Password: func() string { return soakPassword }})
	socket, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: g, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(socket) }()
	wire := newBadWire(t, socket.Addr().String())
	var mischief, machines, callers sync.WaitGroup
	list := make([]*soaked, emulated)
	on, turnOff := context.WithCancel(context.Background())
	for i := range list {
		s := newSoaked(t, g.Registry(), i, "ws://"+wire.addr()+gateway.Path)
		list[i] = s
		machines.Go(func() {
			if err := s.machine.Run(on); !errors.Is(err, context.Canceled) {
				t.Errorf("computer %d ended: %v", s.id, err)
			}
		})
	}
	for _, s := range list {
		s.awaitBack()
	}
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	for i := range hostile {
		mischief.Go(func() { molest(ctx, socket.Addr().String(), 1000+i) })
	}
	for _, s := range list {
		mischief.Go(func() { s.reboots(ctx, min(length, soakBoot)) })
		callers.Go(func() { s.calls(ctx) })
	}
	callers.Wait()
	mischief.Wait()
	wire.behave()
	for _, s := range list {
		s.check()
	}
	turnOff()
	machines.Wait()
	wire.end()
	if err := g.Close(context.Background()); err != nil {
		t.Error(err)
	}
	_ = server.Close()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	report(t, list, length > time.Minute)
}

func report(t *testing.T, list []*soaked, long bool) {
	t.Helper()
	total, boots := map[string]int{}, 0
	for _, s := range list {
		boots += s.boots
		for what, n := range s.outcomes {
			total[what] += n
		}
	}
	t.Logf("%d computers, %d reboots, outcomes: %v", len(list), boots, total)
	if long && (total["write ok"] == 0 || total["exec ok"] == 0) {
		t.Error("nothing succeeded")
	}
}

// soaked is one emulated computer and what it was asked to do. Each goroutine of the test has its own fields.
type soaked struct {
	t        *testing.T
	id       int
	machine  *craftos.Computer
	registry *gateway.Registry
	boots    int // by reboots

	outcomes map[string]int
	serial   int
	files    [soakPaths]soakedFile
	acked    []string        // tasks that were said to have run
	asked    map[string]bool // tasks that may have run
}

// soakedFile is what may be in a file: the last content that was acknowledged, or nothing, and those that were asked for since.
type soakedFile struct{ possible []string }

func newSoaked(t *testing.T, registry *gateway.Registry, id int, url string) *soaked {
	t.Helper()
	machine, err := craftos.New(craftos.Options{
		ID: id, Label: "soaked", Files: lua.Files(), AllowPrivate: true, AbortAfter: time.Hour, // each has a fraction of the machine
		Settings: map[string]any{"cloud.url": url, "cloud.password": soakPassword},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &soaked{t: t, id: id, machine: machine, registry: registry, outcomes: map[string]int{}, asked: map[string]bool{}}
	for k := range s.files {
		s.files[k].possible = []string{""}
	}
	return s
}

func (s *soaked) reboots(ctx context.Context, longest time.Duration) {
	for {
		idle(ctx.Done(), time.Duration(rand.Int64N(int64(longest))))
		if ctx.Err() != nil {
			return
		}
		s.machine.Reboot()
		s.boots++
	}
}

func (s *soaked) calls(ctx context.Context) {
	rng := rand.New(rand.NewPCG(1, uint64(s.id)))
	for ctx.Err() == nil {
		s.serial++
		call, cancel := context.WithTimeout(ctx, time.Duration(200+rng.IntN(8000))*time.Millisecond)
		what, err := s.one(call, rng)
		cancel()
		var coded *gateway.Error
		switch {
		case err == nil:
			s.outcomes[what+" ok"]++
		case errors.As(err, &coded):
			s.outcomes[what+" "+string(coded.Code)]++
			idle(ctx.Done(), 20*time.Millisecond)
		default:
			s.t.Errorf("%s: an error without a code: %v", what, err)
		}
	}
}

// one makes one call, of a kind by chance.
func (s *soaked) one(ctx context.Context, rng *rand.Rand) (string, error) {
	switch n := rng.IntN(10); {
	case n < 4:
		return "write", s.write(ctx, rng)
	case n < 8:
		return "exec", s.exec(ctx)
	case n < 9: // stopped at its time limit, or by our leaving
		_, err := s.ask(ctx, "exec-lua", map[string]any{"sourceBase64": []byte("while true do end"), "timeoutMs": 300})
		return "loop", err
	default:
		_, err := s.ask(ctx, "exec-lua", map[string]any{"sourceBase64": []byte("for i = 1, 400 do os.queueEvent('flood') end")})
		return "flood", err
	}
}

func (s *soaked) ask(ctx context.Context, kind string, payload map[string]any) (answer map[string]any, err error) {
	text, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	reply, err := s.registry.Request(ctx, "", strconv.Itoa(s.id), kind, text)
	if err != nil {
		return nil, err
	}
	return answer, json.Unmarshal(reply, &answer)
}

func (s *soaked) write(ctx context.Context, rng *rand.Rand) error {
	size := rng.IntN(2000)
	if rng.IntN(20) == 0 {
		size = 70_000 // goes in chunks
	}
	sum := sha256.Sum256([]byte(strconv.Itoa(s.serial)))
	content := fmt.Sprintf("%d %x %s end", s.serial, sum, strings.Repeat("x", size))
	k := rng.IntN(soakPaths)
	file := &s.files[k]
	file.possible = append(file.possible, content)
	answer, err := s.ask(ctx, "write-file", map[string]any{"path": fmt.Sprintf("soak/%d", k), "dataBase64": []byte(content)})
	if err == nil && answer["ok"] == true {
		file.possible = []string{content}
	} else if err == nil {
		s.t.Errorf("a write was refused: %v", answer)
	}
	return err
}

func (s *soaked) exec(ctx context.Context) error {
	task := fmt.Sprintf("task-%d", s.serial)
	s.asked[task] = true
	source := fmt.Sprintf("local f = fs.open('tasks', 'a') f.writeLine(%q) f.close() return %q", task, task)
	answer, err := s.ask(ctx, "exec-lua", map[string]any{"sourceBase64": []byte(source)})
	if err != nil {
		return err
	}
	if answer["ok"] != true || !strings.Contains(fmt.Sprint(answer["returns"]), base64.StdEncoding.EncodeToString([]byte(task))) {
		s.t.Errorf("%s was answered %v", task, answer)
		return nil
	}
	s.acked = append(s.acked, task)
	return nil
}

// awaitBack waits until the computer is there and has settled what a reboot left behind on its disk.
func (s *soaked) awaitBack() {
	limit := time.Now().Add(soakPatience)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		answer, err := s.ask(ctx, "exec-lua", map[string]any{"sourceBase64": []byte("return 1")})
		cancel()
		if err == nil && answer["ok"] == true {
			return
		}
		if time.Now().After(limit) {
			s.t.Errorf("computer %d did not come back: %v\n%s", s.id, err, strings.Join(s.machine.Screen(), "\n"))
			return
		}
		idle(nil, 50*time.Millisecond)
	}
}

// check looks at the disk.
func (s *soaked) check() {
	s.awaitBack()
	log, _ := s.machine.ReadFile("tasks") // absent if none has run
	ran := map[string]int{}
	for _, task := range strings.Fields(string(log)) {
		ran[task]++
		if ran[task] > 1 || !s.asked[task] {
			s.t.Errorf("computer %d ran %s %d times", s.id, task, ran[task])
		}
	}
	for _, task := range s.acked {
		if ran[task] != 1 {
			s.t.Errorf("computer %d says that it ran %s, and did so %d times", s.id, task, ran[task])
		}
	}
	for k, file := range s.files {
		s.checkFile(fmt.Sprintf("soak/%d", k), file.possible)
	}
}

func (s *soaked) checkFile(path string, possible []string) {
	data, err := s.machine.ReadFile(path)
	if !slices.Contains(possible, string(data)) {
		s.t.Errorf("computer %d: %s holds %d bytes (%.20q, %v), which is none of the %d contents that it may have",
			s.id, path, len(data), data, err, len(possible))
	}
}

// molest is a computer that does everything wrong, again and again.
func molest(ctx context.Context, addr string, id int) {
	rng := rand.New(rand.NewPCG(3, uint64(id)))
	for ctx.Err() == nil {
		d := websocket.Dialer{HandshakeTimeout: 10 * time.Second}
		conn, response, err := d.DialContext(ctx, "ws://"+addr+gateway.Path, nil)
		if err != nil {
			idle(ctx.Done(), 100*time.Millisecond)
			continue
		}
		_ = response.Body.Close()
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		misbehave(ctx, conn, rng, id)
		stop()
		_ = conn.Close()
		idle(ctx.Done(), time.Duration(rng.IntN(500))*time.Millisecond)
	}
}

func misbehave(ctx context.Context, conn *websocket.Conn, rng *rand.Rand, id int) {
	say := func(text string) { _ = conn.WriteMessage(websocket.TextMessage, []byte(text)) }
	if rng.IntN(10) == 0 {
		say("rubbish in place of a hello")
		return
	}
	say(fmt.Sprintf(`{"type":"hello","protocol":1,"password":%q,"computerId":%d,"boot":"%d","serves":["exec-lua"]}`, soakPassword, id, rng.Int()))
	for range 20 {
		if ctx.Err() != nil {
			return
		}
		switch rng.IntN(8) {
		case 0:
			say("{rubbish")
		case 1:
			say(strings.Repeat("x", 200_000))
		case 2:
			for range 3000 {
				say(`{"type":"ping","t":1}`)
			}
		case 3:
			idle(ctx.Done(), 3*time.Second) // reads nothing
		case 4:
			say(`{"type":"chunk","id":"half","seq":0,"last":false,"data":"e30="}`)
		case 5:
			_ = conn.WriteMessage(websocket.BinaryMessage, []byte{0, 1, 2})
		case 6:
			_, _ = conn.NetConn().Write([]byte("\xff\xff\xff\xff"))
		default:
			say(`{"type":"computer_request","id":"c","request":"computers","payload":{}}`)
			_ = conn.SetReadDeadline(time.Now().Add(time.Second))
			if _, _, err := conn.ReadMessage(); err != nil {
				return
			}
		}
	}
}
