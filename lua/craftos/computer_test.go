package craftos

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runTimeout bounds each boot of the tests: some do much work, on machines that do much else, under the race detector.
const runTimeout = 2 * time.Minute

// prelude is put before each snippet: check fails with the line's number, done is what a finished snippet says.
const prelude = `
local function check(ok, ...)
  if not ok then
    error("check failed: " .. table.concat({ tostring(ok), ... }, " "), 2)
  end
end
local function same(want, got)
  if want ~= got then
    error(("want %q, got %q"):format(tostring(want), tostring(got)), 2)
  end
end
local function fails(want, fn, ...)
  local ok, reason = pcall(fn, ...)
  if ok then error("want an error with " .. want, 2) end
  if not tostring(reason):find(want, 1, true) then
    error(("want an error with %q, got %q"):format(want, tostring(reason)), 2)
  end
end
local ok, reason = xpcall(function()
`

const epilogue = `
end, debug.traceback)
local f = fs.open("result", "w")
f.write(ok and "ok" or tostring(reason))
f.close()
os.shutdown()
`

// bootSnippet runs a Lua snippet as the startup file of a computer and fails the test when it fails. How long it may go on
// without a yield is that of the game only when opts say so.
func bootSnippet(t *testing.T, opts Options, snippet string) *Computer {
	t.Helper()
	if opts.AbortAfter == 0 {
		opts.AbortAfter = runTimeout
	}
	return bootSnippetWithin(t, opts, runTimeout, snippet)
}

func bootSnippetWithin(t *testing.T, opts Options, timeout time.Duration, snippet string) *Computer {
	t.Helper()
	c := newComputer(t, opts)
	program := strings.ReplaceAll(prelude, "\n", " ") + snippet + epilogue
	if err := c.WriteFile("startup.lua", []byte(program)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	if err := c.Run(ctx); err != nil {
		t.Fatalf("run: %v\nscreen:\n%s", err, strings.Join(c.Screen(), "\n"))
	}
	result, err := c.ReadFile("result")
	if err != nil {
		t.Fatalf("no result: %v\nscreen:\n%s", err, strings.Join(c.Screen(), "\n"))
	}
	if string(result) != "ok" {
		t.Fatalf("%s\nscreen:\n%s", result, strings.Join(c.Screen(), "\n"))
	}
	return c
}

func newComputer(t testing.TB, opts Options) *Computer {
	t.Helper()
	c, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestBoot(t *testing.T) {
	c := bootSnippet(t, Options{ID: 7, Label: "seven"}, `
		same(7, os.getComputerID())
		same("seven", os.getComputerLabel())
		print("hello", 1, true)
		write("wor") write("ld\n")
	`)
	text := strings.Join(c.Screen(), "\n")
	if want := "CraftOS 1.9\nhello"; !strings.HasPrefix(text, want) {
		t.Errorf("screen begins with %q, want %q", text[:min(len(text), 40)], want)
	}
}
