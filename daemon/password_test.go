package daemon

import (
	"testing"
	"time"

	"github.com/traposd/traposd/mcpconfig"
)

func TestPasswordBeforeCountsForTheOverlapOnly(t *testing.T) {
	clock := time.Unix(1000, 0)
	p := newPassword(mcpconfig.NewSecret("one"))
	p.now = func() time.Time { return clock }
	expect := func(current, previous string) {
		t.Helper()
		if p.reveal() != current || p.revealPrevious() != previous {
			t.Errorf("want %s and %q to count", current, previous)
		}
	}
	expect("one", "")
	if !p.change(mcpconfig.NewSecret("two"), time.Minute) {
		t.Error("a change is none")
	}
	expect("two", "one")
	clock = clock.Add(59 * time.Second)
	if p.change(mcpconfig.NewSecret("two"), time.Hour) {
		t.Error("the same again is a change")
	}
	expect("two", "one")
	clock = clock.Add(time.Second)
	expect("two", "")
	p.change(mcpconfig.NewSecret("three"), 0)
	expect("three", "")
}
