package service

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/traposd/traposd/mcpconfig"
)

const (
	maxSecretBytes = 64 << 10 // of a secret's file, as the service reads it

	// generatedBytes of randomness make 32 characters of base32, which can be typed in the game.
	generatedBytes = 20
)

// Secrets is the folder that holds the secrets of one installed service: a file each, 0600, in a folder of mode 0700. Those
// of a system service belong to root, since it is root's systemd that reads them: in a folder of the service's own account,
// that account could put a link in their place and have root read any file for it.
type Secrets struct{ Dir string }

// Read returns a secret that is stored; the zero Secret if it is not.
func (s Secrets) Read(name string) (mcpconfig.Secret, error) {
	path := filepath.Join(s.Dir, name)
	secret, err := ReadSecretFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return mcpconfig.Secret{}, nil
	}
	return secret, err
}

// Write stores a secret and tells whether that changed anything.
func (s Secrets) Write(name string, secret mcpconfig.Secret) (changed bool, err error) {
	if err := checkSecret(secret); err != nil {
		return false, err
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return false, fmt.Errorf("the folder for secrets cannot be made: %w", err)
	}
	if err := os.Chmod(s.Dir, 0o700); err != nil {
		return false, fmt.Errorf("the folder for secrets cannot be closed to others: %w", err)
	}
	changed, err = replaceFile(filepath.Join(s.Dir, name), []byte(secret.Reveal()+"\n"), 0o600)
	if err != nil {
		return false, fmt.Errorf("the secret %s cannot be stored: %w", name, err)
	}
	return changed, nil
}

// stored are the names of the secrets that there are, of those that the service knows.
func (s Secrets) stored() ([]string, error) {
	var names []string
	for _, name := range []string{SecretPassword, SecretToken} {
		secret, err := s.Read(name)
		if err != nil {
			return nil, err
		}
		if !secret.IsZero() {
			names = append(names, name)
		}
	}
	return names, nil
}

// ReadSecretFile reads a secret from a file. The end of line that editors add is cut.
func ReadSecretFile(path string) (mcpconfig.Secret, error) {
	file, err := os.Open(path)
	if err != nil {
		return mcpconfig.Secret{}, err
	}
	defer func() { _ = file.Close() }()
	return ReadSecret(file)
}

// ReadSecret reads a secret up to the end of r, which may be a terminal's line.
func ReadSecret(r io.Reader) (mcpconfig.Secret, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSecretBytes+1))
	if err != nil {
		return mcpconfig.Secret{}, err
	}
	if len(data) > maxSecretBytes {
		return mcpconfig.Secret{}, fmt.Errorf("%w: a secret has at most 64 KiB", ErrRefused)
	}
	secret := mcpconfig.NewSecret(strings.TrimRight(string(data), "\r\n"))
	return secret, checkSecret(secret)
}

// checkSecret refuses what would not be read back as it was given: nothing, and more than one line.
func checkSecret(secret mcpconfig.Secret) error {
	switch text := secret.Reveal(); {
	case text == "":
		return fmt.Errorf("%w: the secret is empty", ErrRefused)
	case strings.ContainsAny(text, "\r\n\x00"):
		return fmt.Errorf("%w: the secret has more than one line", ErrRefused)
	}
	return nil
}

// GenerateSecret returns a new secret of 160 random bits, made of letters and digits.
func GenerateSecret() mcpconfig.Secret {
	var random [generatedBytes]byte
	_, _ = rand.Read(random[:]) // never fails, as its documentation says
	return mcpconfig.NewSecret(strings.ToLower(base32.StdEncoding.EncodeToString(random[:])))
}
