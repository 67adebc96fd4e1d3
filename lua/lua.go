// Package lua holds the programs that run on ComputerCraft computers, and serves them to the computers that install them.
//
// The programs lie under trapos as they lie on a computer's disk: servers/cloud.lua owns the socket to the gateway,
// servers/mcp-computer-server.lua serves exec-lua, write-file and their companions over it, apis holds what they are made
// of, and startup/00_trapos.lua starts them beside the shell. install.lua is what a player runs once.
//
// Everything here is read-only after initialisation and safe for concurrent use. The package opens no socket and runs no
// Lua; lua/craftos does that, in tests.
package lua

import (
	"embed"
	"io/fs"
)

//go:embed install.lua trapos
var embedded embed.FS

// Files is the content of a computer's disk with everything installed: apis, programs, servers, startup. It is what the
// installer would put there, except that the version it reports is "dev". The settings (cloud.url, cloud.password,
// cloud.network) are not part of it; without cloud.url the servers do nothing.
func Files() fs.FS {
	sub, err := fs.Sub(embedded, "trapos")
	if err != nil {
		panic(err) // the path is a constant and valid
	}
	return sub
}
