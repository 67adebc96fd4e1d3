package upstream

import (
	"os"
	"strconv"

	"github.com/traposd/traposd/mcpconfig"
)

// service is a Reconciler in a process of its own, to be killed: it writes the number of its child to a file.
func service() {
	dir := os.Getenv("TEST_RUN_DIR")
	ready := make(chan int, 16)
	r := New(Options{RunDir: dir, OnStatus: func(s Status) {
		if s.State == StateReady {
			ready <- s.PID
		}
	}})
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	r.Reconcile([]mcpconfig.Server{{
		Name: "s", Transport: mcpconfig.TransportStdio, Command: mcpconfig.NewSecret(self),
		Env: []mcpconfig.EnvVar{{Name: helperVariable, Value: mcpconfig.NewSecret("ignore-eof grandchild=" + dir + "/pid setsid-grandchild=" + dir + "/pid2")}},
	}})
	if err := os.WriteFile(dir+"/ready", []byte(strconv.Itoa(<-ready)), 0o600); err != nil {
		panic(err)
	}
	select {}
}
