package daemon

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain makes the test binary double as the MCP servers that configuration files of the tests name.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "demo-server" {
		if err := RunDemoServer(context.Background(), os.Args[2], "test"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
