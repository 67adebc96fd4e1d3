package lua

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/traposd/traposd/lua/craftos"
)

// machine is a running emulated computer.
type machine struct {
	*craftos.Computer
	t testing.TB
}

// disk is the installed programs and further files.
func disk(t testing.TB, extra map[string]string) fstest.MapFS {
	t.Helper()
	m := fstest.MapFS{}
	err := fs.WalkDir(Files(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(Files(), path)
		m[path] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range extra {
		m[path] = &fstest.MapFile{Data: []byte(data)}
	}
	return m
}

// boot starts a computer; it is shut down when the test ends.
func boot(t testing.TB, o craftos.Options) *machine {
	t.Helper()
	c, err := craftos.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	m := &machine{Computer: c, t: t}
	t.Cleanup(func() {
		if strings.Contains(strings.Join(m.Screen(), ""), testPassword) {
			t.Error("the password is on the screen")
		}
		if t.Failed() {
			t.Logf("the screen:\n%s", m.screen())
		}
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the computer ended with %v", err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// connect starts a computer with everything installed that connects to h.
func (h *host) connect(o craftos.Options) (*machine, *peer) {
	h.t.Helper()
	if o.Files == nil {
		o.Files = disk(h.t, nil)
	}
	o.AllowPrivate = true
	if o.Settings == nil {
		o.Settings = h.settings()
	}
	m := boot(h.t, o)
	p := h.next()
	p.awaitServes("exec-lua")
	p.awaitServes("write-file")
	return m, p
}

func (h *host) settings() map[string]any {
	return map[string]any{"cloud.url": h.url(), "cloud.password": testPassword}
}

func (m *machine) screen() string {
	return strings.Join(m.Screen(), "\n")
}

// awaitScreen waits until the screen shows a text, line breaks and repeated blanks not counting.
func (m *machine) awaitScreen(text string) {
	m.t.Helper()
	until(m.t, "the screen shows "+text, func() bool {
		return strings.Contains(strings.Join(strings.Fields(m.screen()), " "), text)
	})
}
