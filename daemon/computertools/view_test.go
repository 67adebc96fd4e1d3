package computertools

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/png"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/traposd/traposd/daemon/policy"
)

// The status page shows the screens that clients may read without a question, and no others.
func TestPicturesKeepToThePolicy(t *testing.T) {
	var asked []string
	reply := fmt.Sprintf(`{"ok":true,"width":2,"height":1,"cursorX":1,"cursorY":1,"textBase64":%q,"foreground":"00","background":"ff","palette":[%s0]}`,
		base64.StdEncoding.EncodeToString([]byte("hi")), strings.Repeat("0,", 15))
	s := over(world(&asked, func(string) string { return reply }), zap.NewNop())
	for text, want := range map[string]bool{
		`[]`: true,
		`[{"network":"home","tools":{"deny":["read-screen"]}}]`: false,
		`[{"network":"home","tools":{"ask":["read-screen"]}}]`:  false,
		`[{"network":"work","tools":{"deny":["*"]}}]`:           true,
	} {
		asked = nil
		p := rules(t, text)
		s.policy = func() *policy.Policy { return p }
		picture, err := s.Picture(t.Context(), "home", "1:hub")
		if (err == nil) != want || (len(asked) == 1) != want {
			t.Errorf("%s: %v, asked %q", text, err, asked)
		}
		if want {
			if _, err := png.Decode(bytes.NewReader(picture)); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	if _, err := s.Picture(t.Context(), "home", "9:nobody"); err == nil {
		t.Error("a computer that is not there has a screen")
	}
}
