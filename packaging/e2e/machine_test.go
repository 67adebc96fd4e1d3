//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// machine is a real systemd with a real journald, in a container over an overlay of this machine's root: all programs are
// there, and what is changed is in the overlay, which is kept over a reboot of the machine and dropped with it.
type machine struct {
	t       *testing.T
	dir     string // of the overlay
	root    string // as the machine sees /
	name    string
	npm     string // shown to the machine as /opt/npm
	nspawn  *exec.Cmd
	ended   chan struct{} // closed when nspawn has
	console syncBuffer
	leader  int // the machine's systemd, as this machine numbers it
}

// newMachine lays out the overlay and boots. What it needs is said and is a failure: a bed that is skipped tests nothing.
func newMachine(t *testing.T, name string) *machine {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("a systemd in a container needs root")
	}
	if _, err := exec.LookPath("systemd-nspawn"); err != nil {
		t.Fatal("systemd-nspawn is not there: apt-get install systemd-container dbus dbus-user-session libpam-systemd")
	}
	npm, err := filepath.Abs(os.Getenv("E2E_DIR"))
	if err != nil || os.Getenv("E2E_DIR") == "" {
		t.Fatal("E2E_DIR is not set: run packaging/e2e/setup DIR first, and set it to DIR")
	}
	dir, err := os.MkdirTemp("", "tm")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, dir: dir, root: filepath.Join(dir, "root"), name: name, npm: npm}
	t.Cleanup(func() {
		if m.nspawn != nil {
			m.powerOff()
		}
		_ = syscall.Unmount(m.root, syscall.MNT_DETACH)
		_ = syscall.Unmount(dir, syscall.MNT_DETACH)
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
		t.Fatalf("mounting a tmpfs: %v", err)
	}
	for _, sub := range []string{"root", "upper", "work"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mount("overlay", m.root, "overlay", 0, "lowerdir=/,upperdir="+dir+"/upper,workdir="+dir+"/work"); err != nil {
		t.Fatalf("mounting an overlay over /: %v", err)
	}
	m.copyProgram()
	m.boot()
	return m
}

// copyProgram puts traposd where a package would.
func (m *machine) copyProgram() {
	m.t.Helper()
	in, err := os.Open(build(m.t, "github.com/traposd/traposd/cmd/traposd"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(filepath.Join(m.root, "usr/local/bin/traposd"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		m.t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if closeErr := out.Close(); err != nil || closeErr != nil {
		m.t.Fatal(err, closeErr)
	}
}

// boot starts the machine and waits until it is up.
func (m *machine) boot() {
	m.t.Helper()
	began := time.Now()
	m.nspawn = exec.Command("systemd-nspawn", "--directory="+m.root, "--machine="+m.name, "--boot", "--register=no", "--keep-unit", //nolint:noctx // it is ended in powerOff
		"--console=pipe", "--link-journal=no", "--resolv-conf=off", "--private-network", "--bind-ro="+m.npm+":/opt/npm")
	m.nspawn.Env = append(os.Environ(), "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1")
	m.nspawn.Stdout, m.nspawn.Stderr = &m.console, &m.console
	m.nspawn.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := m.nspawn.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.ended = make(chan struct{})
	go func(nspawn *exec.Cmd, ended chan struct{}) { // waited for in powerOff
		defer close(ended)
		_ = nspawn.Wait()
	}(m.nspawn, m.ended)
	pid := m.nspawn.Process.Pid
	m.await("the machine's systemd", func() bool {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		fields := strings.Fields(string(children))
		if err != nil || len(fields) != 1 {
			return false
		}
		m.leader, _ = strconv.Atoi(fields[0])
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", m.leader))
		return err == nil && string(comm) == "systemd\n"
	})
	m.await("the machine to be up", func() bool {
		out, _ := m.try("systemctl", "is-system-running")
		return strings.Contains(out, "running") || strings.Contains(out, "degraded")
	})
	m.t.Logf("%s: booted in %v", m.name, time.Since(began).Round(10*time.Millisecond))
}

// powerOff ends the machine and waits for it.
func (m *machine) powerOff() {
	_, _ = m.try("systemctl", "poweroff", "--no-block")
	select {
	case <-m.ended:
	case <-time.After(limit):
		m.t.Errorf("%s does not power off; it is cut off", m.name)
		_ = m.nspawn.Process.Kill()
		_ = syscall.Kill(m.leader, syscall.SIGKILL)
		<-m.ended
	}
	if m.t.Failed() {
		m.t.Logf("the console of %s:\n%s", m.name, m.console.String())
	}
	m.nspawn = nil
}

// await waits for something inside the machine.
func (m *machine) await(what string, there func() bool) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !there() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			m.t.Fatalf("waited %v for %s in vain; the console:\n%s", limit, what, m.console.String())
		}
	}
}

// command is a command inside the machine, as root.
func (m *machine) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	m.t.Cleanup(cancel)
	return exec.CommandContext(ctx, "nsenter", append([]string{
		"--target", strconv.Itoa(m.leader), "--all", "--", "env", "-i",
		"HOME=/root", "LANG=C.UTF-8", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	}, args...)...)
}

// try runs a command inside and gives what it printed.
func (m *machine) try(args ...string) (string, error) {
	cmd := m.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out), err
}

// must is try that may not fail.
func (m *machine) must(args ...string) string {
	m.t.Helper()
	out, err := m.try(args...)
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

// write replaces a file inside the machine as editors do: a new file renamed over the old one, of the old one's folder's
// owner.
func (m *machine) write(path, content string) {
	m.t.Helper()
	cmd := m.command("sh", "-c", `cat >"$1~" && chown --reference="${1%/*}" "$1~" && mv "$1~" "$1"`, "sh", path)
	cmd.Stdin = strings.NewReader(content)
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("writing %s: %v\n%s", path, err, out)
	}
}
