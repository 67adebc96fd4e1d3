package mcpconfig

import (
	"bytes"
	"encoding/binary"
)

// lineBlock is the distance of a lineIndex's marks, in bytes: what one look-up reads at most, so that a thousand positions
// in a line of 4 MiB cost no more than elsewhere.
const lineBlock = 512

// lineIndex finds lines and columns. It is made at the first question and costs 24 bytes for each block.
type lineIndex struct{ marks []lineMark }

// lineMark is what is known at the beginning of a block.
type lineMark struct {
	lines     int // line breaks before it
	lineRunes int // characters before the first one of the line it stands in
	runes     int // characters before it
}

func (x *lineIndex) position(data []byte, offset int) (line, column int) {
	if x.marks == nil {
		x.build(data)
	}
	block := offset / lineBlock
	mark := advance(x.marks[block], data[block*lineBlock:offset])
	return mark.lines + 1, mark.runes - mark.lineRunes + 1
}

func (x *lineIndex) build(data []byte) {
	x.marks = make([]lineMark, 0, len(data)/lineBlock+1)
	var mark lineMark
	for start := 0; ; start += lineBlock {
		x.marks = append(x.marks, mark)
		if start+lineBlock > len(data) {
			return
		}
		mark = advance(mark, data[start:start+lineBlock])
	}
}

// advance returns the mark after text. A character counts where its first byte stands, so blocks may cut one.
func advance(mark lineMark, text []byte) lineMark {
	if last := bytes.LastIndexByte(text, '\n'); last >= 0 {
		mark.lines += bytes.Count(text[:last+1], []byte{'\n'})
		mark.runes += runeStarts(text[:last+1])
		mark.lineRunes, text = mark.runes, text[last+1:]
	}
	mark.runes += runeStarts(text)
	return mark
}

func runeStarts(text []byte) int {
	n := 0
	for len(text) >= 8 && binary.NativeEndian.Uint64(text)&0x8080808080808080 == 0 { // eight of ASCII
		text, n = text[8:], n+8
	}
	for _, c := range text {
		if c&0xC0 != 0x80 { // no continuation byte
			n++
		}
	}
	return n
}
