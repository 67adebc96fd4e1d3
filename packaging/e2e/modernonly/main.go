//go:build e2e

// Command modernonly runs a stdio server of both eras as one of 2026-07-28 alone: it answers `initialize` itself, with the
// error that such a server has for it, and passes everything else through.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"sync"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: modernonly SERVER [ARGUMENT…]")
	}
	server := exec.Command(os.Args[1], os.Args[2:]...) //nolint:noctx // it ends with its standard input
	server.Stderr = os.Stderr
	in, err := server.StdinPipe()
	if err != nil {
		log.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Start(); err != nil {
		log.Fatal(err)
	}
	var f filter
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lines(out, f.write)
	}()
	lines(os.Stdin, func(line []byte) {
		if !f.refuse(line) {
			_, _ = in.Write(line) // a server that has gone shows in Wait
		}
	})
	_ = in.Close()
	<-ended
	if err := server.Wait(); err != nil {
		log.Fatal(err)
	}
}

// filter writes to standard output, from both directions.
type filter struct{ mu sync.Mutex }

func (f *filter) write(line []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = os.Stdout.Write(line) // there is nobody left to tell
}

// refuse answers an `initialize`, and reports whether the line was one.
func (f *filter) refuse(line []byte) bool {
	var message struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal(line, &message) != nil || message.Method != "initialize" {
		return false
	}
	f.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method initialize; supported: 2026-07-28"}}`+"\n", message.ID))
	return true
}

func lines(r io.Reader, do func(line []byte)) {
	reader := bufio.NewReader(r)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			do(line)
		}
		if err != nil {
			return
		}
	}
}
