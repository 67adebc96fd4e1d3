package upstream

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"go.uber.org/zap"
)

// runFileName is the run file in Options.RunDir.
const runFileName = "children.json"

// runFile lists the children that run, so that the next start of the service can end those that outlived it. Safe for
// concurrent use; the nil *runFile keeps nothing.
type runFile struct {
	path string
	log  *zap.Logger

	mu      sync.Mutex
	content runs
	waiting sync.WaitGroup
}

// runs is the content of a run file.
type runs struct {
	Run      string     `json:"run"`  // begins the markers of all children
	Boot     string     `json:"boot"` // of the system; numbers of another one mean nothing. Empty: not known
	Children []childRun `json:"children"`
}

// childRun is one child: its number, that of its group too, and when it started, in a unit of the system, by which it
// is told from a later process of the same number.
type childRun struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// openRunFile ends what an earlier run left behind and begins a new file; nil if there is no folder for it.
func openRunFile(dir, run string, log *zap.Logger) *runFile {
	if dir == "" {
		return nil
	}
	f := &runFile{path: filepath.Join(dir, runFileName), log: log, content: runs{Run: run, Boot: bootID(), Children: []childRun{}}}
	data, err := os.ReadFile(f.path)
	switch {
	case err == nil:
		var old runs
		if json.Unmarshal(data, &old) == nil && old.Run != "" {
			if n := reapRun(old); n > 0 {
				log.Warn("children of an earlier run that did not end properly were ended", zap.Int("count", n))
			}
		}
	case !errors.Is(err, fs.ErrNotExist):
		log.Warn("the run file cannot be read; children of an earlier run may still be there", zap.String("err", describe(err)))
	}
	f.save()
	return f
}

// add notes a child, and takes it out again when nothing of it is left.
func (f *runFile) add(p *process) {
	if f == nil {
		return
	}
	child := childRun{PID: p.pid(), Start: startOf(p.pid())}
	f.mu.Lock()
	f.content.Children = append(f.content.Children, child)
	f.save()
	f.mu.Unlock()
	f.waiting.Go(func() {
		<-p.gone
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, c := range f.content.Children {
			if c == child {
				f.content.Children = append(f.content.Children[:i], f.content.Children[i+1:]...)
				break
			}
		}
		f.save()
	})
}

// save writes the file whole beside the old one and puts it in its place; f.mu is held, or nobody else knows f.
func (f *runFile) save() {
	data, err := json.Marshal(f.content)
	if err == nil {
		err = os.WriteFile(f.path+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(f.path+".new", f.path)
	}
	if err != nil {
		f.log.Warn("the run file cannot be written; after a crash of the service children may be left", zap.String("err", describe(err)))
	}
}

// close waits for the children and removes the file.
func (f *runFile) close() {
	if f == nil {
		return
	}
	f.waiting.Wait()
	_ = os.Remove(f.path)
}
