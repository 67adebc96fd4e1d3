package computertools

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const glyphWidth = 5

// glyph is a character's bitmap: a byte per row, the leftmost pixel being bit 4. Row 0 is for accents of capitals, 1 to 7
// hold the character, 8 what hangs below the line.
type glyph [cellHeight]byte

// font.txt has a character per line: itself (those below 32 as lowRunes has them), and its rows 1 to 8 (the last may
// be left out), # for ink. It was drawn for this program.
//
//go:embed font.txt
var fontText string

// accents are two rows over a small letter, and one over a capital.
var accents = map[rune]struct{ upper, lower, capital byte }{
	'`':  {0b01000, 0b00100, 0b01100},
	'\'': {0b00010, 0b00100, 0b00110},
	'^':  {0b00100, 0b01010, 0b01110},
	'~':  {0b01101, 0b10010, 0b11101},
	':':  {0, 0b01010, 0b01010},
	'o':  {0b00100, 0b01110, 0b00100},
}

// composed are the accented letters of Latin-1, each followed by the letter and the accent that it is made of.
const composed = "ÀA`ÁA'ÂA^ÃA~ÄA:ÅAoÈE`ÉE'ÊE^ËE:ÌI`ÍI'ÎI^ÏI:ÑN~ÒO`ÓO'ÔO^ÕO~ÖO:ÙU`ÚU'ÛU^ÜU:ÝY'" +
	"àa`áa'âa^ãa~äa:åaoèe`ée'êe^ëe:ìi`íi'îi^ïi:ñn~òo`óo'ôo^õo~öo:ùu`úu'ûu^üu:ýy'ÿy:"

// glyphs are the bitmaps of all characters but the blocks, which inked makes.
var glyphs = loadGlyphs()

func loadGlyphs() (all [256]glyph) {
	for line := range strings.Lines(fontText) {
		c, g, err := parseGlyph([]rune(strings.TrimSuffix(line, "\n")))
		must(err)
		all[c] = g
	}
	for low, r := range lowRunes {
		if r > ' ' && r <= 0xff { // two signs are in Latin-1 as well
			all[r] = all[low]
		}
	}
	for letters := []rune(composed); len(letters) > 0; letters = letters[3:] {
		letter, base, accent := letters[0], letters[1], accents[letters[2]]
		g := all[base]
		if base >= 'a' {
			g[1], g[2] = accent.upper, accent.lower
		} else {
			g[0] = accent.capital
		}
		all[letter] = g
	}
	return all
}

// parseGlyph reads "A .###. #...# …".
func parseGlyph(line []rune) (c byte, g glyph, err error) {
	if len(line) < 3 || line[1] != ' ' {
		return 0, g, errors.New("font.txt: a line is no character and its rows")
	}
	at := int(line[0])
	if low := slices.Index(lowRunes, line[0]); low >= 0 {
		at = low
	}
	if at > 0xff {
		return 0, g, fmt.Errorf("font.txt: the game has no %q", line[0])
	}
	rows := strings.Fields(string(line[2:]))
	if len(rows) != 7 && len(rows) != 8 {
		return 0, g, fmt.Errorf("font.txt: %q has %d rows", line[0], len(rows))
	}
	for y, row := range rows {
		if len(row) != glyphWidth || strings.Trim(row, ".#") != "" {
			return 0, g, fmt.Errorf("font.txt: %q, row %d", line[0], y+1)
		}
		for _, pixel := range row {
			g[y+1] <<= 1
			if pixel == '#' {
				g[y+1] |= 1
			}
		}
	}
	return byte(at), g, nil
}
