package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/traposd/traposd/daemon/wholefile"
)

// maxFileBytes bounds a client's file. Claude Code's holds its history and grows to some megabytes.
const maxFileBytes = 64 << 20

// Outcome is what Connect did.
type Outcome int

// The outcomes of Connect.
const (
	Already  Outcome = iota // the entry stood there just so, and the file is untouched
	Added                   // the entry is new
	Replaced                // an entry of our name that was different is replaced
)

// Snippet is the entry with the keys around it, as it would stand in a file of its own.
func (c *Client) Snippet(url string, token bool) []byte {
	text, _, _ := c.merge(nil, url, token) // nothing can be wrong with an empty file
	return text
}

// Connect writes the entry for the listener at url into the client's file at path, which is made if it is not there. All
// else in it, comments and order and spacing too, stays as it was; what cannot be read is left alone and is an error. The
// entry refers to the token by TokenVariable.
func (c *Client) Connect(path, url string, token bool) (Outcome, error) {
	// A link is followed: dotfiles are often kept elsewhere, and a rename would put a file in its place.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	} else if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return Already, fmt.Errorf("%s is a link that leads to no file: make the file it names, or remove the link", path)
	}
	before, mode, err := readFile(path)
	if err != nil {
		return Already, err
	}
	after, outcome, err := c.merge(before, url, token)
	if err != nil {
		return Already, fmt.Errorf("%s is left as it is: %w", path, err)
	}
	if bytes.Equal(before, after) {
		return Already, nil
	}
	return outcome, replaceFile(path, after, mode)
}

func (c *Client) merge(before []byte, url string, token bool) ([]byte, Outcome, error) {
	if c.toml {
		return mergeTOML(before, c.root[0], c.entry(url, token))
	}
	return mergeJSON(before, c.root, c.entry(url, token))
}

// readFile reads a client's file; one that is not there is empty. mode is that of the file, else what a new one gets.
func readFile(path string) (data []byte, mode os.FileMode, err error) {
	const private = 0o600
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, private, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }()
	data, err = io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = fmt.Errorf("%s is larger than %d MiB", path, maxFileBytes>>20)
	}
	return data, info.Mode().Perm(), err
}

// replaceFile writes a file whole or not at all, and makes its folder.
func replaceFile(path string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return wholefile.Replace(path, data, mode)
}
