package gateway

import (
	"net/netip"
	"sync"
	"time"
)

// throttle slows the addresses down from which wrong passwords come, and keeps the refused from filling the log. A right password is never refused: many computers
// share the address of their Minecraft server, and one that has the wrong password must not lock the others out.
type throttle struct {
	mu    sync.Mutex
	hosts map[string]*offender
}

type offender struct {
	score   float64 // failures, minus one per throttleDecay
	updated time.Time
	waiting int // hellos that wait
	failed  time.Time
	said    map[Code]*saying // what the log was told of
}

// saying is what the log was told of one kind of refusal.
type saying struct {
	at     time.Time
	unsaid int // refusals since
}

const (
	throttleFree    = 10              // failures without consequence
	throttleDecay   = 3 * time.Second // one failure is forgotten in this time
	throttleStep    = 100 * time.Millisecond
	throttleMax     = 5 * time.Second
	throttleScore   = 40   // no higher, so that an address recovers in two minutes
	throttleWaiting = 64   // hellos per address that may wait: about 13 guesses per second
	throttleHosts   = 4096 // addresses that are remembered
	throttleQuiet   = time.Minute
)

// wait returns when a hello from host may be judged: at once, unless there were too many failures. It reports false when
// too many wait already, or done is closed.
func (t *throttle) wait(host string, done <-chan struct{}) bool {
	host = throttleKey(host)
	t.mu.Lock()
	o := t.hosts[host]
	if o == nil {
		t.mu.Unlock()
		return true
	}
	d := o.delay(time.Now())
	if d == 0 {
		t.mu.Unlock()
		return true
	}
	if o.waiting >= throttleWaiting {
		t.mu.Unlock()
		return false
	}
	o.waiting++
	t.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	ok := true
	select {
	case <-timer.C:
	case <-done:
		ok = false
	}
	t.mu.Lock()
	o.waiting--
	t.mu.Unlock()
	return ok
}

// failed notes a refusal, of which a wrong password counts against the address. It says whether to log it, and how many were
// not logged before: one line per address, code and minute.
func (t *throttle) failed(host string, code Code, now time.Time) (repeats int, loud bool) {
	host = throttleKey(host)
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.hosts[host]
	if o == nil {
		if t.hosts == nil {
			t.hosts = make(map[string]*offender)
		}
		if len(t.hosts) >= throttleHosts {
			t.evict(now)
		}
		o = &offender{said: make(map[Code]*saying)}
		t.hosts[host] = o
	}
	o.decay(now)
	o.failed = now
	if code == CodeUnauthorized {
		o.score = min(o.score+1, throttleScore)
	}
	said := o.said[code]
	switch {
	case said == nil:
		said = &saying{}
		o.said[code] = said
	case now.Sub(said.at) < throttleQuiet:
		said.unsaid++
		return 0, false
	}
	repeats, said.unsaid, said.at = said.unsaid, 0, now
	return repeats, true
}

// evict makes room: it forgets those that have recovered, or, if there are none, the one that failed the longest ago.
func (t *throttle) evict(now time.Time) {
	oldest := ""
	for host, o := range t.hosts {
		if o.waiting > 0 {
			continue
		}
		if o.decay(now); o.score == 0 && now.Sub(o.failed) >= throttleQuiet {
			delete(t.hosts, host)
			continue
		}
		if oldest == "" || o.failed.Before(t.hosts[oldest].failed) {
			oldest = host
		}
	}
	if len(t.hosts) >= throttleHosts {
		delete(t.hosts, oldest)
	}
}

func (o *offender) decay(now time.Time) {
	if !o.updated.IsZero() {
		o.score = max(0, o.score-float64(now.Sub(o.updated))/float64(throttleDecay))
	}
	o.updated = now
}

func (o *offender) delay(now time.Time) time.Duration {
	o.decay(now)
	if o.score <= throttleFree {
		return 0
	}
	return min(throttleMax, time.Duration((o.score-throttleFree)*float64(throttleStep)))
}

// throttleKey is the part of an address that one party controls: all of an IPv4 address, the first half of an IPv6 one.
func throttleKey(host string) string {
	a, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	a = a.Unmap()
	if a.Is4() {
		return a.String()
	}
	p, err := a.WithZone("").Prefix(64)
	if err != nil {
		return host
	}
	return p.String()
}
