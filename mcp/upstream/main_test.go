package upstream

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/traposd/traposd/mcp/upstream/internal/badserver"
)

// helperVariable makes the test binary a server on stdio: "sdk" the official SDK's, anything else the switches of
// badserver.
const helperVariable = "TEST_UPSTREAM_SERVER"

func TestMain(m *testing.M) {
	switch mode := os.Getenv(helperVariable); mode {
	case "":
		goleak.VerifyTestMain(m)
	case "sdk":
		if err := sdkServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "swift":
		swiftStdio()
	case "service":
		service()
	case "service-under-edits":
		serviceUnderEdits()
	default:
		os.Exit(badserver.Main(mode))
	}
}
