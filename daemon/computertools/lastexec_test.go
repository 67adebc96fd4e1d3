package computertools

import (
	"strconv"
	"testing"
	"time"
)

func TestLastExecsAreBounded(t *testing.T) {
	var s Server
	start := time.Now()
	for i := range maxLastExecs + 2 {
		s.lastExecs.note(target{Computer: strconv.Itoa(i), Network: "n"}, start.Add(time.Duration(i)))
	}
	s.lastExecs.note(target{Computer: "2", Network: "n"}, start.Add(time.Hour))
	for computer, want := range map[string]time.Time{
		"0": {}, "1": {}, "2": start.Add(time.Hour), "3": start.Add(3), strconv.Itoa(maxLastExecs + 1): start.Add(maxLastExecs + 1),
	} {
		if got := s.LastExec("n", computer); !got.Equal(want) {
			t.Errorf("computer %s ran code at %v, want %v", computer, got, want)
		}
	}
	if got := s.LastExec("m", "2"); !got.IsZero() {
		t.Errorf("in another network: %v", got)
	}
}
