package upstream

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp"
)

// definitionsName is the file in Options.StateDir.
const definitionsName = "definitions.json"

// Bounds of the file.
const (
	maxKnownServers   = 500
	maxKnownNameBytes = 128      // longer names of tools are kept as their hash
	maxKnownBytes     = 64 << 20 // a longer file is not ours
	knownVersion      = 1
)

// definitions remembers how each server defined its tools, as hashes, so that a server that defines a tool otherwise
// than in its last run is seen: a tool that was looked at and approved may now tell the model something else ("rug
// pull"). It is kept over restarts of the service if there is a folder for it. Safe for concurrent use.
type definitions struct {
	path string // empty: kept in memory only
	log  *zap.Logger

	dirty  chan struct{} // one slot
	quit   chan struct{}
	writer sync.WaitGroup
	ending sync.Once

	mu    sync.Mutex
	known map[string]knownServer // by ID
}

// knownServer is what is remembered of one server.
type knownServer struct {
	Seen  time.Time         `json:"seen"`  // when Tools was last another one; the oldest is forgotten first
	Tools map[string]string `json:"tools"` // hash of the definition, by name
}

// knownFile is the content of the file.
type knownFile struct {
	Version int                    `json:"version"`
	Servers map[string]knownServer `json:"servers"`
}

// openDefinitions reads what dir, an existing folder, remembers. A file that cannot be read or understood is replaced.
func openDefinitions(dir string, log *zap.Logger) *definitions {
	d := &definitions{log: log, dirty: make(chan struct{}, 1), quit: make(chan struct{}), known: map[string]knownServer{}}
	if dir == "" {
		return d
	}
	d.path = filepath.Join(dir, definitionsName)
	if err := d.read(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("what servers offered before cannot be read; changes since then go unnoticed", zap.String("file", d.path), zap.NamedError("err", err))
	}
	d.writer.Go(d.writing)
	return d
}

var errForeignFile = errors.New("it is not a file of this program's making")

func (d *definitions) read() error {
	f, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxKnownBytes+1))
	if err != nil {
		return err
	}
	var content knownFile
	if len(data) > maxKnownBytes || json.Unmarshal(data, &content) != nil || content.Version != knownVersion {
		return errForeignFile
	}
	for id, server := range content.Servers {
		if server.Tools != nil {
			d.known[id] = server
		}
	}
	return nil
}

// learn remembers how a server defines its tools now, and names those that it defined otherwise before. Tools that are
// new or gone are not named.
func (d *definitions) learn(id string, tools []mcp.Definition) (changed []string) {
	next := make(map[string]string, len(tools))
	for _, t := range tools {
		next[knownName(t.Name)] = hashDefinition(t.Raw)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.known[id]
	if before.Tools != nil && maps.Equal(before.Tools, next) {
		return nil
	}
	for _, t := range tools {
		name := knownName(t.Name)
		if hash, ok := before.Tools[name]; ok && hash != next[name] {
			changed = append(changed, clip(t.Name, 64))
		}
	}
	d.known[id] = knownServer{Seen: time.Now().UTC(), Tools: next}
	for len(d.known) > maxKnownServers {
		d.forgetOldest()
	}
	select {
	case d.dirty <- struct{}{}:
	default:
	}
	return changed
}

// forgetOldest makes room; d.mu is held.
func (d *definitions) forgetOldest() {
	oldest := ""
	for id, server := range d.known {
		if oldest == "" || server.Seen.Before(d.known[oldest].Seen) {
			oldest = id
		}
	}
	delete(d.known, oldest)
}

// writing writes the file whenever it is not what it was. No server waits for the disk.
func (d *definitions) writing() {
	for {
		select {
		case <-d.dirty:
			d.save()
		case <-d.quit:
			select {
			case <-d.dirty:
				d.save()
			default:
			}
			return
		}
	}
}

func (d *definitions) save() {
	d.mu.Lock()
	servers := maps.Clone(d.known) // the maps within are never changed
	d.mu.Unlock()
	data, err := json.Marshal(knownFile{Version: knownVersion, Servers: servers})
	if err == nil {
		err = replaceFile(d.path, data)
	}
	if err != nil {
		d.log.Warn("what servers offer cannot be remembered; a change of it may go unnoticed after the next start", zap.String("file", d.path), zap.NamedError("err", err))
	}
}

// replaceFile puts a file in the place of another at once: whoever reads sees the old one or the new one. It can be
// read by its owner only.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	return nil
}

func (d *definitions) close() {
	d.ending.Do(func() { close(d.quit) })
	d.writer.Wait()
}

func knownName(name string) string {
	if len(name) <= maxKnownNameBytes {
		return name
	}
	return "sha256:" + hash([]byte(name))
}

// hashDefinition is the same for definitions that differ in white space and in the order of members only: some
// servers write their members in another order at every start.
func hashDefinition(raw json.RawMessage) string {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // 2^53 and 2^53+1 are two
	if err := decoder.Decode(&value); err != nil {
		return hash(raw)
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		return hash(raw)
	}
	return hash(sorted)
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
