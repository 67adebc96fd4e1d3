//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// canary is the secret of the tests here; it may be found nowhere but in its file.
const canary = "canary-5up3r-53cr37"

// Bounds that the tests hold the service to. They leave room for a machine that does much else; the figures are logged.
const (
	stopBound     = 15 * time.Second // design: 10 s
	exposureBound = 1.5
)

// installation is traposd as a service of a machine: the machine's, or that of a user alice.
type installation struct {
	*machine
	system    bool
	as        []string // what a command begins with that its user types
	workspace string
	config    string
}

func newInstallation(t *testing.T, system bool) *installation {
	t.Helper()
	if system {
		s := &installation{machine: newMachine(t, "tsystem"), system: true, workspace: "/srv/my project 100%", config: "/etc/traposd"}
		s.must("mkdir", "-p", s.workspace)
		return s
	}
	s := &installation{machine: newMachine(t, "tuser"), workspace: "/home/alice/my project 100%", config: "/home/alice/.config/traposd"}
	s.must("useradd", "--create-home", "alice")
	s.must("loginctl", "enable-linger", "alice")
	s.must("runuser", "-u", "alice", "--", "mkdir", s.workspace)
	uid := strings.TrimSpace(s.must("id", "-u", "alice"))
	s.as = []string{"runuser", "-u", "alice", "--", "env", "HOME=/home/alice", "XDG_RUNTIME_DIR=/run/user/" + uid}
	s.await("alice's systemd", func() bool {
		_, err := s.try(s.cmd("systemctl", "--user", "is-system-running")...)
		return err == nil
	})
	return s
}

// cmd is a command of the service's user.
func (s *installation) cmd(args ...string) []string { return append(slices.Clone(s.as), args...) }

// scoped is cmd with the scope's flag behind the program.
func (s *installation) scoped(program string, args ...string) []string {
	flag := "--user"
	if s.system {
		flag = "--system"
	}
	return s.cmd(append([]string{program}, append(slices.Clone(args), flag)...)...)
}

// journal asks for entries of the service, the newest last.
func (s *installation) journal(match ...string) []map[string]any {
	s.t.Helper()
	unit := "_SYSTEMD_USER_UNIT=traposd.service"
	if s.system {
		unit = "_SYSTEMD_UNIT=traposd.service"
	}
	out := s.must(append([]string{"journalctl", "--quiet", "--all", "--output=json", unit}, match...)...)
	var entries []map[string]any
	for line := range strings.Lines(out) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return entries
}

// show is one property of the unit, as systemd tells it.
func (s *installation) show(property string) string {
	s.t.Helper()
	return strings.TrimSpace(s.must(s.scoped("systemctl", "show", "--value", "--property="+property, "traposd.service")...))
}

func (s *installation) servers() []server {
	s.t.Helper()
	var report struct{ Servers []server }
	if err := json.Unmarshal([]byte(s.must(s.cmd("traposd", "servers", "--json")...)), &report); err != nil {
		s.t.Fatal(err)
	}
	return report.Servers
}

// ready waits until exactly these servers are ready, and gives their processes.
func (s *installation) ready(names ...string) (pids []int) {
	s.t.Helper()
	s.await(fmt.Sprintf("%v to be ready", names), func() bool {
		if _, err := s.try(s.cmd("traposd", "servers", "--json")...); err != nil {
			return false
		}
		pids = nil
		for _, one := range s.servers() {
			if one.State != "ready" || !slices.Contains(names, one.Name) {
				return false
			}
			pids = append(pids, one.PID)
		}
		return len(pids) == len(names)
	})
	return pids
}

func entries(pairs ...string) string {
	var list []string
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, fmt.Sprintf("%q: %s", pairs[i], pairs[i+1]))
	}
	return `{"mcpServers": {` + strings.Join(list, ", ") + `}}`
}

const (
	dice  = `{"command": "traposd", "args": ["demo-server", "dice"]}`
	words = `{"command": "traposd", "args": ["demo-server", "words"]}`
	// Neither the shell nor what it starts last goes by SIGTERM.
	stubborn = `{"command": "sh", "args": ["-c", "trap '' TERM; traposd demo-server dice; sleep 1000; :"]}`
)

func TestSystemdUserService(t *testing.T) { life(newInstallation(t, false)) }

func TestSystemdSystemService(t *testing.T) { life(newInstallation(t, true)) }

// life is a service's, from its installation to its end.
func life(s *installation) {
	s.write(s.workspace+"/.mcp.json", entries("dice", dice))
	s.install()
	s.edit()
	s.kill()
	s.breakAndMend()
	s.reload()
	s.stopStubborn()
	s.wakeByConnection()
	s.refuseABrokenSetting()
	s.freezeJournal()
	if s.system {
		s.exposure()
		s.npx()
	}
	s.reboot()
	s.findCanary()
	s.purge()
}

func (s *installation) install() {
	s.t.Helper()
	began := time.Now()
	args := s.scoped("traposd", "install", "--now", "--workspace", s.workspace)
	s.must(append([]string{"env", "TRAPOS_SERVER_PASSWORD=" + canary}, args...)...)
	s.t.Logf("installed and running after %v", time.Since(began).Round(time.Millisecond))
	if state := s.show("ActiveState"); state != "active" {
		s.t.Fatalf("after install the service is %s", state)
	}
	s.ready("dice")
	s.await("the status line", func() bool { return s.show("StatusText") == "1 server; 0 computers" })
	again := s.must(append([]string{"env", "TRAPOS_SERVER_PASSWORD=" + canary}, args...)...)
	if !strings.Contains(again, "everything is installed already") {
		s.t.Errorf("the second time it says %s", again)
	}
	secret := s.config + "/secrets/TRAPOS_SERVER_PASSWORD"
	if mode := strings.TrimSpace(s.must("stat", "--format=%a", secret)); mode != "600" {
		s.t.Errorf("the secret's file has mode %s", mode)
	}
}

// edit has an edit applied, and found in the journal as one entry with its fields.
func (s *installation) edit() {
	s.t.Helper()
	saved := time.Now()
	s.write(s.workspace+"/.mcp.json", entries("dice", dice, "words", words))
	s.ready("dice", "words")
	var found []map[string]any
	s.await("the start of words in the journal, after which it has the edit too", func() bool {
		if len(s.journal("SERVER=words", "EVENT=server_ready")) != 1 {
			return false
		}
		found = s.journal("EVENT=configuration_applied", `ADDED=["words"]`)
		return true
	})
	if len(found) != 1 {
		s.t.Fatalf("the edit is in the journal %d times", len(found))
	}
	e := found[0]
	for name, want := range map[string]string{
		"PRIORITY": "6", "SYSLOG_IDENTIFIER": "traposd", "_TRANSPORT": "journal", "UNCHANGED": "1", "REMOVED": "[]",
		"MESSAGE_ID": "9136786d1ed24db9a2d0dbd28d030672", "LOGGER": "config",
	} {
		if e[name] != want {
			s.t.Errorf("%s=%v, want %s", name, e[name], want)
		}
	}
	usec, err := strconv.ParseInt(fmt.Sprint(e["_SOURCE_REALTIME_TIMESTAMP"]), 10, 64)
	if err != nil {
		s.t.Fatalf("%v", e)
	}
	s.t.Logf("an edit is in the journal %v after its save began", time.UnixMicro(usec).Sub(saved).Round(time.Millisecond))
}

// kill has the service come back after kill -9, and leave nothing behind.
func (s *installation) kill() {
	s.t.Helper()
	orphans := s.ready("dice", "words")
	pid := s.show("MainPID")
	began := time.Now()
	s.must("kill", "-9", pid)
	s.await("the service to be back", func() bool {
		now := s.show("MainPID")
		return now != pid && now != "0" && s.show("ActiveState") == "active"
	})
	s.t.Logf("back %v after kill -9", time.Since(began).Round(time.Millisecond))
	s.ready("dice", "words")
	for _, orphan := range orphans {
		if _, err := s.try("test", "-d", fmt.Sprintf("/proc/%d", orphan)); err == nil {
			s.t.Errorf("process %d outlived the service", orphan)
		}
	}
}

func (s *installation) breakAndMend() {
	s.t.Helper()
	before := s.ready("dice", "words")
	s.write(s.workspace+"/.mcp.json", `{"mcpServers": {"dice" {}}}`)
	s.await("the problem in the journal", func() bool {
		return len(s.journal("EVENT=configuration_problem", "KEPT_LAST_GOOD=true")) == 1
	})
	if now := s.ready("dice", "words"); !slices.Equal(now, before) {
		s.t.Errorf("the servers were %v and are %v", before, now)
	}
	if out, err := s.try(s.cmd("traposd", "status")...); err == nil || !strings.Contains(err.Error(), "the last good version is kept") {
		s.t.Errorf("status: %v %s", err, out)
	}
	s.write(s.workspace+"/.mcp.json", entries("dice", dice, "stubborn", stubborn))
	s.await("the end of the problem in the journal", func() bool { return len(s.journal("EVENT=configuration_mended")) == 1 })
	s.ready("dice", "stubborn")
}

func (s *installation) reload() {
	s.t.Helper()
	pid := s.show("MainPID")
	s.must(s.scoped("systemctl", "reload", "traposd.service")...)
	if state, now := s.show("ActiveState"), s.show("MainPID"); state != "active" || now != pid {
		s.t.Errorf("after a reload it is %s, process %s (was %s)", state, now, pid)
	}
}

// stopStubborn stops it although a server does not go by SIGTERM.
func (s *installation) stopStubborn() {
	s.t.Helper()
	processes := "/sys/fs/cgroup" + s.show("ControlGroup") + "/cgroup.procs"
	if running := strings.Fields(s.must("cat", processes)); len(running) < 3 {
		s.t.Errorf("the service, a server and one more are meant to run, and do not: %v", running)
	}
	began := time.Now()
	s.must(s.scoped("systemctl", "stop", "traposd.service")...)
	took := time.Since(began)
	s.t.Logf("stopped in %v", took.Round(time.Millisecond))
	if result := s.show("Result"); result != "success" || took > stopBound {
		s.t.Errorf("the stop took %v and ended in %s", took, result)
	}
	out, err := s.try("cat", processes) // the group goes with its last process
	if err == nil && strings.TrimSpace(out) != "" {
		s.t.Errorf("in its cgroup are left %s", out)
	}
}

// wakeByConnection: the sockets are still bound, and whoever connects is answered.
func (s *installation) wakeByConnection() {
	s.t.Helper()
	const get = `exec 3<>/dev/tcp/127.0.0.1/4445 && printf 'GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:4445\r\nConnection: close\r\n\r\n' >&3 && head -n 1 <&3`
	if answer := s.must("bash", "-c", get); !strings.HasPrefix(answer, "HTTP/1.1 ") {
		s.t.Errorf("a connection to the stopped service got %q", answer)
	}
	s.ready("dice", "stubborn")
	s.write(s.workspace+"/.mcp.json", entries("dice", dice))
	s.ready("dice")
}

// refuseABrokenSetting: what does not mend itself is not tried again and again, and is told by the exit code.
func (s *installation) refuseABrokenSetting() {
	s.t.Helper()
	s.write(s.config+"/environment", "TRAPOS_LOG_LEVEL=loud\n")
	out, err := s.try(s.scoped("traposd", "restart")...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(err.Error(), "a setting is wrong") {
		s.t.Errorf("restart with a broken setting: %v %s", err, out)
	}
	if state, restarts := s.show("ActiveState"), s.show("NRestarts"); state != "failed" || restarts != "0" {
		s.t.Errorf("it is %s after %s restarts", state, restarts)
	}
	if _, err := s.try(s.cmd("traposd", "status")...); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		s.t.Errorf("status: %v", err)
	}
	s.must(s.cmd("sh", "-c", "exec rm '"+s.config+"/environment'")...)
	s.must(s.scoped("traposd", "start")...)
	s.ready("dice")
}

// freezeJournal: the service goes on while journald takes nothing, and journald has every entry in the end.
func (s *installation) freezeJournal() {
	s.t.Helper()
	journald := strings.TrimSpace(s.must("systemctl", "show", "--value", "--property=MainPID", "systemd-journald.service"))
	before := len(s.journal("EVENT=configuration_applied"))
	s.must("kill", "-STOP", journald)
	for range 3 {
		s.write(s.workspace+"/.mcp.json", entries("dice", dice, "words", words))
		s.ready("dice", "words")
		s.write(s.workspace+"/.mcp.json", entries("dice", dice))
		s.ready("dice")
	}
	s.must("kill", "-CONT", journald)
	s.await("the entries of the meantime", func() bool { return len(s.journal("EVENT=configuration_applied")) == before+6 })
}

var exposureLevel = regexp.MustCompile(`Overall exposure level for traposd\.service: ([0-9.]+)`)

// exposure bounds what systemd thinks of the sandbox.
func (s *installation) exposure() {
	s.t.Helper()
	out := s.must("systemd-analyze", "security", "--no-pager", "traposd.service")
	found := exposureLevel.FindStringSubmatch(out)
	if found == nil {
		s.t.Fatalf("no exposure level in %s", out)
	}
	level, err := strconv.ParseFloat(found[1], 64)
	if err != nil || level > exposureBound {
		s.t.Errorf("exposure level %s, at most %v is wanted", found[1], exposureBound)
	}
	s.t.Logf("systemd-analyze security: %s", found[1])
}

// npx runs in the sandbox.
func (s *installation) npx() {
	s.t.Helper()
	s.write(s.workspace+"/.mcp.json", entries("everything", `{"command": "npx", "args": ["--offline", "--no", "mcp-server-everything", "stdio"], "cwd": "/opt/npm"}`))
	s.ready("everything")
	s.write(s.workspace+"/.mcp.json", entries("dice", dice))
	s.ready("dice")
}

func (s *installation) reboot() {
	s.t.Helper()
	s.powerOff()
	s.boot()
	s.ready("dice")
}

// findCanary looks for the secret in all that was written, said, and is told of processes.
func (s *installation) findCanary() {
	s.t.Helper()
	secret := s.config + "/secrets/TRAPOS_SERVER_PASSWORD"
	upper := filepath.Join(s.dir, "upper")
	if err := filepath.WalkDir(upper, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if inside := strings.TrimPrefix(path, upper); err == nil && inside != secret && strings.Contains(string(data), canary) {
			s.t.Errorf("the secret is in %s", inside)
		}
		return nil
	}); err != nil {
		s.t.Error(err)
	}
	for _, told := range [][]string{
		{"journalctl", "--all", "--output=export"},
		s.scoped("systemctl", "show", "--all", "traposd.service"),
		s.scoped("systemctl", "cat", "traposd.service"),
		{"sh", "-c", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null; true"},
	} {
		if out := s.must(told...); strings.Contains(out, canary) {
			s.t.Errorf("%s tells the secret", strings.Join(told, " "))
		}
	}
	if shown := strings.TrimSpace(s.must(s.scoped("traposd", "secret", "show")...)); shown != canary {
		s.t.Errorf("secret show prints %q", shown)
	}
}

// purge leaves nothing but the program and the workspace.
func (s *installation) purge() {
	s.t.Helper()
	pid := s.show("MainPID")
	s.must(s.scoped("traposd", "uninstall", "--purge")...)
	if _, err := s.try("test", "-d", "/proc/"+pid); err == nil {
		s.t.Error("the process outlived its uninstallation")
	}
	if out, err := s.try(s.scoped("systemctl", "cat", "traposd.service")...); err == nil {
		s.t.Errorf("the unit is still there: %s", out)
	}
	if _, err := s.try("id", "traposd"); err == nil {
		s.t.Error("the account is still there")
	}
	// What was removed of this machine's own root is a device file in the overlay; there was nothing of ours in it.
	if err := filepath.WalkDir(filepath.Join(s.dir, "upper"), func(path string, _ os.DirEntry, err error) error {
		if strings.Contains(filepath.Base(path), "traposd") && !strings.HasSuffix(path, "/usr/local/bin/traposd") {
			s.t.Errorf("left: %s", path)
		}
		return err
	}); err != nil {
		s.t.Error(err)
	}
	if out, err := s.try("sh", "-c", "ls -d /run/traposd /run/user/*/traposd /tmp/traposd*"); err == nil {
		s.t.Errorf("left: %s", out)
	}
}
