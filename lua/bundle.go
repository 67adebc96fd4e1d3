package lua

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io/fs"
	"regexp"
)

// versionFile is the one program whose content depends on who serves it.
const versionFile = "apis/libversion.lua"

// versionPattern is what may appear as a version inside Lua source; anything else is served as "unknown".
var versionPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}$`)

// Manifest lists what the installer puts on a computer, as /lua/manifest.json.
type Manifest struct {
	Version string         `json:"version"`
	Files   []ManifestFile `json:"files"` // sorted by path
}

// ManifestFile is one file of a Manifest. CRC32 (IEEE, eight lower-case hexadecimal digits) is there because Lua can check
// it quickly; SHA256 is for everybody else.
type ManifestFile struct {
	Path   string `json:"path"` // on the computer, without a leading slash
	Size   int    `json:"size"` // bytes
	CRC32  string `json:"crc32"`
	SHA256 string `json:"sha256"`
}

// bundle is everything that one Handler serves, made once.
type bundle struct {
	installer []byte            // with its placeholder
	files     map[string][]byte // by the path in the manifest
	manifest  []byte            // JSON
}

func newBundle(version string) (*bundle, error) {
	if !versionPattern.MatchString(version) {
		version = "unknown"
	}
	installer, err := embedded.ReadFile("install.lua")
	if err != nil {
		return nil, fmt.Errorf("read the installer: %w", err)
	}
	b := &bundle{installer: installer, files: make(map[string][]byte)}
	list := Manifest{Version: version}
	files := Files()
	err = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		if path == versionFile {
			data = bytes.Replace(data, []byte(`"dev"`), []byte(`"`+version+`"`), 1)
		}
		b.files[path] = data
		sum := sha256.Sum256(data)
		list.Files = append(list.Files, ManifestFile{
			Path:   path,
			Size:   len(data),
			CRC32:  fmt.Sprintf("%08x", crc32.ChecksumIEEE(data)),
			SHA256: hex.EncodeToString(sum[:]),
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the computer's programs: %w", err)
	}
	b.manifest, err = json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	return b, nil
}
