package craftos

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Defaults and limits, all measured on CC:Tweaked 1.113.1.
const (
	DefaultWidth      = 51
	DefaultHeight     = 19
	DefaultDiskBytes  = 1_000_000
	DefaultEventLimit = 256
	DefaultMaxMessage = 131_072
	DefaultAbortAfter = 7 * time.Second

	// MaxLabel is the length of the longest label, in bytes.
	MaxLabel = 32
)

// ErrRunning is returned by a second Run of a computer that runs.
var ErrRunning = errors.New("the computer is already running")

// Options describe a computer. The zero value is a computer with the number 0, no label and an empty disk.
type Options struct {
	ID    int
	Label string // at most MaxLabel bytes; longer ones are cut

	// Files is the first content of the disk, copied by New. A file that the disk has already is left alone.
	Files fs.FS
	// Dir, when set, is a host directory that holds the disk and outlives the computer. It is made when it does not
	// exist. Nothing outside of it is ever read or written.
	Dir string
	// Settings are set and saved at the first boot, over those that the disk's .settings file has.
	Settings map[string]any

	// AllowPrivate lets the computer connect to loopback, private and link-local addresses. Without it they are denied,
	// as CC:Tweaked's default rule $private does.
	AllowPrivate bool
	// RootCAs verify the servers of https and wss; nil means those of the host.
	RootCAs *x509.CertPool
	// DisableWebsockets and DisableHTTP are the game's http.websocket_enabled=false and http.enabled=false.
	DisableWebsockets, DisableHTTP bool

	Width, Height int       // of the terminal, in characters; default 51 × 19
	Stdout        io.Writer // receives each line of the terminal once it is complete, as plain UTF-8 text
	// Console says that Stdout is a plain terminal at which a person types (see TypeLine) and sees what is typed: a prompt is
	// shown before its line is complete, and a line that the person has typed is not repeated.
	Console bool
	Logger  *zap.Logger

	DiskBytes  int64         // capacity of the disk; default DefaultDiskBytes
	EventLimit int           // events that wait at most; default DefaultEventLimit
	MaxMessage int           // bytes of a WebSocket message, each way; default DefaultMaxMessage
	AbortAfter time.Duration // time without a yield until a program is stopped; default DefaultAbortAfter
}

func (o Options) withDefaults() Options {
	defaultInt(&o.Width, DefaultWidth)
	defaultInt(&o.Height, DefaultHeight)
	defaultInt(&o.EventLimit, DefaultEventLimit)
	defaultInt(&o.MaxMessage, DefaultMaxMessage)
	if o.DiskBytes == 0 {
		o.DiskBytes = DefaultDiskBytes
	}
	if o.AbortAfter == 0 {
		o.AbortAfter = DefaultAbortAfter
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	return o
}

func defaultInt(n *int, value int) {
	if *n == 0 {
		*n = value
	}
}

// Computer is an emulated computer. It keeps its disk and its label across reboots and runs.
type Computer struct {
	opts   Options
	log    *zap.Logger
	disk   *disk
	screen *terminal

	lines     chan string // typed lines, taken when a program waits for one
	impatient chan string // those that have waited long enough, taken when the computer has nothing to do

	mu      sync.Mutex
	label   string   // guarded by mu
	machine *machine // guarded by mu: the running boot, or nil
	running bool     // guarded by mu

	presetsDone bool // guarded by mu
}

// New makes a computer that is turned off. It fails when its disk cannot be made: a directory that cannot be
// opened, or files and settings for which there is no room.
func New(opts Options) (*Computer, error) {
	opts = opts.withDefaults()
	c := &Computer{opts: opts, log: opts.Logger, label: cutLabel(opts.Label)}
	c.lines, c.impatient = make(chan string), make(chan string)
	c.screen = newTerminal(opts.Width, opts.Height, mirror{out: opts.Stdout, person: opts.Console && opts.Stdout != nil})
	var err error
	if c.disk, err = newDisk(opts.Dir, opts.DiskBytes); err != nil {
		return nil, err
	}
	if opts.Files != nil {
		if err := c.disk.seed(opts.Files); err != nil {
			return nil, errors.Join(fmt.Errorf("copy the files of computer %d: %w", opts.ID, err), c.Close())
		}
	}
	return c, nil
}

// Close releases the host directory. It is needed only for computers with a Dir, and not while Run runs.
func (c *Computer) Close() error { return c.disk.close() }

// Run turns the computer on and returns when it is off again and nothing of it is left: after os.shutdown or Shutdown
// (nil), when ctx ends (its cause), or when a program had to be stopped (ErrTooLong). A reboot boots again within Run.
func (c *Computer) Run(ctx context.Context) error {
	c.mu.Lock()
	if c.running {
		c.mu.Unlock()
		return ErrRunning
	}
	c.running = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.running, c.machine = false, nil
		c.mu.Unlock()
	}()
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		m, err := newMachine(ctx, c)
		if err != nil {
			return fmt.Errorf("boot computer %d: %w", c.opts.ID, err)
		}
		c.screen.reset()
		c.mu.Lock()
		c.machine = m
		c.mu.Unlock()
		how, err := m.run()
		c.screen.flush()
		if how != outcomeReboot || err != nil {
			return err
		}
		c.log.Debug("computer reboots", zap.Int("computer", c.opts.ID))
	}
}

func (c *Computer) booted() *machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machine
}

// QueueEvent queues an event. Arguments may be nil, booleans, numbers, strings, byte slices, []any and map[string]any.
// It is dropped when the computer is off or has EventLimit events waiting.
func (c *Computer) QueueEvent(name string, args ...any) {
	if m := c.booted(); m != nil {
		m.queue.push(name, args...)
	}
}

// Reboot restarts the computer at once, as holding Ctrl+R does: its sockets drop without a close frame.
func (c *Computer) Reboot() {
	if m := c.booted(); m != nil {
		m.stop(outcomeReboot, nil)
	}
}

// Shutdown turns the computer off at once.
func (c *Computer) Shutdown() {
	if m := c.booted(); m != nil {
		m.stop(outcomeShutdown, nil)
	}
}

// Terminate queues a terminate event, as holding Ctrl+T does.
func (c *Computer) Terminate() { c.QueueEvent("terminate") }

// ID is the computer's number.
func (c *Computer) ID() int { return c.opts.ID }

// Label is the computer's label, empty when it has none.
func (c *Computer) Label() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.label
}

func (c *Computer) setLabel(label string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.label = cutLabel(label)
}

// cutLabel makes a label as the game does: MaxLabel bytes at most, question marks for what cannot be shown.
func cutLabel(label string) string {
	kept := []byte(label[:min(len(label), MaxLabel)])
	for i, c := range kept {
		if c < 0x20 || c >= 0x7f && c <= 0xa0 || c == 0xad {
			kept[i] = '?'
		}
	}
	return string(kept)
}

// Screen is the terminal's content, one string per line, without trailing spaces.
func (c *Computer) Screen() []string { return c.screen.lines() }

// ReadFile reads a file of the computer's disk (not of its rom).
func (c *Computer) ReadFile(path string) ([]byte, error) { return c.disk.readFile(cleanPath(path)) }

// WriteFile writes a file of the computer's disk, making its parents, within the disk's capacity.
func (c *Computer) WriteFile(path string, content []byte) error {
	return c.disk.writeFile(cleanPath(path), content)
}
