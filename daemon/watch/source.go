package watch

import (
	"sync"

	"github.com/fsnotify/fsnotify"
)

// source is where file events come from: fsnotify's Watcher, or a test's.
type source interface {
	Add(dir string) error
	Remove(dir string) error
	Events() <-chan fsnotify.Event // closed by Close
	Errors() <-chan error          // closed by Close
	Close() error
}

type fsnotifySource struct{ *fsnotify.Watcher }

func (s fsnotifySource) Events() <-chan fsnotify.Event { return s.Watcher.Events }
func (s fsnotifySource) Errors() <-chan error          { return s.Watcher.Errors }

func openSource() (source, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return fsnotifySource{w}, nil
}

// mailbox takes what a source sends at once, always: fsnotify may hold the lock that Add and Remove need while it sends an error, and on
// Windows answers them from the goroutine that sends events. Whoever calls them can therefore not be the one who receives. It keeps
// only the names that matter, so that it is bounded by what is watched, and nobody is woken by a neighbour.
type mailbox struct {
	wake chan struct{} // one slot

	mu       sync.Mutex
	interest map[string]struct{}    // guarded by mu; folded names that matter
	names    map[string]fsnotify.Op // guarded by mu; what has happened to them since the last take
	err      error                  // guarded by mu; the first failure since the last take
}

func newMailbox() *mailbox {
	return &mailbox{wake: make(chan struct{}, 1), names: map[string]fsnotify.Op{}}
}

// pump receives until the source is closed.
func (m *mailbox) pump(s source) {
	events, errs := s.Events(), s.Errors()
	for events != nil || errs != nil {
		select {
		case ev, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			m.put(ev)
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			m.fail(err)
		}
	}
}

func (m *mailbox) put(ev fsnotify.Event) {
	name := key(ev.Name)
	m.mu.Lock()
	_, matters := m.interest[name]
	if matters {
		m.names[name] |= ev.Op
	}
	m.mu.Unlock()
	if matters {
		m.signal()
	}
}

func (m *mailbox) fail(err error) {
	m.mu.Lock()
	if m.err == nil {
		m.err = err
	}
	m.mu.Unlock()
	m.signal()
}

func (m *mailbox) signal() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// care replaces the names that matter.
func (m *mailbox) care(interest map[string]struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.interest = interest
}

// take empties the mailbox.
func (m *mailbox) take() (names map[string]fsnotify.Op, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	names, err = m.names, m.err
	m.names, m.err = map[string]fsnotify.Op{}, nil
	return names, err
}
