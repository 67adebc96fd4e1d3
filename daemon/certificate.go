package daemon

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

const (
	// certificateInterval is between two looks at the files. A renewal writes two of them one after the other: what does not
	// fit together is reported when it still does not at the next look.
	certificateInterval = 5 * time.Second
	// maxCertificateBytes bounds each of the files.
	maxCertificateBytes = 1 << 20
)

// certificate is the gateway's certificate and key, read again when one of the files changes. A pair that cannot be used
// leaves the one before in place. config may be called concurrently with run, which is for one goroutine.
type certificate struct {
	certFile, keyFile string
	log               *zap.Logger
	current           atomic.Pointer[tls.Certificate]

	seen  [sha256.Size]byte // of what the files held at the last look
	doubt error             // why that cannot be used, until it has been told
}

// readCertificate reads both files. The error is one sentence, wraps ErrSettings, and holds nothing of the key.
func readCertificate(certFile, keyFile string, log *zap.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	pair, sum, err := c.read()
	if err != nil {
		return nil, failf(ErrSettings, "TRAPOS_GATEWAY_CERT and TRAPOS_GATEWAY_KEY cannot be used: %v", err)
	}
	c.seen = sum
	c.use(pair, "the gateway's certificate is read")
	return c, nil
}

// read also returns what tells one state of the files from another, be it a good one or not.
func (c *certificate) read() (pair *tls.Certificate, sum [sha256.Size]byte, err error) {
	cert, err := readBounded(c.certFile)
	if err != nil {
		return nil, sha256.Sum256([]byte(err.Error())), err
	}
	key, err := readBounded(c.keyFile)
	if err != nil {
		return nil, sha256.Sum256([]byte(err.Error())), err
	}
	certSum, keySum := sha256.Sum256(cert), sha256.Sum256(key)
	sum = sha256.Sum256(append(certSum[:], keySum[:]...))
	loaded, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, sum, fmt.Errorf("%s and %s: %w", c.certFile, c.keyFile, err)
	}
	return &loaded, sum, nil
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxCertificateBytes+1))
	if err == nil && len(data) > maxCertificateBytes {
		err = fmt.Errorf("%s has more than %d bytes", path, maxCertificateBytes)
	}
	return data, err
}

func (c *certificate) use(pair *tls.Certificate, message string) {
	c.current.Store(pair)
	until := pair.Leaf.NotAfter
	fields := []zap.Field{zap.Strings("names", pair.Leaf.DNSNames), zap.Time("until", until)}
	if time.Now().After(until) {
		c.log.Warn(message+", and is out of date; computers refuse it", fields...)
		return
	}
	c.log.Info(message, fields...)
}

// run looks at the files until ctx ends.
func (c *certificate) run(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.look()
		}
	}
}

// look takes up what changed since the last look.
func (c *certificate) look() {
	pair, sum, err := c.read()
	if sum == c.seen {
		if c.doubt != nil {
			c.log.Warn("the gateway's new certificate cannot be used, the one before is kept; mend the files", zap.Error(c.doubt))
			c.doubt = nil
		}
		return
	}
	c.seen, c.doubt = sum, err
	if err == nil {
		c.use(pair, "the gateway's certificate is renewed")
	}
}

// config is for the gateway's listener. HTTP/2 is not offered: a WebSocket is taken over from HTTP/1.1.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.current.Load(), nil
		},
	}
}
