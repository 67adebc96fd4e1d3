package lua

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/traposd/traposd/lua/craftos"
)

// TestFiles runs all of these on one computer.
func TestFiles(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	m, p := h.connect(craftos.Options{ID: 1, Files: disk(t, map[string]string{
		"file": "old", "dir/x": "", "t/a.txt": "one two two", "t/sub/b": "bb", "u": "u",
		"d/half.trapos-part":   "hal",
		"d/lost.trapos-new":    "complete",
		"d/kept.trapos-new":    "unfinished business",
		"d/kept":               "old",
		"moved.lua.trapos-old": "set aside",
	})})
	for _, c := range []struct {
		name string
		test func(*testing.T, *machine, *peer)
	}{
		{"writeFiles", writeFiles},
		{"writeRefusals", writeRefusals},
		{"expectedHash", expectedHash},
		{"leftovers", leftovers},
		{"companions", companions},
	} {
		t.Run(c.name, func(t *testing.T) {
			m.t, p.t = t, t
			c.test(t, m, p)
		})
	}
	m.t, p.t = t, t
}

// fileResult is the payload of any answer about files.
type fileResult struct {
	OK        bool   `json:"ok"`
	Kind      string `json:"kind"`
	Error     []byte `json:"errorBase64"`
	Path      string `json:"path"`
	PathB64   []byte `json:"pathBase64"`
	Bytes     int    `json:"bytes"`
	Existed   bool   `json:"existed"`
	Data      []byte `json:"dataBase64"`
	Size      int    `json:"size"`
	Truncated bool   `json:"truncated"`
	Replaced  any    `json:"replaced"`
	Directory bool   `json:"directory"`
	Free      int    `json:"free"`
	Capacity  int    `json:"capacity"`
	Entries   []struct {
		Path      string `json:"path"`
		Directory bool   `json:"directory"`
		Size      int    `json:"size"`
	} `json:"entries"`
}

func (p *peer) file(kind string, payload map[string]any) fileResult {
	p.t.Helper()
	f := p.call(kind, payload)
	if f.OK == nil || !*f.OK {
		p.t.Fatalf("%s failed: %+v", kind, f.Error)
	}
	var r fileResult
	if err := json.Unmarshal(f.Payload, &r); err != nil {
		p.t.Fatalf("%v: %.300s", err, f.Payload)
	}
	return r
}

// A write that expects what the file holds is refused when it holds something else, or is not there.
func expectedHash(t *testing.T, m *machine, p *peer) {
	sum := func(text string) string { return fmt.Sprintf("%X", sha256.Sum256([]byte(text))) }
	long := strings.Repeat("0123456789", 10_000/slowdown)
	p.writeFile("h/a", long, "")
	for _, c := range []struct{ path, expected, data, kind string }{
		{"h/a", sum("other"), "x", "mismatch"},
		{"h/a", sum(long), "new", ""},
		{"h/a", strings.ToLower(sum("new")), "", ""},
		{"h/a", sum(""), "end", ""},
		{"h/b", sum(""), "x", "not_found"},
		{"h", sum(""), "x", "is_directory"},
	} {
		r := p.file("write-file", map[string]any{"path": c.path, "dataBase64": b64(c.data), "expectedSha256": c.expected})
		if r.Kind != c.kind || r.OK != (c.kind == "") {
			t.Errorf("%s %s: %+v", c.path, c.data, r)
		}
	}
	if r := p.file("read-file", map[string]any{"path": "h/a"}); string(r.Data) != "end" {
		t.Errorf("%+v", r)
	}
	for _, bad := range []any{7, "abc"} {
		if f := p.call("write-file", map[string]any{"path": "h/a", "dataBase64": "", "expectedSha256": bad}); f.Error == nil || f.Error.Code != "bad_request" {
			t.Errorf("%v: %+v", bad, f)
		}
	}
}

func (p *peer) writeFile(path, data, mode string) fileResult {
	p.t.Helper()
	payload := map[string]any{"path": path, "dataBase64": b64(data)}
	if mode != "" {
		payload["mode"] = mode
	}
	return p.file("write-file", payload)
}

func (p *peer) readFile(path string) string {
	p.t.Helper()
	r := p.file("read-file", map[string]any{"path": path})
	if !r.OK {
		p.t.Fatalf("read %s: %s %s", path, r.Kind, r.Error)
	}
	return string(r.Data)
}

func writeFiles(t *testing.T, m *machine, p *peer) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	if r := p.writeFile("/a/b/c.bin", string(every), ""); !r.OK || r.Path != "a/b/c.bin" || r.Bytes != 256 || r.Existed {
		t.Errorf("%+v %s", r, r.Error)
	}
	if got := p.readFile("a/b/c.bin"); got != string(every) {
		t.Errorf("read back %q", got)
	}
	if data, err := m.ReadFile("a/b/c.bin"); err != nil || string(data) != string(every) {
		t.Errorf("on the disk: %v, %q", err, data)
	}
	if r := p.writeFile("a/b/c.bin", "new", "write"); !r.OK || !r.Existed || p.readFile("a/b/c.bin") != "new" {
		t.Errorf("replace: %+v", r)
	}
	if r := p.writeFile("a/b/c.bin", "er", "append"); !r.OK || r.Bytes != 2 || p.readFile("a/b/c.bin") != "newer" {
		t.Errorf("append: %+v", r)
	}
	if r := p.writeFile("fresh", "x", "append"); !r.OK || r.Existed || p.readFile("fresh") != "x" {
		t.Errorf("append to a new file: %+v", r)
	}
	if r := p.writeFile("empty", "", "create"); !r.OK || r.Bytes != 0 || p.readFile("empty") != "" {
		t.Errorf("empty: %+v", r)
	}
}

func writeRefusals(t *testing.T, _ *machine, p *peer) {
	for _, c := range []struct{ path, mode, kind string }{
		{"file", "create", "exists"},
		{"dir", "write", "is_directory"},
		{"/", "write", "is_directory"},
		{"rom/x", "write", "read_only"},
		{"rom/programs/ls.lua", "append", "read_only"},
		{"", "write", "bad_path"},
		{"../x", "write", "bad_path"},
		{"a?b", "write", "bad_path"},
		{"file/below", "write", "bad_path"},
	} {
		if r := p.writeFile(c.path, "new", c.mode); r.OK || r.Kind != c.kind || len(r.Error) == 0 {
			t.Errorf("%s %q: %+v %s", c.mode, c.path, r, r.Error)
		}
	}
	if p.readFile("file") != "old" {
		t.Error("a refused write changed the file")
	}
	for _, payload := range []map[string]any{
		{"path": "x"},
		{"path": "x", "dataBase64": "%%%"},
		{"path": "x", "dataBase64": "", "mode": "erase"},
	} {
		if f := p.call("write-file", payload); f.OK == nil || *f.OK || f.Error.Code != "bad_request" {
			t.Errorf("%v: %+v", payload, f)
		}
	}
}

// A disk without room loses nothing, and says how much is missing.
func TestWriteFileWithoutRoom(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	files := disk(t, map[string]string{"big": strings.Repeat("o", 20_000)})
	const spare = 15_000 // small: what has to be sent to fill it costs time
	_, p := h.connect(craftos.Options{ID: 1, DiskBytes: used(files) + spare, Files: files})
	for _, c := range []struct{ path, mode string }{{"big", "write"}, {"big", "append"}, {"other", "create"}} {
		free := p.file("list-files", map[string]any{"path": "/"}).Free
		r := p.writeFile(c.path, strings.Repeat("n", free+1), c.mode)
		if r.OK || r.Kind != "no_space" || !strings.Contains(string(r.Error), strconv.Itoa(free)) {
			t.Errorf("%s %s: %+v %s", c.mode, c.path, r, r.Error)
		}
	}
	if p.readFile("big") != strings.Repeat("o", 20_000) {
		t.Error("the old file was lost")
	}
	list := p.file("list-files", map[string]any{"path": "/"})
	for _, e := range list.Entries {
		if strings.Contains(e.Path, "trapos-") || e.Path == "other" {
			t.Errorf("left behind: %s", e.Path)
		}
	}
}

// used is what files take on a disk, beside their directories.
func used(files fstest.MapFS) int64 {
	n := 0
	for _, f := range files {
		n += max(len(f.Data), 500)
	}
	return int64(n)
}

func leftovers(t *testing.T, m *machine, p *peer) {
	for path, want := range map[string]string{"d/lost": "complete", "d/kept": "old", "moved.lua": "set aside"} {
		if got := p.readFile(path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	for _, path := range []string{"d/half", "d/half.trapos-part", "d/lost.trapos-new", "d/kept.trapos-new", "moved.lua.trapos-old"} {
		if _, err := m.ReadFile(path); err == nil {
			t.Errorf("%s is there", path)
		}
	}
}

func companions(t *testing.T, _ *machine, p *peer) {
	if r := p.file("read-file", map[string]any{"path": "t/a.txt", "offset": 4, "length": 3}); !r.OK || string(r.Data) != "two" ||
		r.Size != 11 || !r.Truncated {
		t.Errorf("read a range: %+v", r)
	}
	if r := p.file("read-file", map[string]any{"path": "nothing"}); r.Kind != "not_found" {
		t.Errorf("read nothing: %+v", r)
	}
	if r := p.file("edit-file", map[string]any{"path": "t/a.txt", "oldBase64": b64("two"), "newBase64": b64("2")}); r.Kind != "mismatch" {
		t.Errorf("edit with a wrong count: %+v", r)
	}
	if r := p.file("edit-file", map[string]any{"path": "t/a.txt", "oldBase64": b64("two"), "newBase64": b64("2%1"), "count": 2}); !r.OK ||
		r.Bytes != 11 || p.readFile("t/a.txt") != "one 2%1 2%1" {
		t.Errorf("edit: %+v", r)
	}
	list := p.file("list-files", map[string]any{"path": "t", "recursive": true})
	if len(list.Entries) != 3 || list.Free == 0 || list.Capacity != 1000000 {
		t.Errorf("list: %+v", list)
	}
	if list = p.file("list-files", map[string]any{"path": "t", "recursive": true, "limit": 1}); len(list.Entries) != 1 || !list.Truncated {
		t.Errorf("list with a limit: %+v", list)
	}
	if r := p.file("move-file", map[string]any{"from": "t/a.txt", "to": "u"}); r.Kind != "exists" {
		t.Errorf("move over a file: %+v", r)
	}
	if r := p.file("move-file", map[string]any{"from": "t/a.txt", "to": "u", "replace": true}); !r.OK || p.readFile("u") != "one 2%1 2%1" {
		t.Errorf("move and replace: %+v", r)
	}
	if r := p.file("move-file", map[string]any{"from": "t", "to": "t/sub/t"}); r.Kind != "bad_path" {
		t.Errorf("move into itself: %+v", r)
	}
	if r := p.file("delete-file", map[string]any{"path": "t"}); r.Kind != "is_directory" {
		t.Errorf("delete a full directory: %+v", r)
	}
	if r := p.file("delete-file", map[string]any{"path": "t", "recursive": true}); !r.OK || !r.Directory {
		t.Errorf("delete: %+v", r)
	}
	if r := p.file("delete-file", map[string]any{"path": "rom"}); r.Kind != "read_only" {
		t.Errorf("delete rom: %+v", r)
	}
}
