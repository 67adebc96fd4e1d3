// Command traposd is the service and the command line that looks into it. This package parses, dispatches and exits; what
// is done is in package daemon.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run()) }

// run is the whole program; it returns its exit code.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The second signal ends the process the hard way, for whoever cannot wait.
	context.AfterFunc(ctx, stop)
	return execute(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
}
