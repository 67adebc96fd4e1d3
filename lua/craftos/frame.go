package craftos

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
)

// Opcodes of WebSocket frames (RFC 6455, section 5.2).
const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xa
)

const maxControlPayload = 125

// frame is one WebSocket frame as it is on the wire: CC:Tweaked has no aggregator, so frames are what programs see.
type frame struct {
	opcode  byte
	payload []byte
}

var errProtocol = errors.New("not a frame that a client may receive")

// readFrame reads one frame of a server. Frames above limit, masked ones, and those with reserved bits fail.
func readFrame(r *bufio.Reader, limit int) (frame, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:2]); err != nil {
		return frame{}, err
	}
	f := frame{opcode: head[0] & 0x0f}
	length := uint64(head[1] & 0x7f)
	control := f.opcode >= opClose
	if head[0]&0x70 != 0 || head[1]&0x80 != 0 || control && (length > maxControlPayload || head[0]&0x80 == 0) {
		return frame{}, errProtocol
	}
	switch length {
	case 126:
		if _, err := io.ReadFull(r, head[:2]); err != nil {
			return frame{}, err
		}
		length = uint64(binary.BigEndian.Uint16(head[:2]))
	case 127:
		if _, err := io.ReadFull(r, head[:8]); err != nil {
			return frame{}, err
		}
		length = binary.BigEndian.Uint64(head[:8])
	}
	if length > uint64(limit) {
		return frame{}, errTooLarge
	}
	f.payload = make([]byte, length)
	_, err := io.ReadFull(r, f.payload)
	return f, err
}

// encode makes the wire form of a client's frame: final and masked.
func (f frame) encode() []byte {
	n := len(f.payload)
	out := make([]byte, 0, n+14)
	out = append(out, 0x80|f.opcode)
	switch {
	case n < 126:
		out = append(out, 0x80|byte(n))
	case n <= 0xffff:
		out = binary.BigEndian.AppendUint16(append(out, 0x80|126), uint16(n))
	default:
		out = binary.BigEndian.AppendUint64(append(out, 0x80|127), uint64(n))
	}
	var mask [4]byte
	_, _ = rand.Read(mask[:]) // never fails
	out = append(out, mask[:]...)
	for i, b := range f.payload {
		out = append(out, b^mask[i&3])
	}
	return out
}
