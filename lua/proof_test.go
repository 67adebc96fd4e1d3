package lua

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/traposd/traposd/lua/craftos"
)

// shaProgram computes what the lines of the file "in" ask for, and writes an answer for each to "out".
const shaProgram = `
	local sha256 = require("/apis/libsha256")
	local function bytes(hex) return (hex:gsub("..", function(d) return string.char(tonumber(d, 16)) end)) end
	local out, questions = fs.open("out", "w"), fs.open("in", "r")
	while true do
		local line = questions.readLine()
		if not line then break end
		local kind, first, second = line:match("^(%w+) (%x*) (%x*)$")
		out.writeLine(kind == "hash" and sha256.hash(bytes(first)) or sha256.hmac(bytes(first), bytes(second)))
		os.queueEvent("gave way")
		os.pullEvent("gave way")
	end
	out.close()
	print("all done")
`

// The digests and codes that a computer makes are those of Go's own library: the published vectors, every length around the
// ends of a block, and bytes and keys by chance.
func TestSHA256OnTheComputer(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	random := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return string(b)
	}
	var in, want []string
	hash := func(data string) {
		sum := sha256.Sum256([]byte(data))
		in, want = append(in, fmt.Sprintf("hash %x ", data)), append(want, hex.EncodeToString(sum[:]))
	}
	code := func(key, data string) {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(data))
		in, want = append(in, fmt.Sprintf("hmac %x %x", key, data)), append(want, hex.EncodeToString(mac.Sum(nil)))
	}
	hash("abc") // FIPS 180-4
	hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
	hash(strings.Repeat("a", 10_000/slowdown))
	code(strings.Repeat("\x0b", 20), "Hi There") // RFC 4231
	code("Jefe", "what do ya want for nothing?")
	code(strings.Repeat("\xaa", 20), strings.Repeat("\xdd", 50))
	code(strings.Repeat("\xaa", 131), "Test Using Larger Than Block-Size Key - Hash Key First")
	for n := 0; n <= 130; n += 1 + 8*(slowdown/10) {
		hash(random(n))
	}
	for range 100 / slowdown {
		code(random(rng.IntN(140)), random(rng.IntN(300)))
	}
	for n := 62; n <= 66; n++ {
		code(random(n), random(n-8))
	}
	m := boot(t, craftos.Options{
		AbortAfter: patience, // a busy machine is slow
		Files:      disk(t, map[string]string{"sums.lua": shaProgram, "in": strings.Join(in, "\n")}),
	})
	m.awaitScreen(">")
	m.Type("sums\n")
	m.awaitScreen("all done")
	data, err := m.ReadFile("out")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(string(data))
	if len(got) != len(want) {
		t.Fatalf("%d answers to %d questions", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%.80s: got %s, want %s", in[i], got[i], want[i])
		}
	}
}

// The password does not cross the socket, with whatever bytes; the host's tests look at every frame for it.
func TestPasswordIsProven(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	_, p := h.connect(craftos.Options{ID: 3, Label: "miner"})
	first := h.receive()
	if first.Password != "" || len(first.Nonce) < 16 || first.Proof != "" || p.hello.Proof == "" || p.hello.Password != "" {
		t.Errorf("hellos: %+v, %+v", first, p.hello)
	}
	_ = p.conn.Close()
	p = h.next()
	if second := h.receive(); second.Nonce == first.Nonce {
		t.Error("a nonce came twice")
	}
	p.awaitServes("exec-lua")
}

// A person may have the password sent as it is, to a gateway that knows no challenge.
func TestPasswordIsSentIfAsked(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	s := h.settings()
	s["cloud.auth"] = "password"
	_, p := h.connect(craftos.Options{ID: 3, Settings: s})
	if p.hello.Password != testPassword || p.hello.Nonce != "" {
		t.Errorf("hello: %+v", p.hello)
	}
}

// Whoever cannot prove that it knows the password gets nothing from this computer.
func TestImpostorIsLeft(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]impostor{"without a challenge": impostorGreets, "with a wrong proof": impostorGuesses} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.impostor = kind
			m := boot(t, craftos.Options{ID: 1, Files: disk(t, nil), AllowPrivate: true, Settings: h.settings()})
			m.awaitScreen("did not prove that it knows the password")
			p := h.next()
			<-p.gone
			if len(p.served) != 0 {
				t.Errorf("it was told %v", p.served)
			}
		})
	}
}
