//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// suite is one run of an official conformance suite, which plays the client.
type suite struct {
	name    string // the client's era, and the revision or version that tells the suites apart
	program string // folder in node_modules
	args    []string
}

var suites = []suite{
	{"session/0.1.16", "conformance-stable", []string{"--suite", "all"}},
	{"session/2025-11-25", "conformance-next", []string{"--requirements", "2025-11-25"}},
	{"modern/2026-07-28", "conformance-next", []string{"--spec-version", "2026-07-28", "--suite", "all"}},
}

// suiteLimit bounds one run; they take 2 to 6 s here, and a minute on a machine that has much else to do.
const suiteLimit = 5 * time.Minute

// everythingServer is the SDK's own server for this suite.
const everythingServer = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"

// TestConformance runs both suites, in the part of a client of either era, against the service with the SDK's
// everything-server of either era behind it, over HTTP and stdio. What fails must be listed in
// conformance-expected.txt, and what is listed must fail.
func TestConformance(t *testing.T) {
	b := newBed(t)
	servers := everythingServers(b)
	var config []string
	for _, server := range servers {
		for i := range suites { // each suite has a process or a session of its own, and finds nothing left by another
			config = append(config, fmt.Sprintf("%q: %s", combination(server.name, i), server.entry))
		}
	}
	b.write(`{"mcpServers": {` + strings.Join(config, ", ") + `}}`)
	b.start()
	for _, server := range servers {
		for i := range suites {
			name := combination(server.name, i)
			b.await(name, func() bool { return b.server(name).State == "ready" })
		}
	}
	expected := readExpected(t)
	table := make([]string, len(servers)*len(suites))
	t.Run("run", func(t *testing.T) { // returns when all parallel ones have
		for i, server := range servers {
			t.Run(server.name, func(t *testing.T) {
				t.Parallel()
				for j, s := range suites {
					passed, failures := s.run(t, b, b.url+"/s/"+combination(server.name, j))
					table[i*len(suites)+j] = fmt.Sprintf("| %s | %s | %d | %d |", s.name, server.name, passed, len(failures))
					expected.judge(t, s.name, server.name, failures)
				}
			})
		}
	})
	t.Logf("official conformance suites:\n| client (suite) | server | passed | failed |\n|---|---|---:|---:|\n%s", strings.Join(table, "\n"))
	b.stop()
}

// combination is the name under which a server is configured for one suite.
func combination(server string, suite int) string {
	return strings.ReplaceAll(server, "/", "-") + "-" + strconv.Itoa(suite)
}

// behind is one kind of server: its era and transport, and its entry in .mcp.json.
type behind struct{ name, entry string }

// everythingServers builds the everything-server and starts those that are reached over HTTP.
func everythingServers(b *bed) []behind {
	b.t.Helper()
	everything, modernOnly := build(b.t, everythingServer), build(b.t, "github.com/traposd/traposd/packaging/e2e/modernonly")
	return []behind{
		{"session/http", `{"type": "http", "url": "` + serveEverything(b, everything, "-stateless=false") + `"}`},
		{"session/stdio", fmt.Sprintf(`{"command": %q}`, everything)},
		{"modern/http", `{"type": "http", "url": "` + serveEverything(b, everything, "-stateless=true") + `"}`},
		{"modern/stdio", fmt.Sprintf(`{"command": %q, "args": [%q]}`, modernOnly, everything)},
	}
}

// serveEverything runs the everything-server over HTTP until the test ends, and gives its URL. The program cannot choose
// its port itself, so a port is taken that was free a moment ago.
func serveEverything(b *bed, program string, flags ...string) string {
	b.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(b.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{"-http", address}, flags...)...) //nolint:noctx // killed when the test ends
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	b.await(address, func() bool {
		conn, err := (&net.Dialer{}).DialContext(b.t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return "http://" + address
}

// check is one judgement of a suite, as it writes it down.
type check struct{ ID, Status, ErrorMessage string }

var totals = regexp.MustCompile(`Total: (\d+) passed, (\d+) failed`)

// run runs the suite against a URL and gives how many checks passed and which failed.
func (s suite) run(t *testing.T, b *bed, url string) (passed int, failures []check) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), suiteLimit)
	defer cancel()
	dir := t.TempDir()
	args := append([]string{filepath.Join(b.npm, "node_modules", s.program, "dist", "index.js"), "server", "--url", url, "-o", dir}, s.args...)
	cmd := exec.CommandContext(ctx, filepath.Join(b.npm, "node_modules", ".bin", "node"), args...)
	cmd.Env = b.env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) { // its exit code 1 says that there are failures
		t.Fatalf("%s: %v\n%s", s.name, err, out)
	}
	total := totals.FindSubmatch(out)
	if total == nil {
		t.Fatalf("%s against %s gives no totals: %v\n%s", s.name, url, err, out)
	}
	passed, _ = strconv.Atoi(string(total[1]))
	failed, _ := strconv.Atoi(string(total[2]))
	for _, c := range readChecks(t, dir) {
		switch c.Status {
		case "FAILURE":
			failures = append(failures, c)
		case "WARNING":
			t.Logf("%s: warning %s: %s", s.name, c.ID, c.ErrorMessage)
		}
	}
	if passed == 0 || failed != len(failures) {
		t.Errorf("%s against %s: %s, but it wrote down %d failures", s.name, url, total[0], len(failures))
	}
	return passed, failures
}

func readChecks(t *testing.T, dir string) (checks []check) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []check
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		checks = append(checks, list...)
	}
	return checks
}
