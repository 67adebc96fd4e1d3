package daemon

import (
	"testing"

	"github.com/traposd/traposd/mcp/upstream"
)

func TestStatusLine(t *testing.T) {
	states := func(states ...upstream.State) (servers []ServerReport) {
		for _, s := range states {
			servers = append(servers, ServerReport{State: string(s)})
		}
		return servers
	}
	for _, c := range []struct {
		servers   []ServerReport
		computers int
		want      string
	}{
		{nil, -1, "0 servers"},
		{states(upstream.StateReady), 1, "1 server; 1 computer"},
		{states(upstream.StateReady, upstream.StateStarting, upstream.StateBackingOff, upstream.StateOff), 12, "3 servers, 1 failed; 12 computers"},
		{states(statePending, stateInvalid), 0, "2 servers, 1 failed, 1 waiting for approval; 0 computers"},
	} {
		if got := statusLine(c.servers, c.computers); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
