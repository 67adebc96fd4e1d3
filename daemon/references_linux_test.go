package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A secret in a file of its own is watched: a new one restarts the server that refers to it, and no other.
func TestAChangedSecretRestartsItsServer(t *testing.T) {
	config := demoEntries(t, demoDice, demoWords)
	r := start(t, testSettings(t), `{"mcpServers":{}}`)
	secret := filepath.Join(r.workspace, "secret")
	if err := os.WriteFile(secret, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.write(strings.Replace(config, `"`+demoDice+`":{`, fmt.Sprintf(`"%s":{"env":{"K":"${file:secret}"},`, demoDice), 1))
	dice, words := r.awaitReady(demoDice).PID, r.awaitReady(demoWords).PID
	if err := os.WriteFile(secret+"~", []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(secret+"~", secret); err != nil {
		t.Fatal(err)
	}
	await(t, "dice to be started anew", func() bool {
		now := r.server(demoDice)
		return now.PID != dice && now.PID != 0 && now.State == "ready"
	})
	if now := r.server(demoWords).PID; now != words {
		t.Errorf("words was process %d and is %d", words, now)
	}
}
