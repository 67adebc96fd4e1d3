package computertools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// screenAnswer is a computer's answer of `width` columns, with all rows in one colour.
func screenAnswer(t *testing.T, width int, text string) string {
	t.Helper()
	cells := len(text)
	palette := make([]int, 16)
	palette[0], palette[15], palette[14] = 0xf0f0f0, 0x111111, 0xcc4c4c
	raw, err := json.Marshal(map[string]any{
		"ok": true, "width": width, "height": cells / width, "cursorX": 2, "cursorY": 2, "cursorBlink": true,
		"textBase64": []byte(text), "foreground": strings.Repeat("0", cells-1) + "e", "background": strings.Repeat("f", cells),
		"palette": palette,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestReadScreen(t *testing.T) {
	var asked map[string]any
	answer := screenAnswer(t, 4, "ab  \x95\x81\xe9\x03")
	result, s := call(t, replying(&asked, answer), "read-screen", `{"computer":"1","colours":true}`)
	sameJSON(t, "read-screen", s, `{"ok":true,"width":4,"height":2,"lines":["ab","▌🬀é♥"],"cursorX":2,"cursorY":2,"cursorBlink":true,
		"foreground":["0000","000e"],"background":["ffff","ffff"]}`)
	if want := "ab\n▌🬀é♥\n[4 by 2 characters, cursor at 2, 2]"; text(result) != want {
		t.Errorf("text %q", text(result))
	}
	picture := result.Content[1].(*sdk.ImageContent)
	img, err := png.Decode(bytes.NewReader(picture.Data))
	if err != nil || picture.MIMEType != "image/png" || img.Bounds() != image.Rect(0, 0, 4*12, 2*18) {
		t.Fatalf("the picture: %v %v", err, img)
	}
	// The letter a, one character of the game's pixels per line; then the left half block.
	want := []string{
		"......", "......", "......", ".###..", "....#.", ".####.", "#...#.", ".####.", "......",
	}
	if got := inkOf(img, 0, 0); got != strings.Join(want, "\n") {
		t.Errorf("the letter a is drawn\n%s", got)
	}
	if got := inkOf(img, 0, 1); got != strings.TrimSpace(strings.Repeat("###...\n", 9)) {
		t.Errorf("the left half block is drawn\n%s", got)
	}
	if r, g, b, _ := img.At(3*12+4, 18+4*2).RGBA(); r>>8 != 0xcc || g>>8 != 0x4c || b>>8 != 0x4c {
		t.Errorf("the heart is %x %x %x", r>>8, g>>8, b>>8)
	}
	if result, s := call(t, replying(&asked, answer), "read-screen", `{"computer":"1","image":false}`); len(result.Content) != 1 || s["foreground"] != nil {
		t.Errorf("without the image and colours: %v", s)
	}
}

// inkOf shows one cell of a picture: # for what is not the background.
func inkOf(img image.Image, column, row int) string {
	background := img.At(3*12, 0)
	var lines []string
	for y := range cellHeight {
		line := ""
		for x := range cellWidth {
			if img.At((column*cellWidth+x)*scale, (row*cellHeight+y)*scale) == background {
				line += "."
			} else {
				line += "#"
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// A computer is not trusted to send what fits: nothing of it may make the service fail.
func TestReadScreenOfNonsense(t *testing.T) {
	good := screenAnswer(t, 4, "abcdabcd")
	for old, replacement := range map[string]string{
		`"width":4`:            `"width":400000`,
		`"height":2`:           `"height":-2`,
		`"foreground":"00`:     `"foreground":"xy`,
		`"background":"f`:      `"background":"`,
		`"palette":[`:          `"palette":[1,`,
		`"textBase64":"YWJjZG`: `"textBase64":"YWJj`,
		`"ok":true`:            `"ok":true,"cursorX":1e99`,
	} {
		bad := strings.Replace(good, old, replacement, 1)
		if bad == good {
			t.Fatalf("%s is not in %s", old, good)
		}
		var asked map[string]any
		result, s := call(t, replying(&asked, bad), "read-screen", `{"computer":"1"}`)
		if failure, _ := s["error"].(map[string]any); !result.IsError || failure["kind"] != "internal" {
			t.Errorf("%s: %v", replacement, s)
		}
	}
	var asked map[string]any
	result, _ := call(t, replying(&asked, `{"ok":false,"kind":"unavailable","errorBase64":""}`), "read-screen", `{"computer":"1"}`)
	if result.IsError || text(result) != "[unavailable] " {
		t.Errorf("%q", text(result))
	}
}

// Each of the 256 characters is drawn, differently from every other. Seven are blank in the game, and two it has twice.
func TestGlyphs(t *testing.T) {
	if len(lowRunes) != 32 {
		t.Fatalf("%d characters below 32", len(lowRunes))
	}
	twins := map[byte]byte{0xa7: 0x15, 0xb6: 0x14}
	seen := map[string]byte{}
	var blank []byte
	for c := range 256 {
		drawn := ""
		for y := range cellHeight {
			for x := range cellWidth {
				if inked(byte(c), x, y) {
					drawn += fmt.Sprint(x, y, " ")
				}
			}
		}
		if drawn == "" {
			blank = append(blank, byte(c))
			continue
		}
		twin, hasTwin := twins[byte(c)]
		if other, found := seen[drawn]; found != hasTwin || other != twin {
			t.Errorf("%#x looks like %#x", c, other)
		}
		if !hasTwin {
			seen[drawn] = byte(c)
		}
	}
	if want := []byte{0, '\t', '\n', '\r', ' ', 0x80, 0xa0}; !bytes.Equal(blank, want) {
		t.Errorf("%#v are blank", blank)
	}
	for _, line := range []string{"", "A", "A .###.", "A" + strings.Repeat(" .####", 9), "A" + strings.Repeat(" .###x", 7), "€" + strings.Repeat(" .....", 7)} {
		if _, _, err := parseGlyph([]rune(line)); err == nil {
			t.Errorf("%q is taken", line)
		}
	}
}

func BenchmarkPicture(b *testing.B) {
	r := screenReply{Width: 51, Height: 19, Palette: make([]uint32, 16)}
	for i := range 51 * 19 {
		r.Text = append(r.Text, byte(' '+i%95))
	}
	r.Foreground, r.Background = strings.Repeat("0", 51*19), strings.Repeat("f", 51*19)
	for b.Loop() {
		out, err := draw(&r)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(out)))
	}
}

func ExampleServer_Entry() {
	for _, tool := range New(registry{}, Options{}).Entry().Tools {
		fmt.Println(tool.Name)
	}
	// Output:
	// probe-computers
	// computer-info
	// exec-lua
	// list-files
	// read-file
	// write-file
	// edit-file
	// move-file
	// delete-file
	// read-screen
	// send-keys
	// send-event
	// reboot-computer
}
