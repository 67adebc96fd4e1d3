package upstream

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

// lastWords is how long the answers that a child wrote before it ended may take to be read.
const lastWords = 500 * time.Millisecond

// stdioLink speaks to a child process: one JSON-RPC message per line on its stdin and stdout (2025-11-25,
// basic/transports).
type stdioLink struct {
	session *session
	log     *zap.Logger
	process *process
	tail    *tail
	in      *stdin
	quit    chan struct{} // closed by close: nothing more is written
	once    sync.Once
	eof     chan struct{} // closed when stdout has ended
	streams sync.WaitGroup
	watcher sync.WaitGroup
	gone    chan struct{}
	cause   error // set before gone is closed
}

// dialStdio starts a child process. closing is closed when the whole service ends.
func dialStdio(s *session, c command, mask *masker, closing <-chan struct{}) (*stdioLink, error) {
	p, err := startProcess(c, s.times, closing)
	if err != nil {
		return nil, err
	}
	l := &stdioLink{
		session: s, log: s.log, process: p, tail: &tail{mask: mask},
		in: newStdin(p.in), quit: make(chan struct{}), eof: make(chan struct{}), gone: make(chan struct{}),
	}
	s.link = l // before anything can be received
	l.streams.Go(l.read)
	l.streams.Go(func() { drainStderr(p.err, l.tail, l.log) })
	l.watcher.Go(l.write)
	l.watcher.Go(l.watch)
	return l, nil
}

func (l *stdioLink) use(string) {}

func (l *stdioLink) listen() {}

func (l *stdioLink) dead() <-chan struct{} { return l.gone }

func (l *stdioLink) why() error { return l.cause }

func (l *stdioLink) send(ctx context.Context, m *wire.Message, _ *call) error {
	line := append(m.Append(make([]byte, 0, len(m.Params)+len(m.Result)+128)), '\n')
	if bytes.IndexByte(line[:len(line)-1], '\n') >= 0 || bytes.IndexByte(line, '\r') >= 0 {
		line = oneLine(line)
	}
	if l.in.writeNow(line) {
		return nil
	}
	l.in.waiting.Add(1)
	var err error
	select {
	case l.in.queue <- line:
		return nil
	case <-l.gone:
		err = l.cause
	case <-l.quit:
		err = errStopped
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	l.in.waiting.Add(-1)
	return err
}

// oneLine replaces the line breaks between the tokens of a message; inside of JSON strings there are none.
func oneLine(line []byte) []byte {
	for i, c := range line[:len(line)-1] {
		if c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	return line
}

// write writes what its senders could not, until the child is gone or does not read any more.
func (l *stdioLink) write() {
	if err := l.in.run(l.quit, l.gone); err != nil {
		l.log.Debug("the server does not read its stdin any more", zap.String("err", describe(err)))
	} // what becomes of the process decides
}

// read handles the lines on stdout until it ends. What is not JSON-RPC is skipped: many servers print a greeting there.
func (l *stdioLink) read() {
	defer close(l.eof)
	lines := newLineReader(l.process.out, maxMessageBytes)
	noise := noise{log: l.log}
	defer noise.report()
	for {
		line, cut, err := lines.next()
		switch {
		case cut:
			l.tooLong(line)
		case len(bytes.TrimSpace(line)) > 0 && !l.message(line):
			noise.add(line)
		}
		if err != nil {
			return
		}
	}
}

// message handles one line; false if it is no message.
func (l *stdioLink) message(line []byte) bool {
	if wire.Kind(line) == '[' { // a batch, 2025-03-26 only
		if _, err := wire.Parse(line); codeOf(err) == wire.CodeParseError {
			return false
		}
		for element := range wire.Elements(line) {
			if wire.Kind(element) != '[' && !l.message(element) {
				return false
			}
		}
		return true
	}
	m, err := wire.Parse(line)
	if err == nil {
		l.session.receive(m, nil)
		return true
	}
	if m.ID != nil && codeOf(err) == wire.CodeInvalidRequest {
		if id, ok := parseID(m.ID); ok {
			l.session.spoil(id, failf(err, "its answer is not valid JSON-RPC"))
		}
	}
	return false
}

func (l *stdioLink) tooLong(line []byte) {
	id, ok := idOfCut(line)
	if !ok {
		l.log.Warn("a message of the server was above the size limit and was dropped", zap.Int("limit", maxMessageBytes))
		return
	}
	l.session.spoil(id, wire.Errorf(mcp.CodeTooLarge, "the answer of server %q is above the limit of %d bytes", l.session.name, maxMessageBytes))
}

func codeOf(err error) int64 {
	var rpc *wire.Error
	if errors.As(err, &rpc) {
		return rpc.Code
	}
	return 0
}

// watch waits for the end of the child, or of its stdout, and says why.
func (l *stdioLink) watch() {
	select {
	case <-l.process.ended:
	case <-l.eof:
		if !within(l.process.ended, lastWords) {
			l.end("closed its stdout")
			return
		}
	}
	done := make(chan struct{})
	l.watcher.Go(func() {
		l.streams.Wait()
		close(done)
	})
	if !within(done, lastWords) {
		l.process.closePipes() // somebody else keeps them open
		<-done
	}
	l.end(l.process.how)
}

func (l *stdioLink) end(how string) {
	if text := l.tail.text(); text != "" {
		how += ": " + text
	}
	l.cause = &failure{text: how, verb: true}
	close(l.gone)
}

func (l *stdioLink) close(polite bool) {
	l.once.Do(func() { close(l.quit) })
	l.process.stop(polite)
	if !within(l.gone, killLimit) {
		l.log.Error("a process of the server cannot be ended; it is left to the system", zap.Int("pid", l.process.pid()))
		l.process.closePipes()
		return
	}
	l.process.closePipes()
	l.streams.Wait()
	l.watcher.Wait()
}

// noise counts the lines on stdout that are no messages. Not safe for concurrent use.
type noise struct {
	log   *zap.Logger
	count int
}

func (n *noise) add([]byte) {
	if n.count++; n.count == 1 {
		n.log.Warn("the server writes to stdout what is no JSON-RPC message; such lines are skipped")
	}
}

func (n *noise) report() {
	if n.count > 1 {
		n.log.Info("lines of the server's stdout were skipped", zap.Int("count", n.count))
	}
}
