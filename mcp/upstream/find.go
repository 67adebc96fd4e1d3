package upstream

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lookupError means that a command was not found. folders are those that were searched; nil if the entry chose them.
type lookupError struct {
	text    string
	folders []string
}

func (e *lookupError) Error() string { return e.text }

// knownCommands are what most entries start, with what has to be installed for it. They are the only commands that a
// message names: whatever else an entry says may be a secret by the time its variables are expanded.
var knownCommands = map[string]string{
	"npx": "Node.js", "node": "Node.js", "npm": "Node.js", "pnpm": "pnpm", "yarn": "Yarn", "bun": "Bun", "bunx": "Bun", "deno": "Deno",
	"uv": "uv", "uvx": "uv", "pipx": "pipx", "python": "Python", "python3": "Python", "docker": "Docker", "podman": "Podman",
	"go": "Go", "cargo": "Rust", "java": "Java", "dotnet": ".NET", "ruby": "Ruby", "php": "PHP", "mise": "mise",
}

// shownFolders is how many of the searched folders a message names; the log has them all at debug level.
const shownFolders = 3

// find looks for a command as a shell does: a name in the folders, a path as it is. own says that the folders are the
// entry's own and not to be shown.
func find(named string, folders []string, own bool) (string, error) {
	if strings.ContainsRune(named, filepath.Separator) || strings.ContainsRune(named, '/') {
		if path, ok := executable(named); ok {
			return path, nil
		}
		return "", lookupFailure(nil, "its command is a path at which there is nothing that can be executed")
	}
	var searched []string
	for _, folder := range folders {
		if !filepath.IsAbs(folder) {
			continue // an empty or relative one would mean wherever the service was started
		}
		if path, ok := executable(filepath.Join(folder, named)); ok {
			return path, nil
		}
		searched = append(searched, folder)
	}
	return "", notFound(named, searched, own)
}

// notFound says it with what matters first: tables cut the rest off.
func notFound(named string, folders []string, own bool) error {
	what, remedy := "its command", "install it"
	if product, ok := knownCommands[named]; ok {
		what, remedy = named, "install "+product
	}
	if own {
		return lookupFailure(nil, what+" was not found in the PATH that its entry sets")
	}
	number := strconv.Itoa(len(folders)) + " folders"
	if len(folders) == 1 {
		number = "1 folder"
	}
	list := strings.Join(folders[:min(len(folders), shownFolders)], ", ")
	if len(folders) > shownFolders {
		list += ", …"
	}
	return lookupFailure(folders, what+" was not found in "+number+": "+remedy+", write its full path, or set PATH in the entry's env (searched: "+list+")")
}

func lookupFailure(folders []string, text string) error {
	return failf(&lookupError{text, folders}, "%s", text)
}

// searchFolders are those of PATH, then those that a login shell would add, then the usual folders of tools that a
// service's PATH does not name. The shell is waited for only if PATH alone does not do: a profile may take its time, and
// a server that can start at once should.
func (h *host) searchFolders(env, folders []string, enough bool) []string {
	h.login.begin(h.environ)
	var limit time.Duration
	if !enough {
		limit = loginWait
	}
	all := slices.Concat(folders, h.login.folders(limit), toolFolders(valueOf(env, homeVariable)))
	var out []string
	for _, folder := range all {
		if filepath.IsAbs(folder) && !slices.Contains(out, folder) && (slices.Contains(folders, folder) || isFolder(folder)) {
			out = append(out, folder)
		}
	}
	return out
}

// withFolderOf adds the folder of a command, where its helpers often are: npx needs the node beside it.
func withFolderOf(path string, folders []string) []string {
	folder := filepath.Dir(path)
	if slices.Contains(folders, folder) {
		return folders
	}
	return append(slices.Clone(folders), folder)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// newest returns the folders that match a pattern, the one with the highest version first.
func newest(pattern string) []string {
	found, err := filepath.Glob(pattern)
	if err != nil {
		return nil
	}
	slices.SortFunc(found, func(a, b string) int { return compareVersions(b, a) })
	return found[:min(1, len(found))]
}

// compareVersions compares texts with the numbers in them taken as numbers, so that v9 comes before v10.
func compareVersions(a, b string) int {
	for a != "" && b != "" {
		na, ra := leadingNumber(a)
		nb, rb := leadingNumber(b)
		if na != "" && nb != "" {
			if len(na) != len(nb) {
				return len(na) - len(nb)
			}
			if c := strings.Compare(na, nb); c != 0 {
				return c
			}
			a, b = ra, rb
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// leadingNumber splits the digits off that text begins with, without leading zeros.
func leadingNumber(text string) (number, rest string) {
	rest = strings.TrimLeft(text, "0123456789")
	number = text[:len(text)-len(rest)]
	if trimmed := strings.TrimLeft(number, "0"); trimmed != "" || number == "" {
		return trimmed, rest
	}
	return "0", rest
}
