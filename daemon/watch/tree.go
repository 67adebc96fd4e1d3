package watch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/zap"
)

const (
	// maxDirs is how many directories are watched; files in further ones are left to the poll.
	maxDirs = 256

	// maxRounds is how often one look follows paths that grow while it watches them. Two is the rule; eight outlasts any `mkdir -p`.
	maxRounds = 8
)

// errCrowded is why a directory is left to the poll on systems where watching costs a descriptor per entry.
var errCrowded = errors.New("too many entries to watch")

// errTooMany is why a directory is left to the poll when maxDirs are watched already.
var errTooMany = errors.New("too many directories to watch")

// tree is the set of directories that are watched. It belongs to the loop.
type tree struct {
	open func() (source, error)
	poll time.Duration // for what the log says
	log  *zap.Logger
	mail *mailbox

	src    source               // nil: no events
	pumped sync.WaitGroup       // the pump of src
	dirs   map[string]directory // what src watches, by folded path
	files  map[string][]*file   // who depends on an entry, by folded path
	warned map[string]bool      // the kinds of failure the log has had its line about
}

type directory struct {
	path string
	info fs.FileInfo // the directory that was found there when it was last added
}

func newTree(w *Watcher) *tree {
	return &tree{
		open:   w.open,
		poll:   w.opts.Poll,
		log:    w.opts.Logger,
		mail:   newMailbox(),
		dirs:   map[string]directory{},
		warned: map[string]bool{},
	}
}

// key is the spelling under which the tree knows a path.
func key(path string) string { return fold(filepath.Clean(path)) }

// follow watches what files depend on now. What is still appearing after maxRounds is left to the poll.
func (t *tree) follow(files map[string]*file) {
	for range maxRounds {
		want := map[string]string{}
		t.files = map[string][]*file{}
		for _, f := range files {
			trail := trace(f.path)
			for _, name := range trail.names {
				t.files[key(name)] = append(t.files[key(name)], f)
			}
			for _, dir := range trail.dirs {
				want[key(dir)] = dir
			}
		}
		// Before anything is watched, so that no event is taken for a neighbour's. The directories are among the entries, the root
		// excepted, of which there is no news.
		interest := make(map[string]struct{}, len(t.files))
		for k := range t.files {
			interest[k] = struct{}{}
		}
		t.mail.care(interest)
		if !t.apply(want) {
			return
		}
	}
}

// apply watches the directories of want and no others. It says whether there was anything new about them: then what lies below
// may have appeared before they were watched, and has to be followed again.
func (t *tree) apply(want map[string]string) (news bool) {
	for k, d := range t.dirs {
		if _, ok := want[k]; !ok {
			t.forget(k, d)
		}
	}
	if t.src == nil && !t.start() {
		return false
	}
	for k, path := range want {
		info, err := os.Lstat(path)
		if err != nil {
			news = true // gone since it was followed
			continue
		}
		known, ok := t.dirs[k]
		if ok && !os.SameFile(known.info, info) {
			t.forget(k, known)
			ok = false
		}
		if ok && !addAgain {
			continue
		}
		if err := t.add(k, path, ok); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				news = true
				continue
			}
			t.warn(err, path)
			continue
		}
		_ = os.SameFile(info, info) // on Windows an identity is read when it is first compared, and would be another's by then
		t.dirs[k] = directory{path: path, info: info}
		news = news || !ok
	}
	return news
}

func (t *tree) add(k, path string, known bool) error {
	if !known {
		if len(t.dirs) >= maxDirs {
			return errTooMany
		}
		if crowded(path) {
			return errCrowded
		}
	}
	err := t.src.Add(path)
	if err != nil {
		delete(t.dirs, k)
	}
	return err
}

// forget stops watching a directory.
func (t *tree) forget(k string, d directory) {
	delete(t.dirs, k)
	if t.src != nil {
		_ = t.src.Remove(d.path) // fails if the directory is gone, and the watch with it
	}
}

// happened takes the news of one entry: it forgets the directory that was there, if one was watched, and returns the files that depend on it.
func (t *tree) happened(name string, op fsnotify.Op) []*file {
	if d, ok := t.dirs[name]; ok && op.Has(fsnotify.Remove|fsnotify.Rename|fsnotify.Create) {
		t.forget(name, d)
	}
	return t.files[name]
}

// start opens the source of events. Without one the poll goes on; each look tries again.
func (t *tree) start() bool {
	src, err := t.open()
	if err != nil {
		t.warn(err, "")
		return false
	}
	t.src = src
	t.pumped.Go(func() { t.mail.pump(src) })
	return true
}

// stop closes the source of events and waits for its pump.
func (t *tree) stop() {
	if t.src == nil {
		return
	}
	if err := t.src.Close(); err != nil {
		t.log.Debug("file events did not end well", zap.Error(err))
	}
	t.pumped.Wait()
	t.src = nil
	t.dirs = map[string]directory{}
}

// failed takes a failure of the running source. After an overflow it goes on; anything else is so rare that it is started anew.
func (t *tree) failed(err error) {
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		t.warn(err, "")
		return
	}
	t.log.Debug("file events start anew", zap.Error(err))
	t.stop()
}

// warn says once per kind of failure that edits are noticed by the poll only, and what to do about it.
func (t *tree) warn(err error, dir string) {
	sysctl := adviceFor(err)
	kind := sysctl
	fields := []zap.Field{zap.Duration("poll", t.poll), zap.Error(err)}
	if dir != "" {
		fields = append(fields, zap.String("dir", dir))
	}
	if sysctl == "" {
		kind = err.Error()
	}
	if t.warned[kind] {
		return
	}
	t.warned[kind] = true
	if sysctl == "" {
		t.log.Warn("no file events for a directory, its edits are noticed by polling", fields...)
		return
	}
	t.log.Warn("file events are limited, edits are noticed by polling: raise the sysctl", append(fields, zap.String("sysctl", sysctl))...)
}
