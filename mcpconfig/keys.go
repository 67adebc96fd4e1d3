package mcpconfig

import (
	"strings"
	"unicode/utf8"
)

// rootKey is the key of a configuration file that holds the entries.
const rootKey = "mcpServers"

// ownKeys are the keys of an entry that are read.
var ownKeys = []string{
	"type", "command", "args", "env", "envFile", "cwd", "url", "headers",
	"timeout", "startupTimeout", "disabled", "enabled",
}

// aliases are what other programs call our keys.
var aliases = map[string]string{
	"link": "url", "uri": "url", "serverUrl": "url", "httpUrl": "url",
	"cmd": "command", "arguments": "args", "environment": "env",
}

// ownNames holds our keys, meantNames holds them by their lower case, the aliases included.
var ownNames, meantNames = func() (own map[string]bool, meant map[string]string) {
	own, meant = map[string]bool{}, map[string]string{}
	for alias, key := range aliases {
		meant[strings.ToLower(alias)] = key
	}
	for _, key := range ownKeys {
		own[key], meant[strings.ToLower(key)] = true, key
	}
	return own, meant
}()

// foreignRoots are the keys under which other programs keep their entries.
var foreignRoots = map[string]string{
	"servers":         "VS Code's",
	"mcp":             "opencode's",
	"context_servers": "Zed's",
}

func ownKey(key string) bool { return ownNames[key] }

// meantKey returns the key of ours that an unknown key of an entry was certainly meant to be: an alias, or one of ours in
// other letters' case.
func meantKey(key string) (string, bool) {
	var lowered [32]byte // most keys are foreign, short and of ASCII: looking for those costs no memory
	if len(key) > len(lowered) || strings.ContainsFunc(key, func(r rune) bool { return r >= utf8.RuneSelf }) {
		own, found := meantNames[strings.ToLower(key)]
		return own, found
	}
	for i := range len(key) {
		lowered[i] = lower(key[i])
	}
	own, found := meantNames[string(lowered[:len(key)])]
	return own, found
}

// rootMeant tells whether a key of the file is a slip of the pen for mcpServers.
func rootMeant(key string) bool {
	letters := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(key))
	return letters == "mcpservers" || letters == "mcpserver"
}

// nearKey returns command or url if key is at most two edits away from it.
func nearKey(key string) (string, bool) {
	for _, own := range []string{"command", "url"} {
		if limit := min(2, len(own)/2); len(key) <= len(own)+limit && distance(strings.ToLower(key), own) <= limit {
			return own, true
		}
	}
	return "", false
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
