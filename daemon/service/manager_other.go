//go:build !linux && !darwin && !windows

package service

import (
	"context"
	"fmt"
)

// Manager is for systems whose service manager traposd does not know: all that it does is to say so.
type Manager struct{ base }

// New fails with ErrRefused.
func New(bool, string) (*Manager, error) {
	return nil, fmt.Errorf("%w: traposd does not know the service manager of this system: have it run `traposd run`", ErrRefused)
}

// Root is the standard configuration folder of the machine's service.
func Root() string { return "/usr/local/etc/" + Name }

// SystemDirs are the folders of the machine's service.
func SystemDirs() (config, state, runtime string) {
	return Root(), "/var/db/" + Name, "/var/run/" + Name
}

// DefaultAccount is the user that the machine's service runs as.
const DefaultAccount = Name

// Files fails with ErrRefused, as all that follow do.
func (m *Manager) Files(Spec) ([]File, error) { return nil, ErrRefused }

// Install fails.
func (m *Manager) Install(context.Context, Spec, Options) (Outcome, error) {
	return Outcome{}, ErrRefused
}

// Uninstall fails.
func (m *Manager) Uninstall(context.Context, bool) (Outcome, error) { return Outcome{}, ErrRefused }

// Start fails.
func (m *Manager) Start(context.Context) error { return ErrRefused }

// Stop fails.
func (m *Manager) Stop(context.Context) error { return ErrRefused }

// Restart fails.
func (m *Manager) Restart(context.Context) error { return ErrRefused }

// State fails.
func (m *Manager) State(context.Context) (State, error) { return State{}, ErrRefused }

// LogHint is empty.
func (m *Manager) LogHint() string { return "" }

// Hints are none.
func (m *Manager) Hints() []string { return nil }
