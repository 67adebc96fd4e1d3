package craftos

import (
	"embed"
	"fmt"
	"io/fs"

	lua "github.com/yuin/gopher-lua"
)

//go:embed rom
var romFiles embed.FS

// romFunction returns a file of the embedded rom as a function with the machine's globals.
func (m *machine) romFunction(path string) (*lua.LFunction, error) {
	proto, err := romProto(path)
	if err != nil {
		return nil, err
	}
	return m.root.NewFunctionFromProto(proto), nil
}

func romProto(path string) (*lua.FunctionProto, error) {
	source, err := romFiles.ReadFile("rom/" + path)
	if err != nil {
		return nil, fmt.Errorf("read the rom: %w", err)
	}
	proto, err := programs.compile(string(source), romChunkName(path))
	if err != nil {
		return nil, fmt.Errorf("compile the rom: %w", err)
	}
	return proto, nil
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
