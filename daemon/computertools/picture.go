package computertools

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
)

// The game's characters are 6 by 9 pixels, one of each being the gap to the next. A picture has them at twice the size, at
// which a terminal of 51 by 19 is 612 by 342.
const (
	cellWidth  = 6
	cellHeight = 9
	scale      = 2
)

// draw makes a PNG of a screen with 16 colours. A cursor that is shown is an underscore, as in the game.
func draw(r *screenReply) ([]byte, error) {
	palette := make(color.Palette, len(r.Palette))
	for i, rgb := range r.Palette {
		palette[i] = color.RGBA{R: uint8(rgb >> 16), G: uint8(rgb >> 8), B: uint8(rgb), A: 0xff}
	}
	img := image.NewPaletted(image.Rect(0, 0, r.Width*cellWidth*scale, r.Height*cellHeight*scale), palette)
	for i, c := range []byte(r.Text) {
		drawCell(img, i%r.Width, i/r.Width, c, digit(r.Foreground[i]), digit(r.Background[i]))
	}
	if x, y := r.CursorX-1, r.CursorY-1; r.Blinking && x >= 0 && y >= 0 && x < r.Width && y < r.Height {
		for dx := range cellWidth - 1 {
			fill(img, x*cellWidth+dx, y*cellHeight+cellHeight-2, digit(r.Foreground[y*r.Width+x]))
		}
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	err := encoder.Encode(&out, img)
	return out.Bytes(), err
}

func digit(c byte) uint8 {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}

func drawCell(img *image.Paletted, column, row int, c byte, foreground, background uint8) {
	for y := range cellHeight {
		for x := range cellWidth {
			colour := background
			if inked(c, x, y) {
				colour = foreground
			}
			fill(img, column*cellWidth+x, row*cellHeight+y, colour)
		}
	}
}

// fill colours one of the game's pixels.
func fill(img *image.Paletted, x, y int, colour uint8) {
	for dy := range scale {
		for dx := range scale {
			img.SetColorIndex(x*scale+dx, y*scale+dy, colour)
		}
	}
}

// inked reports whether a pixel of a character's cell has the character's colour.
func inked(c byte, x, y int) bool {
	switch {
	case c >= 0x80 && c < 0xa0: // blocks, one bit each: two in a row, three rows; the sixth is never set
		return c>>(x/(cellWidth/2)+2*(y/(cellHeight/3)))&1 == 1 && x/(cellWidth/2)+2*(y/(cellHeight/3)) < 5
	case c == 0x7f:
		return (x+y)%2 == 0
	}
	g := glyphs[c]
	return x < glyphWidth && g[y]>>(glyphWidth-1-x)&1 == 1
}
