package craftos

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
)

//go:embed rom
var romFiles embed.FS

// compiled holds the rom's files once compiled: function prototypes are immutable and shared by all computers.
var compiled sync.Map // path (string) → *lua.FunctionProto

// romFunction returns a file of the embedded rom as a function with the machine's globals.
func (m *machine) romFunction(path string) (*lua.LFunction, error) {
	proto, err := romProto(path)
	if err != nil {
		return nil, err
	}
	return m.root.NewFunctionFromProto(proto), nil
}

func romProto(path string) (*lua.FunctionProto, error) {
	if p, ok := compiled.Load(path); ok {
		return p.(*lua.FunctionProto), nil
	}
	source, err := romFiles.ReadFile("rom/" + path)
	if err != nil {
		return nil, fmt.Errorf("read the rom: %w", err)
	}
	proto, err := compile(string(source), romChunkName(path))
	if err != nil {
		return nil, fmt.Errorf("compile the rom: %w", err)
	}
	p, _ := compiled.LoadOrStore(path, proto)
	return p.(*lua.FunctionProto), nil
}

func romChunkName(path string) string {
	if path == "bios.lua" {
		return path
	}
	return "/rom/" + path
}

// romFS is the rom as a computer sees it: without the basic system.
func romFS() fs.FS {
	sub, err := fs.Sub(romFiles, "rom")
	if err != nil {
		panic(err) // the path is a constant
	}
	return sub
}

// romSource is how a file of the rom is recognised when a program loads it, so that it need not be compiled again.
func romSource(chunkName, source string) (*lua.FunctionProto, bool) {
	path, ok := strings.CutPrefix(chunkName, "/rom/")
	if !ok {
		return nil, false
	}
	embedded, err := romFiles.ReadFile("rom/" + path)
	if err != nil || string(embedded) != source {
		return nil, false
	}
	proto, err := romProto(path)
	return proto, err == nil
}
