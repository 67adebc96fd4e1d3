package craftos

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// paper is a writer that can be read while a computer writes to it.
type paper struct {
	mu   sync.Mutex
	text strings.Builder
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// typeLine is what a person does at a plain terminal, which shows what is typed.
func (p *paper) typeLine(t *testing.T, c *Computer, line string) {
	t.Helper()
	synctest.Wait()
	_, _ = p.Write([]byte(line + "\n"))
	if err := c.TypeLine(t.Context(), line); err != nil {
		t.Fatal(err)
	}
}

// A person at a plain terminal sees prompts before typing, and each typed line once.
func TestConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &paper{}
		c := newComputer(t, Options{Stdout: out, Console: true})
		done := make(chan error, 1)
		go func() { done <- c.Run(t.Context()) }()
		out.typeLine(t, c, "echo one")
		out.typeLine(t, c, "lua")
		out.typeLine(t, c, "'name: ' .. read('*')")
		out.typeLine(t, c, "pass")
		out.typeLine(t, c, "exit()")
		out.typeLine(t, c, "shutdown")
		if err := <-done; err != nil {
			t.Error(err)
		}
		want := "CraftOS 1.9\n> echo one\none\n> lua\nInteractive Lua prompt.\nCall exit() to exit.\n" +
			"lua> 'name: ' .. read('*')\npass\n****\n\"name: pass\"\nlua> exit()\n> shutdown\nGoodbye\n"
		if out.String() != want {
			t.Errorf("the terminal shows\n%s\nwant\n%s", out, want)
		}
	})
}

// Lines may be typed before the computer is on, and faster than its queue of events takes them.
func TestTypedLinesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &paper{}
		c := newComputer(t, Options{Stdout: out, EventLimit: 8})
		if err := c.WriteFile("nap.lua", []byte("sleep(1) print('awake')")); err != nil {
			t.Fatal(err)
		}
		if err := c.WriteFile("key.lua", []byte("repeat local _, k = os.pullEvent('key') until k == keys.enter print('pressed')")); err != nil {
			t.Fatal(err)
		}
		typed := make(chan error, 1)
		go func() {
			for _, line := range []string{"nap", "echo " + strings.Repeat("x", 40), "key", "", "shutdown"} {
				if err := c.TypeLine(t.Context(), line); err != nil {
					typed <- err
					return
				}
			}
			typed <- nil
		}()
		synctest.Wait()
		if err := c.Run(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-typed; err != nil {
			t.Error(err)
		}
		want := "> nap\nawake\n> echo " + strings.Repeat("x", 40) + "\n" + strings.Repeat("x", 40) + "\n> key\npressed\n> shutdown\nGoodbye\n"
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("the terminal shows\n%s", out)
		}
	})
}
