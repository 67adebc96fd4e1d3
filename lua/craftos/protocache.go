package craftos

import (
	"crypto/sha256"
	"sync"

	lua "github.com/yuin/gopher-lua"
)

// Bounds of the cache of compiled programs.
const (
	// cacheGeneration is how many programs one generation of the cache holds; there are two.
	cacheGeneration = 128
	// maxCachedSource keeps large one-off programs out.
	maxCachedSource = 256 << 10
)

type protoKey struct {
	name string
	sum  [sha256.Size]byte
}

// protoCache remembers compiled programs for all computers of the process: many boot with the same files, and
// compiling them is half of a boot. Function prototypes are immutable, so they can be shared. When the young generation is
// full, it becomes the old one, and what was old and not used since is forgotten.
type protoCache struct {
	mu         sync.Mutex
	young, old map[protoKey]*lua.FunctionProto // guarded by mu
}

var programs protoCache

// compile is the package's compile, through the cache.
func (c *protoCache) compile(source, name string) (*lua.FunctionProto, error) {
	if len(source) > maxCachedSource {
		return compile(source, name)
	}
	key := protoKey{name: name, sum: sha256.Sum256([]byte(source))}
	if proto := c.get(key); proto != nil {
		return proto, nil
	}
	proto, err := compile(source, name)
	if err != nil {
		return nil, err
	}
	c.put(key, proto)
	return proto, nil
}

func (c *protoCache) get(key protoKey) *lua.FunctionProto {
	c.mu.Lock()
	defer c.mu.Unlock()
	if proto := c.young[key]; proto != nil {
		return proto
	}
	proto := c.old[key]
	if proto != nil {
		c.add(key, proto)
	}
	return proto
}

func (c *protoCache) put(key protoKey, proto *lua.FunctionProto) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(key, proto)
}

// add is called with the lock held.
func (c *protoCache) add(key protoKey, proto *lua.FunctionProto) {
	if len(c.young) >= cacheGeneration {
		c.old, c.young = c.young, nil
	}
	if c.young == nil {
		c.young = make(map[protoKey]*lua.FunctionProto)
	}
	c.young[key] = proto
}
