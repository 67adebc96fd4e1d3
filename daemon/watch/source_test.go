package watch

import (
	"sync"

	"github.com/fsnotify/fsnotify"
)

// handSource is a source whose events a test sends by hand.
type handSource struct {
	events chan fsnotify.Event
	errs   chan error
	close  func()

	mu   sync.Mutex
	dirs map[string]bool        // guarded by mu
	fail func(dir string) error // guarded by mu; nil: Add never fails
}

func newHandSource() *handSource {
	s := &handSource{events: make(chan fsnotify.Event), errs: make(chan error), dirs: map[string]bool{}}
	s.close = sync.OnceFunc(func() { close(s.events); close(s.errs) })
	return s
}

func (s *handSource) Add(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(dir); err != nil {
			return err
		}
	}
	s.dirs[dir] = true
	return nil
}

func (s *handSource) Remove(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dirs[dir] {
		return fsnotify.ErrNonExistentWatch
	}
	delete(s.dirs, dir)
	return nil
}

func (s *handSource) watches(dir string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dirs[dir]
}

func (s *handSource) failing(fail func(dir string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

func (s *handSource) Events() <-chan fsnotify.Event { return s.events }
func (s *handSource) Errors() <-chan error          { return s.errs }
func (s *handSource) Close() error                  { s.close(); return nil }

func (s *handSource) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.dirs)
}
