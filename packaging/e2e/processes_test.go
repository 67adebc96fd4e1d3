//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// markVariable is what the entries of a test give their servers, so that everything that comes of them can be found, and
// nothing else is taken for it.
const markVariable = "E2E_MARK"

// mark is the value of markVariable for one server of this bed; for "", what all of them begin with.
func (b *bed) mark(name string) string {
	mark := filepath.Base(b.dir) + "/"
	if name != "" {
		mark += name + "/"
	}
	return mark
}

// marked are the living processes that carry a mark which begins so: what each carries, and its command line.
func marked(t *testing.T, mark string) map[int]markedProcess {
	t.Helper()
	found := map[int]markedProcess{}
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		environ, err := os.ReadFile(path) // a zombie's is empty
		_, value, carries := bytes.Cut(environ, []byte(markVariable+"="))
		if err != nil || !carries || !bytes.HasPrefix(value, []byte(mark)) {
			continue
		}
		value, _, _ = bytes.Cut(value, []byte{0})
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		found[pid] = markedProcess{string(value), strings.ReplaceAll(string(command), "\x00", " ")}
	}
	return found
}

type markedProcess struct{ mark, command string }

// endMarked ends what a failed test leaves; everything with the bed's mark was started by its service.
func (b *bed) endMarked() {
	for pid := range marked(b.t, b.mark("")) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// descendants are a process and all below it.
func descendants(t *testing.T, root int) []int {
	t.Helper()
	children := map[int][]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		// The name, in parentheses, may hold anything; the parent is the second field after it.
		fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		parent, _ := strconv.Atoi(fields[1])
		children[parent] = append(children[parent], pid)
	}
	all := []int{root}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}
