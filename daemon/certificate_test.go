package daemon

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/traposd/traposd/gateway"
	"github.com/traposd/traposd/lua"
	"github.com/traposd/traposd/lua/craftos"
)

// authority is a certificate authority of a test.
type authority struct {
	t     *testing.T
	cert  *x509.Certificate
	key   *ecdsa.PrivateKey
	roots *x509.CertPool
	last  int64 // serial number
	dir   string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, roots: x509.NewCertPool(), last: 1, dir: t.TempDir()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert, a.key, _ = a.sign(template, nil, nil)
	a.roots.AddCert(a.cert)
	return a
}

// sign makes a certificate and its key, by itself if there is no parent.
func (a *authority) sign(template, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, []byte) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	if parent == nil {
		parent, by = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// issue makes a certificate for this machine, in PEM, and its serial number.
func (a *authority) issue(until time.Time) (cert, key []byte, serial int64) {
	a.t.Helper()
	a.last++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.last), NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	_, private, cert := a.sign(template, a.cert, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), a.last
}

func (a *authority) files() (cert, key string) {
	return filepath.Join(a.dir, "cert.pem"), filepath.Join(a.dir, "key.pem")
}

// put replaces both files, each by a rename.
func (a *authority) put(cert, key []byte) {
	a.t.Helper()
	certFile, keyFile := a.files()
	for path, data := range map[string][]byte{certFile: cert, keyFile: key} {
		if err := os.WriteFile(path+"~", data, 0o600); err != nil {
			a.t.Fatal(err)
		}
		if err := os.Rename(path+"~", path); err != nil {
			a.t.Fatal(err)
		}
	}
}

// renew issues a certificate and puts it in place.
func (a *authority) renew() (serial int64) {
	cert, key, serial := a.issue(time.Now().Add(time.Hour))
	a.put(cert, key)
	return serial
}

func (a *authority) client() *tls.Config {
	return &tls.Config{RootCAs: a.roots, MinVersion: tls.VersionTLS12}
}

// serial is that of the certificate which an address shows.
func (a *authority) serial(addr string) (int64, error) {
	d := tls.Dialer{Config: a.client()}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64(), nil
}

// A computer connects by wss, with the real programs, and the certificate is followed: renewed, broken, mended.
func TestGatewayOverTLS(t *testing.T) {
	a := newAuthority(t)
	serial := a.renew()
	s := testSettings(t)
	s.GatewayCert, s.GatewayKey = a.files()
	s.GatewayAuth = AuthChallenge
	r := start(t, s, `{"mcpServers":{}}`)
	addr := r.gatewayAddr.String()
	if want := "wss://" + addr + "/gateway"; r.GatewayURL() != want {
		t.Errorf("the gateway's url is %s, want %s", r.GatewayURL(), want)
	}
	if got, err := a.serial(addr); err != nil || got != serial {
		t.Errorf("certificate %d, %v, want %d", got, err, serial)
	}

	c, err := craftos.New(craftos.Options{
		ID: 7, Files: lua.Files(), AllowPrivate: true, RootCAs: a.roots,
		Settings: map[string]any{"cloud.url": r.GatewayURL(), "cloud.password": s.Password.Reveal()},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	defer func() {
		if t.Failed() {
			t.Log(strings.Join(c.Screen(), "\n"))
			t.Log(r.logs.All())
		}
	}()
	serves := func() bool {
		list := r.gateway.Registry().Computers()
		return len(list) == 1 && len(list[0].Serves) > 0
	}
	for limit := time.Now().Add(2 * time.Minute); !serves(); { // booting takes long on a busy machine
		if time.Now().After(limit) {
			t.Fatal("the computer never served")
		}
		select {
		case <-c.Changed():
		case <-time.After(50 * time.Millisecond):
		}
	}
	answer, err := r.gateway.Registry().Request(ctx, "", "7", "exec-lua", json.RawMessage(`{"source":"return 6 * 7"}`))
	if err != nil || !strings.Contains(string(answer), `"value":42`) {
		t.Errorf("exec-lua: %s, %v", answer, err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	// The installer is told of the address as it was reached.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: a.client(), DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+addr+"/install.lua", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if !strings.Contains(string(body), `local BASE = "https://`+addr+`"`) {
		t.Error("the installer does not know that it came by https")
	}
}

// The files are swapped again and again, for good and for bad, while computers come and go: nobody is refused, and who
// connects sees one of the good certificates.
func TestCertificateIsFollowedUnderLoad(t *testing.T) {
	a := newAuthority(t)
	a.renew()
	core, logs := observer.New(zapcore.DebugLevel)
	certFile, keyFile := a.files()
	c, err := readCertificate(certFile, keyFile, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	socket, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := gateway.New(gateway.Options{Password: func() string { return "secret" }})
	server := &http.Server{Handler: g, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(tls.NewListener(socket, c.config())) }()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var joined atomic.Int64
	for i := range 4 {
		running.Go(func() {
			for ctx.Err() == nil {
				if err := join(a, socket.Addr().String(), i); err != nil {
					t.Errorf("a computer did not get in: %v", err)
					return
				}
				joined.Add(1)
			}
		})
	}
	warnings := func() int { return logs.FilterLevelExact(zapcore.WarnLevel).Len() }
	for round := range 5 {
		serial := a.renew()
		c.look()
		before := joined.Load()
		cert, _, _ := a.issue(time.Now().Add(time.Hour))
		a.put(cert, []byte("no key"))
		for range 3 {
			c.look()
		}
		if n := warnings(); n != round+1 {
			t.Errorf("%d lines about %d bad pairs", n, round+1)
		}
		await(t, "computers that connect meanwhile", func() bool { return joined.Load() > before+8 })
		if got, err := a.serial(socket.Addr().String()); err != nil || got != serial {
			t.Errorf("with a bad pair on the disk: certificate %d, %v, want the last good one, %d", got, err, serial)
		}
	}
	cancel()
	running.Wait()
	if err := g.Close(context.Background()); err != nil {
		t.Error(err)
	}
	_ = server.Close()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// join is the short visit of a computer.
func join(a *authority, addr string, id int) error {
	d := websocket.Dialer{TLSClientConfig: a.client(), HandshakeTimeout: 20 * time.Second}
	conn, response, err := d.Dial("wss://"+addr+gateway.Path, nil)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	hello := map[string]any{"type": "hello", "protocol": 1, "password": "secret", "computerId": id}
	if err := conn.WriteJSON(hello); err != nil {
		return err
	}
	var answer struct {
		Type string `json:"type"`
	}
	if err := conn.ReadJSON(&answer); err != nil {
		return err
	}
	if answer.Type != "hello_ok" {
		return errors.New("answered " + answer.Type)
	}
	return conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
}

func TestCertificateThatCannotBeUsed(t *testing.T) {
	a := newAuthority(t)
	cert, key, _ := a.issue(time.Now().Add(time.Hour))
	_, other, _ := a.issue(time.Now().Add(time.Hour))
	certFile, keyFile := a.files()
	for name, c := range map[string]struct {
		cert, key []byte
		words     string
	}{
		"no pem":      {[]byte("x"), key, "failed to find any PEM data"},
		"not a pair":  {cert, other, "does not match"},
		"a key twice": {key, key, "certificate"},
		"too long":    {make([]byte, maxCertificateBytes+1), key, "more than"},
	} {
		a.put(c.cert, c.key)
		_, err := readCertificate(certFile, keyFile, zap.NewNop())
		if !errors.Is(err, ErrSettings) || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	a.put(cert, key)
	s := testSettings(t)
	s.GatewayCert, s.GatewayKey = certFile, filepath.Join(a.dir, "none.pem")
	err := New(s, "test", zap.NewNop()).Run(t.Context())
	if ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), "none.pem") || !strings.Contains(err.Error(), "TRAPOS_GATEWAY_KEY") {
		t.Errorf("without a key: %v", err)
	}

	old, oldKey, _ := a.issue(time.Now().Add(-time.Minute))
	a.put(old, oldKey)
	core, logs := observer.New(zapcore.DebugLevel)
	if _, err := readCertificate(certFile, keyFile, zap.New(core)); err != nil {
		t.Errorf("out of date: %v", err)
	}
	if n := logs.FilterLevelExact(zapcore.WarnLevel).Len(); n != 1 {
		t.Errorf("%d warnings about a certificate that is out of date", n)
	}
}

func TestCertificateIsLookedAt(t *testing.T) {
	a := newAuthority(t)
	a.renew()
	certFile, keyFile := a.files()
	c, err := readCertificate(certFile, keyFile, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	serial := a.renew()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.run(ctx, time.Millisecond) })
	await(t, "the renewed certificate", func() bool { return c.current.Load().Leaf.SerialNumber.Int64() == serial })
	cancel()
	running.Wait()
}

// The operator replaces two files; what is between is no news.
func TestHalfARenewalIsNoNews(t *testing.T) {
	a := newAuthority(t)
	a.renew()
	core, logs := observer.New(zapcore.DebugLevel)
	certFile, keyFile := a.files()
	c, err := readCertificate(certFile, keyFile, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	_, oldKey, _ := a.issue(time.Now().Add(time.Hour))
	cert, key, serial := a.issue(time.Now().Add(time.Hour))
	a.put(cert, oldKey)
	c.look()
	a.put(cert, key)
	c.look()
	c.look()
	if got := c.current.Load().Leaf.SerialNumber.Int64(); got != serial {
		t.Errorf("certificate %d, want %d", got, serial)
	}
	if n := logs.FilterLevelExact(zapcore.WarnLevel).Len(); n != 0 || logs.Len() != 2 {
		t.Errorf("%d warnings, %d lines, want the first certificate and the renewal", n, logs.Len())
	}
}
