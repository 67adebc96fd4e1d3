package gateway

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// rawJoin connects a computer that costs this process nothing but a socket: no goroutine, and no buffer.
func rawJoin(t testing.TB, url string, id int) net.Conn {
	t.Helper()
	host := strings.TrimSuffix(strings.TrimPrefix(url, "ws://"), Path)
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	_, err = c.Write([]byte("GET " + Path + " HTTP/1.1\r\nHost: " + host + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	readUntil(t, c, []byte("\r\n\r\n"))
	h, err := json.Marshal(helloFrame(id, "raw"))
	if err != nil {
		t.Fatal(err)
	}
	head := []byte{0x81, 0xfe, byte(len(h) >> 8), byte(len(h)), 0, 0, 0, 0} // masked with zeroes
	if _, err := c.Write(append(head, h...)); err != nil {
		t.Fatal(err)
	}
	readUntil(t, c, []byte(`"maxInFlight":8}`))
	return c
}

func readUntil(t testing.TB, c net.Conn, end []byte) {
	t.Helper()
	var got []byte
	one := make([]byte, 1)
	for !bytes.HasSuffix(got, end) {
		if _, err := io.ReadFull(c, one); err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		got = append(got, one[0])
	}
}
