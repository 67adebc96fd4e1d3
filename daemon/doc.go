// Package daemon is the composition root of traposd: it reads the settings, binds the two listeners, and joins the rooms
// that know nothing of each other (mcpconfig, mcp, mcp/upstream, gateway, lua) into one running service.
//
// A Daemon is started once by Run, which returns when everything that it started has ended. The other exported types are
// values; their methods may be called from many goroutines at once.
package daemon
