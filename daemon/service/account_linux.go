package service

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strconv"
)

// account makes the system account that the machine's service runs as, if it is missing. A static one: what it owns must
// stay its own over restarts, the caches of npx as much as the approvals.
func (m *Manager) account(ctx context.Context, name, home string) (made bool, gid int, err error) {
	u, err := user.Lookup(name)
	var unknown user.UnknownUserError
	if errors.As(err, &unknown) {
		if _, err := m.run(ctx, "useradd", "--system", "--user-group", "--no-create-home", "--home-dir", home,
			"--shell", "/usr/sbin/nologin", "--comment", Name, name); err != nil {
			return false, 0, err
		}
		made = true
		u, err = user.Lookup(name)
	}
	if err != nil {
		return made, 0, fmt.Errorf("the account %s: %w", name, err)
	}
	if u.Uid == "0" {
		return made, 0, fmt.Errorf("%w: the service does not run as root: give another account", ErrRefused)
	}
	gid, err = strconv.Atoi(u.Gid)
	return made, gid, err
}

// accountOf is the name of a user, or its number if it has none.
func accountOf(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}
