package daemon_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/traposd/traposd/daemon"
)

// Servers put into their results what is no content block; the rest is shown all the same.
func TestToolResultsOfOddServers(t *testing.T) {
	for raw, want := range map[string]string{
		`{"content":[{"type":"text","text":"a"},5,null,"x",{"type":7},{"type":"text","text":"b"}]}`: "a\nb",
		`{"content":null}`: "",
		`{}`:               "",
	} {
		result, err := daemon.ParseToolResult(json.RawMessage(raw))
		if err != nil || result.Text != want {
			t.Errorf("%s is read as %q, %v", raw, result.Text, err)
		}
	}
	for _, raw := range []string{`{"content":5}`, `{"isError":"no"}`, `[]`} {
		if _, err := daemon.ParseToolResult(json.RawMessage(raw)); err == nil || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
