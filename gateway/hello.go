package gateway

import (
	"encoding/json"
	"strconv"
)

// hello is the first frame of a computer. It may hold the password: never log it, nor wrap an error of its decoding.
type hello struct {
	Type           string      `json:"type"`
	Protocol       json.Number `json:"protocol"`
	Password       string      `json:"password"`
	PasswordBase64 []byte      `json:"passwordBase64"`
	Nonce          string      `json:"nonce"`
	Proof          string      `json:"proof"`
	NetworkID      *string     `json:"networkId"`
	ComputerID     *float64    `json:"computerId"`
	Label          string      `json:"label"`
	LabelBase64    []byte      `json:"labelBase64"`
	Boot           string      `json:"boot"`
	Serves         typeList    `json:"serves"`
	Agent          string      `json:"agent"`
}

// identity is what a computer says of itself, checked and without the password.
type identity struct {
	network    string
	computerID int
	label      string
	traposID   string
	boot       string // "" when it did not say: then each hello counts as another boot
	serves     []string
	agent      string
}

// String keeps the password out of every log and panic.
func (h *hello) String() string { return "hello(redacted)" }

// GoString is String.
func (h *hello) GoString() string { return h.String() }

// wantsChallenge reports whether h holds no password, but asks to prove that it is known.
func (h *hello) wantsChallenge() bool {
	return h.Nonce != "" && h.Password == "" && len(h.PasswordBase64) == 0
}

// decodeHello reads the first frame and everything in it but the password and the proof, which greet has judged.
func decodeHello(data []byte) (*hello, *identity, *Error) {
	h := &hello{}
	if err := decodeFrame(data, h); err != nil {
		return nil, nil, err
	}
	if h.Type != "hello" {
		return nil, nil, newError(CodeBadRequest, "the first frame must be a hello")
	}
	if h.Protocol != "1" && h.Protocol != "1.0" {
		return nil, nil, newError(CodeUnsupportedProtocol, "this gateway speaks protocol ", strconv.Itoa(protocolVersion),
			" only: install the computer's programs again from this gateway")
	}
	id := &identity{network: "default", serves: h.Serves, agent: cleanText(h.Agent, maxAgentLength)}
	if h.NetworkID != nil {
		id.network = *h.NetworkID
	}
	if !validNetwork(id.network) {
		return nil, nil, newError(CodeBadRequest, "networkId must be 1 to 64 of A-Z a-z 0-9 . _ -")
	}
	n := h.ComputerID
	if n == nil || *n < 0 || *n > maxComputerID || *n != float64(int(*n)) {
		return nil, nil, newError(CodeBadRequest, "computerId must be a whole number from 0 up")
	}
	id.computerID = int(*n)
	if h.Boot != "" && !printable(h.Boot, maxBootLength) {
		return nil, nil, newError(CodeBadRequest, "boot must be at most 64 printable characters")
	}
	id.boot = h.Boot
	if h.Nonce != "" && (!printable(h.Nonce, maxNonceLength) || len(h.Nonce) < minNonceLength) {
		return nil, nil, newError(CodeBadRequest, "nonce must be 16 to 64 printable characters")
	}
	label := h.Label
	if len(h.LabelBase64) > 0 {
		label = string(h.LabelBase64)
	}
	id.label = cleanText(label, maxLabelLength)
	id.traposID = traposIDOf(id.computerID, id.label)
	return h, id, nil
}

func traposIDOf(computerID int, label string) string { return strconv.Itoa(computerID) + ":" + label }

func validNetwork(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
