package service

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/traposd/traposd/mcpconfig"
)

func TestSecrets(t *testing.T) {
	s := Secrets{Dir: filepath.Join(t.TempDir(), "secrets")}
	if secret, err := s.Read(SecretPassword); err != nil || !secret.IsZero() {
		t.Errorf("none yet: %v", err)
	}
	for _, c := range []struct {
		text    string
		changed bool
	}{{"one", true}, {"one", false}, {" two \t", true}} {
		if changed, err := s.Write(SecretPassword, mcpconfig.NewSecret(c.text)); err != nil || changed != c.changed {
			t.Errorf("%q: changed is %v, %v", c.text, changed, err)
		}
		if secret, err := s.Read(SecretPassword); err != nil || secret.Reveal() != c.text {
			t.Errorf("%q is read back as another: %v", c.text, err)
		}
	}
	if names, err := s.stored(); err != nil || len(names) != 1 || names[0] != SecretPassword {
		t.Errorf("stored: %v %v", names, err)
	}
	for _, text := range []string{"", "a\nb", "a\x00"} {
		if _, err := s.Write(SecretPassword, mcpconfig.NewSecret(text)); !errors.Is(err, ErrRefused) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := ReadSecret(strings.NewReader(strings.Repeat("x", maxSecretBytes+1))); !errors.Is(err, ErrRefused) {
		t.Errorf("too long: %v", err)
	}
}

func TestASecretsLinkIsReplacedAndNotFollowed(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Secrets{Dir: filepath.Join(dir, "secrets")}
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(s.Dir, SecretPassword)); err != nil {
		t.Log("no links on this system: ", err)
		return
	}
	if _, err := s.Write(SecretPassword, mcpconfig.NewSecret("x")); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(victim); err != nil || string(data) != "before" {
		t.Errorf("the link was followed: %q %v", data, err)
	}
}

func TestGeneratedSecretsDiffer(t *testing.T) {
	a, b := GenerateSecret(), GenerateSecret()
	if a.Equal(b) || len(a.Reveal()) != 32 || checkSecret(a) != nil {
		t.Error("two generated secrets")
	}
}
