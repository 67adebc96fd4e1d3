package watch

import "time"

const (
	// everyNth is how many polls may trust a file's stat before one reads it all the same: every 30 s at MaxPoll. What changes
	// without a trace in the times (a network file system that caches attributes) is found then; opening a file makes NFS ask the server.
	everyNth = 10

	// maxBurst is after how many debounces a file that is never quiet is looked at nevertheless.
	maxBurst = 10

	// maxHold is after how many settling times content that never settles is reported nevertheless.
	maxHold = 4

	// maxDoubts is how often in a row a file is told again for no better reason than that it was touched just then. On file systems
	// whose stamps are never the same twice that would go on for ever.
	maxDoubts = 3
)

// file is what is known about one watched path. It belongs to the loop.
type file struct {
	name string // as given to Set
	path string // absolute

	told state   // what Changed was last told, or what Set saw
	last glimpse // of the last look

	since   time.Time // since when looks have found what the last one found, if that is not what was told
	first   time.Time // since when they have found anything but what was told; zero: they have not
	dirty   bool      // an event says that a stat is not enough
	unsure  bool      // whoever was told may have read something else since: to be told again whatever the next look finds
	doubts  int       // how often unsure was set since the content last differed from what was told
	trusted int       // polls since the content was last read
}

func newFile(name string, g *glimpse) *file {
	return &file{name: name, path: absolute(name), told: g.state, last: *g}
}

// look looks again, and reads only if it must: if forced, if an event or a doubt says so, if the stat differs or proves nothing, or if
// it was everyNth polls ago.
func (f *file) look(now time.Time, forced bool, o *Options) {
	if !forced && !f.dirty && !f.unsure && f.trusted < everyNth && f.last.unchanged(f.path) {
		f.trusted++
		return
	}
	f.dirty, f.trusted = false, 0
	var partial func([]byte) bool
	if o.Partial != nil {
		partial = func(data []byte) bool { return o.Partial(f.name, data) }
	}
	g := take(f.path, o.Permissions, partial)
	switch {
	case g.state == f.told && !f.unsure:
		f.first = time.Time{}
	case f.first.IsZero(), f.last.kind == absent && g.kind != absent:
		f.first, f.since = now, now // what comes back has all its time to settle
	case g.state != f.last.state:
		f.since = now
	}
	if g.state != f.told {
		f.doubts = 0
	}
	f.last = g
}

// doubt is called when others have just read the file. If it was touched since the last look, they may have read something that neither that look nor
// the next one finds (it is changed and at once changed back): then they are told again, and doubt says so.
func (f *file) doubt() bool {
	if f.doubts >= maxDoubts || !f.last.overtaken(f.path) {
		return false
	}
	f.doubts++
	f.unsure = true
	return true
}

// due says from when on the last look's finding is to be reported; zero if there is nothing to report. quiet means
// that events vouch for the debounce already.
func (f *file) due(quiet bool, o *Options) time.Time {
	if f.first.IsZero() {
		return time.Time{}
	}
	wait := o.Settle
	switch {
	case f.last.kind == absent:
		return f.since.Add(o.Grace)
	case f.last.kind == content && !f.last.partial && quiet:
		return f.since
	case f.last.kind == content && !f.last.partial:
		wait = o.Debounce
	}
	due, limit := f.since.Add(wait), f.first.Add(maxHold*o.Settle)
	if limit.Before(due) {
		return limit
	}
	return due
}

// tell makes the last look's finding what was told.
func (f *file) tell() {
	f.told, f.first, f.unsure = f.last.state, time.Time{}, false
}
