package lua

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func get(t *testing.T, h http.Handler, method, target, host string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://example.test/", nil)
	r.URL.Path = target
	r.Host = host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestManifestListsWhatIsServed(t *testing.T) {
	t.Parallel()
	h := Handler("1.2.3")
	var m Manifest
	if err := json.Unmarshal(get(t, h, http.MethodGet, "/lua/manifest.json", "h").Body.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	if m.Version != "1.2.3" {
		t.Errorf("version is %q", m.Version)
	}
	served := map[string]bool{}
	for _, f := range m.Files {
		served[f.Path] = true
		w := get(t, h, http.MethodGet, "/lua/"+f.Path, "h")
		data := w.Body.Bytes()
		sum := sha256.Sum256(data)
		if w.Code != http.StatusOK || len(data) != f.Size || hex.EncodeToString(sum[:]) != f.SHA256 ||
			fmt.Sprintf("%08x", crc32.ChecksumIEEE(data)) != f.CRC32 {
			t.Errorf("%s is served as status %d, %d bytes, which is not what the manifest says", f.Path, w.Code, len(data))
		}
	}
	err := fs.WalkDir(Files(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !served[path] {
			t.Errorf("%s is not in the manifest", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if v := get(t, h, http.MethodGet, "/lua/"+versionFile, "h").Body.String(); !strings.Contains(v, `return "1.2.3"`) {
		t.Errorf("the version did not reach the programs: %q", v)
	}
}

func TestStrangeVersionStaysOutOfTheSource(t *testing.T) {
	t.Parallel()
	h := Handler(`1" os.reboot() --`)
	if v := get(t, h, http.MethodGet, "/lua/"+versionFile, "h").Body.String(); !strings.Contains(v, `return "unknown"`) {
		t.Errorf("served %q", v)
	}
}

func TestInstallerKnowsItsHost(t *testing.T) {
	t.Parallel()
	h := Handler("1")
	for host, want := range map[string]int{
		"play.example.org:4444":          200,
		"play.example.org":               200,
		"127.0.0.1:4444":                 200,
		"[::1]:4444":                     200,
		"my_host":                        200,
		"":                               400,
		`x";os.reboot()--`:               400,
		"a b":                            400,
		"a\nb":                           400,
		"a\\b":                           400,
		"host:":                          400,
		"host:123456":                    400,
		"user@host":                      400,
		"[::1":                           400,
		"@BASE@":                         400,
		strings.Repeat("a", 300) + ":80": 400,
	} {
		w := get(t, h, http.MethodGet, "/install.lua", host)
		if w.Code != want {
			t.Errorf("host %q: status %d, want %d", host, w.Code, want)
		}
		if want == 200 && !bytes.Contains(w.Body.Bytes(), []byte(`local BASE = "http://`+host+`"`)) {
			t.Errorf("host %q is not in the installer", host)
		}
	}
}

func TestOnlyListedPathsAreServed(t *testing.T) {
	t.Parallel()
	h := Handler("1")
	for _, path := range []string{
		"/", "/lua", "/lua/", "/lua/install.lua", "/lua/../install.lua", "/lua/apis", "/lua/apis/", "/lua//apis/libjson.lua",
		"/lua/apis/../apis/libjson.lua", "/lua/lua.go", "/install.lua/", "/lua/./apis/libjson.lua", `/lua/apis\libjson.lua`,
	} {
		if w := get(t, h, http.MethodGet, path, "h"); w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
	if w := get(t, h, http.MethodPost, "/install.lua", "h"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") == "" {
		t.Errorf("POST: status %d", w.Code)
	}
	w := get(t, h, http.MethodHead, "/install.lua", "h")
	if w.Code != http.StatusOK || w.Body.Len() != 0 || w.Header().Get("Content-Length") == "0" {
		t.Errorf("HEAD: status %d, %d bytes", w.Code, w.Body.Len())
	}
}
