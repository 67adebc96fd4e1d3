package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/traposd/traposd/daemon/computertools"
	"github.com/traposd/traposd/daemon/notify"
	"github.com/traposd/traposd/daemon/page"
	"github.com/traposd/traposd/daemon/policy"
	"github.com/traposd/traposd/daemon/recent"
	"github.com/traposd/traposd/daemon/watch"
	"github.com/traposd/traposd/gateway"
	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/upstream"
)

// stopTimeout bounds a shutdown, however the servers and clients behave.
const stopTimeout = 10 * time.Second

// Daemon is the running service. Run may be called once; Ready, MCPURL and GatewayURL from any goroutine.
type Daemon struct {
	settings Settings
	version  string
	log      *zap.Logger
	logLevel *zap.AtomicLevel // nil: nobody said; see FollowLogLevel
	since    time.Time
	ready    chan struct{} // closed when both listeners are bound and the first configuration is being applied

	// Set before ready is closed, and not changed after.
	mcpAddr, gatewayAddr net.Addr
	listener             *mcp.Listener
	catalogue            *mcp.Catalogue
	gateway              *gateway.Gateway              // nil: off
	certificate          *certificate                  // of the gateway; nil: it speaks no TLS
	computers            *computertools.Server         // nil: no gateway
	policy               atomic.Pointer[policy.Policy] // in force; never nil
	reconciler           *upstream.Reconciler
	reloader             *reloader
	watcher              *watch.Watcher
	offers               *offers
	gate                 gate
	storing              sync.Mutex // held while a state file is read, changed and written
	metrics              *metrics
	events               *recent.Events
	calls                *calls
	requests             *computerRequests
	page                 *page.Page
	notifier             *notify.Notifier // nil: no service manager wants to know
	password             *password
}

// New returns a service that has not started.
func New(settings Settings, version string, log *zap.Logger) *Daemon {
	events := recent.New(zapcore.InfoLevel)
	log = log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core { return zapcore.NewTee(core, events) }))
	return &Daemon{
		settings: settings, version: version, log: log, events: events, calls: newCalls(), requests: newComputerRequests(),
		ready: make(chan struct{}), password: newPassword(settings.Password),
	}
}

// Ready is closed when the service can be used.
func (d *Daemon) Ready() <-chan struct{} { return d.ready }

// MCPURL is the listener's endpoint, as this machine reaches it. It is known once Ready is closed.
func (d *Daemon) MCPURL() string {
	addr := d.mcpAddr.String()
	if tcp, ok := d.mcpAddr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port)) // a Host of 0.0.0.0 would be refused
	}
	return "http://" + addr + "/mcp"
}

// GatewayURL is where computers connect, empty without a gateway. It is known once Ready is closed.
func (d *Daemon) GatewayURL() string {
	if d.gatewayAddr == nil {
		return ""
	}
	scheme := "ws://"
	if d.certificate != nil {
		scheme = "wss://"
	}
	return scheme + d.gatewayAddr.String() + "/gateway"
}

// Run runs the service until ctx ends, and returns nil when nothing of it is left. It fails with ErrAlreadyRunning,
// ErrAddressInUse or ErrSettings before any server's process is started.
func (d *Daemon) Run(ctx context.Context) error {
	d.since, d.notifier = time.Now(), notify.New()
	reloads, endSignals := catchSignals()
	defer endSignals()
	controlListener, release, err := listenControl(ctx, d.settings.RuntimeDir)
	if err != nil {
		return err
	}
	defer release()
	sockets, err := d.bind(ctx)
	if err != nil {
		return errors.Join(err, controlListener.Close())
	}
	d.assemble()
	ctl := startControl(controlListener, d, d.log.Named("control"))
	servers := d.serve(sockets)
	d.log.Info("listening", zap.String("mcp", d.MCPURL()), zap.String("gateway", d.GatewayURL()), zap.String("version", d.version))

	for _, root := range d.settings.Workspaces {
		if _, err := os.Stat(root); err != nil {
			d.log.Warn("the workspace is not there; its .mcp.json is read when it comes", zap.String("workspace", root))
		}
	}
	running, cancel := context.WithCancel(ctx)
	var loops sync.WaitGroup
	d.reloader.first()
	loops.Go(func() { d.reloader.run(running) })
	if d.certificate != nil {
		loops.Go(func() { d.certificate.run(running, certificateInterval) })
	}
	loops.Go(func() {
		if err := d.watcher.Run(running); err != nil && running.Err() == nil {
			d.log.Error("the file watcher ended; edits are not seen until a restart", zap.Error(err))
		}
	})
	loops.Go(func() { d.reloadOn(running, reloads) })
	close(d.ready)
	d.tellManager(d.notifier.Ready(d.statusLine()))
	loops.Go(func() { d.notifier.Run(running, d.statusLine) })

	var failed error
	select {
	case <-ctx.Done():
	case failed = <-servers.failed:
		d.log.Error("a listener failed", zap.Error(failed))
	}
	d.log.Info("stopping")
	d.tellManager(d.notifier.Stopping())
	cancel()
	loops.Wait()
	err = d.stop(servers, ctl)
	d.log.Info("stopped", zap.Duration("uptime", time.Since(d.since).Round(time.Millisecond)))
	return errors.Join(failed, err)
}

// assemble joins the rooms.
func (d *Daemon) assemble() {
	d.catalogue = mcp.NewCatalogue()
	d.listener = mcp.NewListener(mcp.Options{
		Catalogue: d.catalogue, Logger: d.log.Named("mcp"), Name: "traposd", Version: d.version,
		Token: d.settings.Token.Reveal, Observe: d.calls.add,
		// A client asks for prompts and resources at its start or never: it must not matter that a server is slower.
		Declare: mcp.DeclarePrompts | mcp.DeclareResources | mcp.DeclareCompletions | mcp.DeclareLogging,
	})
	if d.gatewayAddr != nil {
		d.gateway = gateway.New(gateway.Options{
			Password: d.password.reveal, PreviousPassword: d.password.revealPrevious, RequireChallenge: d.settings.GatewayAuth == AuthChallenge,
			Logger: d.log.Named("gateway"), Files: luaFiles(d.version), Observe: d.requests.add,
			Relay: func(ctx context.Context, r gateway.RelayRequest) (json.RawMessage, error) {
				return d.computers.Relay(ctx, r)
			},
		})
	}
	unread := policy.Unread(ownFileName) // until the file has been read
	d.policy.Store(&unread)
	d.offers = newOffers(d.listener, d.catalogue, d.computerEntries())
	d.reconciler = upstream.New(upstream.Options{
		Logger:         d.log.Named("upstream"),
		OnChange:       d.offers.running,
		OnNotification: d.listener.Broadcast,
		LogLevel:       d.listener.LogLevel,
		ClientName:     "traposd", ClientVersion: d.version,
		Environ: childEnviron,
		RunDir:  d.settings.RuntimeDir, StateDir: d.stateFolder(),
	})
	r := newReloader()
	r.log, r.load, r.apply = d.log.Named("config"), d.load, d.apply
	d.watcher = watch.New(watch.Options{
		Logger:  d.log.Named("watch"),
		Partial: halfWritten, Permissions: privileged(),
		Changed: r.changed,
	})
	r.watch = d.watcher.Set
	d.reloader = r
	d.metrics = newMetrics(d.version, d.scrape, d.calls.seconds, d.requests.seconds)
	d.page = newPage(d)
	r.reloads = d.metrics.reloads
}

// stateFolder makes the state folder if it is missing. Without one, nothing is remembered from run to run; that is worth a
// warning, and no reason not to serve.
func (d *Daemon) stateFolder() string {
	if err := os.MkdirAll(d.settings.StateDir, 0o700); err != nil {
		d.log.Warn("the state folder cannot be made; changed tool definitions go unseen over a restart", zap.Error(err))
		return ""
	}
	return d.settings.StateDir
}

// computerEntries are the computer tools, if there is a gateway.
func (d *Daemon) computerEntries() []mcp.Entry {
	if d.gateway == nil {
		return nil
	}
	d.computers = computertools.New(d.gateway.Registry(), computertools.Options{Logger: d.log.Named("computers"), Policy: d.policy.Load})
	return []mcp.Entry{d.computers.Entry()}
}

// stop ends everything at once, within stopTimeout: no client waits for a slow server, no server for a slow client.
func (d *Daemon) stop(servers *httpServers, ctl *control) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, 4)
	wg.Go(func() { errs[0] = d.listener.Close(ctx) })
	wg.Go(func() { errs[1] = d.reconciler.Close(ctx) })
	if d.gateway != nil {
		wg.Go(func() { errs[2] = d.gateway.Close(ctx) })
	}
	wg.Go(func() { errs[3] = ctl.close(ctx) })
	wg.Go(d.page.Close)
	wg.Wait()
	return errors.Join(append(errs, servers.close(ctx))...)
}
