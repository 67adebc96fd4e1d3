package mcpconfig

import (
	"fmt"
	"testing"
)

// row is one line of the table of inputs and outcomes that the reader is held to.
type row struct {
	number int
	what   string
	run    func(t *testing.T, b *bed)
}

// lastRow is the number of the table's last line.
const lastRow = 65

func TestRows(t *testing.T) {
	covered := map[int]bool{}
	for _, group := range [][]row{fileRows, nameRows, transportRows, stdioRows, expansionRows, remoteRows, sharedRows, mergeRows} {
		for _, r := range group {
			if covered[r.number] {
				t.Errorf("row %d is tested twice", r.number)
			}
			covered[r.number] = true
			t.Run(fmt.Sprintf("%02d %s", r.number, r.what), func(t *testing.T) { r.run(t, newBed(t)) })
		}
	}
	for n := 1; n <= lastRow; n++ {
		if !covered[n] {
			t.Errorf("row %d is not tested", n)
		}
	}
}

// entries wraps members into a whole file.
func entries(members string) string { return `{"mcpServers":{` + members + `}}` }

// fields wraps the fields of one entry into a whole file.
func fields(members string) string { return entries(`"a":{` + members + `}`) }

// envs returns a server's environment as NAME=value lines; a variable that is taken away has no =.
func envs(s Server) []string {
	list := []string{}
	for _, variable := range s.Env {
		if variable.Unset {
			list = append(list, variable.Name)
			continue
		}
		list = append(list, variable.Name+"="+variable.Value.Reveal())
	}
	return list
}

func args(s Server) []string {
	list := []string{}
	for _, arg := range s.Args {
		list = append(list, arg.Reveal())
	}
	return list
}
