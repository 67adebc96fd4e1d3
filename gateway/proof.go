package gateway

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strconv"
	"strings"
)

// The challenge–response form of the hello (PROTOCOL.md, section 3): both sides prove by HMAC-SHA-256 that they know the
// secret, which so does not cross the connection.

const (
	minNonceLength = 16 // characters; ours has 32
	maxNonceLength = 64
)

// prover is a side of the connection. It is part of what a proof is made of, so that nobody can hand one side's proof back
// to it as the other's.
type prover string

const (
	proverComputer prover = "computer"
	proverGateway  prover = "gateway"
)

// newNonce returns 128 random bits. It is used for one connection.
func newNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, as its documentation says
	return hex.EncodeToString(b[:])
}

// proofOf is what who sends to show that it knows secret: 64 lower-case hexadecimal digits. challenge is the gateway's nonce
// and nonce the computer's. No field can hold a line break, so that two different lists of fields are two different texts.
func proofOf(who prover, secret, challenge, nonce string, id *identity) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fields := []string{"traposd-" + string(who) + "-1", challenge, nonce, id.network, strconv.Itoa(id.computerID), id.boot}
	_, _ = mac.Write([]byte(strings.Join(fields, "\n"))) // a hash's Write never fails
	return hex.EncodeToString(mac.Sum(nil))
}

// secrets are those that open the gateway: the current one and, while it is being changed, the one before. An empty one opens
// nothing.
func (g *Gateway) secrets() [2]string {
	var list [2]string
	for i, secret := range []func() string{g.opts.Password, g.opts.PreviousPassword} {
		if secret != nil {
			list[i] = secret()
		}
	}
	return list
}

// authorized compares the password of h with the secrets, each in constant time: hashing first makes the comparison
// independent of the lengths too.
func (g *Gateway) authorized(h *hello) bool {
	given := []byte(h.Password)
	if len(h.PasswordBase64) > 0 {
		given = h.PasswordBase64
	}
	sum := sha256.Sum256(given)
	ok := 0
	for _, secret := range g.secrets() {
		wantSum := sha256.Sum256([]byte(secret))
		same := subtle.ConstantTimeCompare(sum[:], wantSum[:])
		if secret != "" {
			ok |= same
		}
	}
	return ok == 1
}

// proven compares the proof of h with that of each secret, in constant time, and returns the gateway's own proof by the
// secret that h knows.
func (g *Gateway) proven(h *hello, id *identity, challenge string) (proof string, ok bool) {
	known := ""
	for _, secret := range g.secrets() {
		want := proofOf(proverComputer, secret, challenge, h.Nonce, id)
		if subtle.ConstantTimeCompare([]byte(want), []byte(h.Proof)) == 1 && secret != "" {
			known = secret
		}
	}
	if known == "" {
		return "", false
	}
	return proofOf(proverGateway, known, challenge, h.Nonce, id), true
}
