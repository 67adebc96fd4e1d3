package daemon

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcpconfig"
)

// maxOverlap bounds how long two secrets open the gateway.
const maxOverlap = 30 * 24 * time.Hour

// password is the gateway's secret, which can be changed while the service runs: for a while the one before opens it too, so
// that the computers can be told the new one in turn. Safe for concurrent use.
type password struct {
	now func() time.Time

	mu       sync.Mutex
	current  mcpconfig.Secret
	previous mcpconfig.Secret
	until    time.Time // previous opens nothing from then on
}

func newPassword(secret mcpconfig.Secret) *password {
	return &password{current: secret, now: time.Now}
}

// reveal is the secret of today; revealPrevious the one before while it still counts, else empty.
func (p *password) reveal() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current.Reveal()
}

func (p *password) revealPrevious() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.now().Before(p.until) {
		p.previous = mcpconfig.Secret{}
	}
	return p.previous.Reveal()
}

// change makes secret the one of today. If it is that already, a window that is open stays as it is.
func (p *password) change(secret mcpconfig.Secret, overlap time.Duration) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current.Equal(secret) {
		return false
	}
	p.previous, p.until = p.current, p.now().Add(overlap)
	p.current = secret
	return true
}

// passwordRequest is the body of a change of the secret. It travels over the control socket only, which nobody but the
// service's user can open.
type passwordRequest struct {
	Password       string `json:"password"`
	OverlapSeconds int    `json:"overlapSeconds"`
}

// PasswordReport is what a change of the gateway's secret came to.
type PasswordReport struct {
	Version        int  `json:"version"`
	Changed        bool `json:"changed"`        // false: it was the secret already
	OverlapSeconds int  `json:"overlapSeconds"` // for so long the secret before opens the gateway too
	Computers      int  `json:"computers"`      // those that are connected, by the secret before or an older one
}

// changePassword takes another secret for computers. Those that are connected stay so; they need the new one when they
// connect again.
func (d *Daemon) changePassword(_ context.Context, secret mcpconfig.Secret, overlap time.Duration) (PasswordReport, error) {
	switch {
	case d.gateway == nil:
		return PasswordReport{}, failf(ErrUsage, "the gateway is off, so there is no secret for computers")
	case secret.IsZero():
		return PasswordReport{}, failf(ErrUsage, "the secret for computers cannot be empty")
	case overlap < 0 || overlap > maxOverlap:
		return PasswordReport{}, failf(ErrUsage, "the secret before can go on for 0 s to %v", maxOverlap)
	}
	report := PasswordReport{Version: reportVersion, Computers: len(d.gateway.Registry().Computers())}
	if report.Changed = d.password.change(secret, overlap); report.Changed {
		report.OverlapSeconds = int(overlap / time.Second)
		d.log.Info("the secret for computers has changed", zap.Duration("overlap", overlap), zap.Int("connected", report.Computers))
	}
	return report, nil
}
