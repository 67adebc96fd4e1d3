package gateway

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// On the wire every message is one frame without extensions, whatever its size and whatever the computer offers:
// CC:Tweaked drops continuation frames, and offers a compression that it cannot do.
func TestMessagesAreOneFrameEach(t *testing.T) {
	b := newBed(t, Options{})
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimSuffix(strings.TrimPrefix(b.url, "ws://"), Path))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(c, "GET "+Path+"?c=1 HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\nUser-Agent: computercraft/1.113.1\r\n"+
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n")
	in := bufio.NewReader(c)
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusSwitchingProtocols || response.Header.Get("Sec-Websocket-Extensions") != "" {
		t.Fatalf("answered %s, %v", response.Status, response.Header)
	}
	h, err := json.Marshal(helloFrame(1, "a"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write(append([]byte{0x81, 0xfe, byte(len(h) >> 8), byte(len(h)), 0, 0, 0, 0}, h...))
	next := func() string {
		t.Helper()
		var head [2]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			t.Fatal(err)
		}
		if head[0] != 0x81 || head[1]&0x80 != 0 {
			t.Fatalf("a frame begins with %#x: want one that is final, text, without extension or mask", head)
		}
		size := int(head[1])
		if size == 126 {
			var long [2]byte
			if _, err := io.ReadFull(in, long[:]); err != nil {
				t.Fatal(err)
			}
			size = int(binary.BigEndian.Uint16(long[:]))
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(in, text); err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if f := next(); !strings.Contains(f, "hello_ok") {
		t.Fatalf("got %s", f)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var asked []<-chan result
	for _, size := range []int{10, 4096, 5000, 60_000, 100_000} {
		asked = append(asked, b.ask(ctx, "1:a", "exec-lua", `{"pad":"`+strings.Repeat("x", size)+`"}`))
		for f := next(); ; f = next() { // whole, or in chunks
			if !strings.Contains(f, `"type":"chunk"`) || strings.Contains(f, `"last":true`) {
				break
			}
		}
	}
	cancel()
	for _, r := range asked {
		wantCode(t, b.await(r).err, CodeCancelled)
	}
}
