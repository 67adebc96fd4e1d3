package mcpconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxReferenceBytes bounds a file that a value refers to.
const maxReferenceBytes = 64 << 10

// Kinds of references to what is kept outside of the file: ${file:PATH} and ${credential:NAME}.
const (
	referenceFile       = "file"
	referenceCredential = "credential" // systemd's (systemd.exec(5), LoadCredential=)
)

// folders are what paths in a file stand against.
type folders struct {
	home string // for ~; "" if not known
	base string // for relative paths: the workspace root, else the home folder; "" if not known
}

// resolve makes a path of a file absolute, or says why it cannot be.
func (f folders) resolve(text string) (path, problem string) {
	if text, problem = f.tilde(text); problem != "" {
		return "", problem
	}
	if text = f.against(text); !filepath.IsAbs(text) {
		return "", "a relative path, and the home folder is not known: write an absolute one"
	}
	return text, ""
}

// against makes a path absolute if there is something for it to stand against.
func (f folders) against(path string) string {
	if filepath.IsAbs(path) || f.base == "" {
		return filepath.Clean(path)
	}
	return filepath.Join(f.base, path)
}

// tilde resolves ~ and ~/x.
func (f folders) tilde(text string) (resolved, problem string) {
	if text != "~" && (len(text) < 2 || text[0] != '~' || !os.IsPathSeparator(text[1])) {
		return text, ""
	}
	if f.home == "" {
		return "", "~ cannot be resolved: the home folder is not known, set HOME or write an absolute path"
	}
	return filepath.Join(f.home, text[1:]), ""
}

// reference returns what a placeholder refers to, without the blanks around it; found is false if name is no reference. What
// is not there is "" with an error, which a default takes the place of.
func (x *expander) reference(name string, depth int) (content string, found bool, err error) {
	kind, rest, _ := strings.Cut(name, ":")
	rest = strings.TrimSpace(rest)
	switch kind {
	case referenceFile:
		inner, err := x.append(nil, rest, depth+1) // the path may hold placeholders
		if err != nil {
			return "", true, err
		}
		content, err = x.file(string(inner))
		return content, true, err
	case referenceCredential:
		content, err = x.credential(rest)
		return content, true, err
	}
	return "", false, nil
}

func (x *expander) file(text string) (string, error) {
	if text == "" {
		return "", errors.New("${file:} names no file: write ${file:PATH}")
	}
	path, problem := x.folders.resolve(text)
	if problem != "" {
		return "", fmt.Errorf("${file:…}: %s", problem)
	}
	x.files = append(x.files, path)
	data, info, err := readFile(path, maxReferenceBytes, x.privileged)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", absentError("${file:…}: there is no such file")
	case err != nil:
		return "", fmt.Errorf("${file:…}: %w", err)
	case othersMayRead(info):
		return "", errors.New("${file:…}: others can read the file: chmod 600")
	}
	return strings.TrimSpace(string(data)), nil
}

// absentError is a reference to what is not there.
type absentError string

func (e absentError) Error() string { return string(e) }

func absent(err error) bool {
	_, is := errors.AsType[absentError](err)
	return is
}

func (x *expander) credential(name string) (string, error) {
	if !credentialName(name) {
		return "", errors.New("${credential:…} wants a name of letters, digits, dots, dashes and underscores")
	}
	if ownSecrets[name] {
		return "", fmt.Errorf("%s is a secret of traposd itself and is given to no server", name)
	}
	dir, _ := x.getenv("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return "", absentError(fmt.Sprintf("${credential:%s}: the service has no credentials: give it one with LoadCredential=%s:PATH in its unit", name, name))
	}
	data, _, err := readFile(filepath.Join(dir, name), maxReferenceBytes, false)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", absentError(fmt.Sprintf("${credential:%s}: the service has no credential of that name: add LoadCredential=%s:PATH to its unit", name, name))
	case err != nil:
		return "", fmt.Errorf("${credential:%s}: %w", name, err)
	}
	return strings.TrimSpace(string(data)), nil
}

// credentialName tells whether a credential can have that name, and no other file is meant by it.
func credentialName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !letter(c) && !digit(c) && c != '.' && c != '-' && c != '_' {
			return false
		}
	}
	return name != "" && len(name) <= maxShown && strings.Trim(name, ".") != ""
}
