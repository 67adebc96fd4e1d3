package gateway

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/zap"
)

// Options configures a Gateway. Zero values are the defaults.
type Options struct {
	Password         func() string // the shared secret now; a func so that nothing prints it. nil or "" lets nobody in
	PreviousPassword func() string // accepted as well, while the secret is being changed; nil or "" means none
	RequireChallenge bool          // refuse a password in clear text, even the right one: computers must prove that they know it
	Logger           *zap.Logger   // one line per change of state; nil logs nothing

	HelloTimeout   time.Duration // from the upgrade to the hello; 5 s
	Heartbeat      time.Duration // between pings; 15 s
	Unresponsive   time.Duration // silence after which a computer is StateUnresponsive, and the longest a write may take; 45 s
	Drop           time.Duration // silence after which its connection is closed; 5 min
	ReconnectGrace time.Duration // how long the calls of a lost connection wait for the same boot to come back; 5 s

	MaxFrameBytes     int // of one WebSocket message, each way; 65536, at least 1024
	MaxAssembledBytes int // of one frame that a computer sends in chunks; 8 MiB
	MaxComputers      int // connected at a time; 16384
	QueueLength       int // requests that wait per computer, beyond the 8 under way; 256

	Files      http.Handler // serves every path but /gateway; nil answers 404
	AllowRelay bool         // computers may send requests to others of their network; Relay is stronger
	OnChange   func()       // a computer came, left, or changed its state or what it serves; it must not block

	Observe func(Observation) // a request to a computer has ended, however; it must not block. nil: nobody wants to know

	// Relay carries out what one computer asks of another of its network, by calling Registry.Request; it may refuse with an
	// *Error, or send something else. ctx ends with the time that the asker gives it, when it gives up, and when it is gone.
	// It is called from many goroutines at once. nil: AllowRelay says whether everything is sent as it is, or nothing.
	Relay func(ctx context.Context, r RelayRequest) (json.RawMessage, error)
}

// Path is where computers connect.
const Path = "/gateway"

// Gateway is the HTTP handler that computers connect to. All methods may be called concurrently.
type Gateway struct {
	opts     Options
	log      *zap.Logger
	registry *Registry
	throttle throttle
	counters counters
	upgrader websocket.Upgrader

	pending    atomic.Int64 // connections without a hello, or that are being refused
	assembling atomic.Int64 // bytes of chunked frames that are not complete
	running    sync.WaitGroup
	done       chan struct{} // closed by Close

	mu       sync.Mutex
	sessions map[*session]struct{}
	closed   bool
	watching bool // the heartbeat goroutine runs
}

// New returns a Gateway. It starts no goroutine before a computer connects.
func New(o Options) *Gateway {
	setDefault(&o.HelloTimeout, defaultHelloTimeout)
	setDefault(&o.Heartbeat, defaultHeartbeat)
	setDefault(&o.Unresponsive, defaultUnresponsive)
	setDefault(&o.Drop, defaultDrop)
	setDefault(&o.ReconnectGrace, defaultReconnectGrace)
	setDefault(&o.MaxFrameBytes, defaultMaxFrameBytes)
	setDefault(&o.MaxAssembledBytes, defaultMaxAssembled)
	setDefault(&o.MaxComputers, defaultMaxComputers)
	setDefault(&o.QueueLength, defaultQueueLength)
	o.MaxFrameBytes = max(o.MaxFrameBytes, minFrameBytes)
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	g := &Gateway{
		opts: o, log: o.Logger, done: make(chan struct{}), sessions: make(map[*session]struct{}),
		// Small buffers: a computer is idle most of its life, and larger messages go past them.
		upgrader: websocket.Upgrader{
			ReadBufferSize: 1024, WriteBufferSize: 4096, WriteBufferPool: &sync.Pool{},
			CheckOrigin: func(*http.Request) bool { return true }, // ServeHTTP has refused every Origin
			Error:       upgradeError,
		},
	}
	g.registry = &Registry{
		opts: &g.opts, log: g.log, changed: g.changed, prefix: newPrefix(),
		byKey: make(map[key]*computer), byID: make(map[int][]*computer),
	}
	return g
}

func setDefault[T int | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

func newPrefix() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails, as its documentation says
	return hex.EncodeToString(b[:]) + "-"
}

// Registry returns the registry of the connected computers.
func (g *Gateway) Registry() *Registry { return g.registry }

// ServeHTTP upgrades requests for Path to WebSocket connections and hands everything else to Options.Files. A request
// for Path with an Origin or a Sec-Fetch-Site header comes from a web page, and no web page is a computer: it is refused
// with 403. The Host header is not judged, since computers reach the gateway under any name of the network.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != Path {
		if g.opts.Files == nil {
			http.NotFound(w, r)
			return
		}
		g.opts.Files.ServeHTTP(w, r)
		return
	}
	for _, name := range [...]string{"Origin", "Sec-Fetch-Site"} {
		if len(r.Header[name]) > 0 {
			http.Error(w, "header "+name+": this gateway is for computers in the game, which send none; web pages may not connect to it", http.StatusForbidden)
			return
		}
	}
	if !websocket.IsWebSocketUpgrade(r) {
		w.Header().Set("Upgrade", "websocket")
		http.Error(w, "this is where computers connect, by WebSocket; set cloud.url on the computer to this address with ws:// in front",
			http.StatusUpgradeRequired)
		return
	}
	if g.pending.Add(1) > int64(g.opts.MaxComputers+pendingReserve) {
		g.pending.Add(-1)
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many computers are connecting; try again in a few seconds", http.StatusServiceUnavailable)
		return
	}
	hijacker := &batchHijacker{ResponseWriter: w}
	conn, err := g.upgrader.Upgrade(hijacker, r, nil)
	if err != nil {
		g.pending.Add(-1)
		return // answered by upgradeError
	}
	if err := hijacker.conn.flush(g.opts.HelloTimeout); err != nil {
		g.pending.Add(-1)
		_ = conn.Close()
		return
	}
	g.start(conn, hijacker.conn, r.RemoteAddr)
}

func upgradeError(w http.ResponseWriter, _ *http.Request, status int, reason error) {
	http.Error(w, reason.Error(), status)
}

// start runs a connection on a goroutine of its own, and not on that of its HTTP request: what the HTTP server holds for
// a request costs more memory than everything else of an idle computer.
func (g *Gateway) start(conn *websocket.Conn, batch *batchConn, remote string) {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	s := &session{
		g: g, conn: conn, batch: batch, remote: remote, host: host, stop: make(chan struct{}), finished: make(chan struct{}),
		assembler: assembler{limit: g.opts.MaxAssembledBytes, total: &g.assembling},
	}
	conn.SetCloseHandler(func(int, string) error { return nil }) // finish answers, through the writer
	answerPing := conn.PingHandler()
	conn.SetPingHandler(func(data string) error {
		if err := s.spend(); err != nil {
			return err
		}
		if batch.size() > batchLimit {
			return nil
		}
		err := answerPing(data)
		s.kick()
		return err
	})
	if !g.admit(s) {
		g.pending.Add(-1)
		s.writeClose(closeGoingAway, goingAway.Message)
		_ = conn.Close()
	}
}

// admit starts a session, unless the gateway is closed.
func (g *Gateway) admit(s *session) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.sessions[s] = struct{}{}
	g.running.Go(s.run)
	return true
}

func (g *Gateway) forget(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.sessions, s)
}

func (g *Gateway) isClosing() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

func (g *Gateway) changed() {
	if g.opts.OnChange != nil {
		g.opts.OnChange()
	}
}

// Close refuses new connections, closes the present ones with code 1001, fails every call as disconnected and waits
// until no goroutine of the gateway is left. When ctx ends first, it cuts what is left off and returns its error.
func (g *Gateway) Close(ctx context.Context) error {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.done)
	}
	open := make([]*session, 0, len(g.sessions))
	for s := range g.sessions {
		open = append(open, s)
	}
	g.mu.Unlock()
	connected := make(map[*session]bool)
	for _, c := range g.registry.all(nil) {
		failCalls(c.takeCalls(), newError(CodeDisconnected, "the gateway stops"))
		c.mu.Lock()
		if s := c.session; s != nil {
			connected[s] = true
			s.endLocked(closeGoingAway, goingAway)
		}
		c.mu.Unlock()
	}
	for _, s := range open {
		if !connected[s] { // it has not said hello, or is closing already
			_ = s.batch.SetReadDeadline(time.Now())
		}
	}
	finished := make(chan struct{})
	go func() {
		g.running.Wait()
		close(finished)
	}()
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
	}
	for _, s := range open {
		_ = s.batch.Close()
	}
	<-finished
	return ctx.Err()
}
