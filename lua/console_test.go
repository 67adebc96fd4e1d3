package lua

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/traposd/traposd/lua/craftos"
)

// screenResult is the payload of a read-screen answer.
type screenResult struct {
	OK            bool   `json:"ok"`
	Kind          string `json:"kind"`
	Width, Height int
	CursorX       int    `json:"cursorX"`
	CursorY       int    `json:"cursorY"`
	Text          []byte `json:"textBase64"`
	Foreground    string `json:"foreground"`
	Background    string `json:"background"`
	Palette       []int  `json:"palette"`
}

func (p *peer) screen() screenResult {
	p.t.Helper()
	var r screenResult
	p.answer(p.call("read-screen", map[string]any{}), &r)
	return r
}

// answer decodes the payload of a request that was understood.
func (p *peer) answer(f frame, into any) {
	p.t.Helper()
	if f.OK == nil || !*f.OK {
		p.t.Fatalf("the request failed: %+v", f.Error)
	}
	if err := json.Unmarshal(f.Payload, into); err != nil {
		p.t.Fatalf("%v: %.300s", err, f.Payload)
	}
}

// What somebody types from outside reaches the program in front, and the screen can be read, whatever runs meanwhile.
func TestConsole(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	m, p := h.connect(craftos.Options{ID: 5, Label: "f:é", Files: disk(t, map[string]string{
		"colour.lua": "term.setTextColour(colours.red) term.setBackgroundColour(colours.blue) print('painted') " +
			"term.setTextColour(colours.white) term.setBackgroundColour(colours.black)",
		"keys.lua": "local got = {} repeat local e, a, b = os.pullEvent() " +
			"if e == 'key' or e == 'key_up' or e == 'char' or e == 'mine' then got[#got + 1] = e .. ' ' .. tostring(a) end " +
			"until e == 'mine' local f = fs.open('got', 'w') f.write(table.concat(got, ',') .. ' ' .. #got) f.close()",
	})})
	type typed struct {
		OK    bool   `json:"ok"`
		Kind  string `json:"kind"`
		Typed int    `json:"typed"`
	}
	send := func(payload map[string]any) (r typed) {
		t.Helper()
		p.answer(p.call("send-keys", payload), &r)
		return r
	}

	if r := send(map[string]any{"textBase64": b64("colour\n")}); !r.OK || r.Typed != 7 {
		t.Errorf("send-keys: %+v", r)
	}
	m.awaitScreen("painted")
	screen := p.screen()
	if !screen.OK || screen.Width != 51 || screen.Height != 19 || len(screen.Text) != 51*19 || len(screen.Palette) != 16 || screen.Palette[0] != 0xf0f0f0 {
		t.Fatalf("read-screen: %+v", screen)
	}
	at := strings.Index(string(screen.Text), "painted")
	if at < 0 || at%51 != 0 || screen.Foreground[at:at+7] != "eeeeeee" || screen.Background[at:at+7] != "bbbbbbb" {
		t.Errorf("the painted word is at %d, colours %q on %q", at, screen.Foreground, screen.Background)
	}

	send(map[string]any{"textBase64": b64("keys\n")})
	if r := send(map[string]any{"keys": []string{"up", "nokey"}}); r.OK || r.Kind != "unknown_key" {
		t.Errorf("an unknown key: %+v", r)
	}
	send(map[string]any{"textBase64": b64("aB\xe9"), "keys": []string{"leftCtrl+a"}})
	var r typed
	p.answer(p.call("send-event", map[string]any{"event": "mine", "arguments": []any{7, "x"}}), &r)
	until(t, "the keys arrive", func() bool { _, err := m.ReadFile("got"); return err == nil })
	got, err := m.ReadFile("got")
	// The first key_up is that of the enter key that started the program.
	const want = "key_up 257,key 65,char a,key_up 65,key 340,key 66,char B,key_up 66,key_up 340,char \xe9,key 341,key 65,key_up 65,key_up 341,mine 7 15"
	if err != nil || string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, name := range []any{"trapos_cloud_up", "", 7} {
		if p.answer(p.call("send-event", map[string]any{"event": name}), &r); r.OK || r.Kind != "bad_event" {
			t.Errorf("event %v: %+v", name, r)
		}
	}

	// More text than a computer keeps events for arrives whole.
	long := strings.Repeat("x", 900)
	send(map[string]any{"textBase64": b64("_G.long = #'" + long + "'")})
	if screen := strings.Join(strings.Fields(m.screen()), ""); !strings.Contains(screen, strings.Repeat("x", 30)) {
		t.Errorf("the screen: %q", screen)
	}
	send(map[string]any{"keys": []string{"terminate"}})
	if r := p.exec("return 1", time.Minute); !r.OK {
		t.Errorf("the servers ended with the program in front: %+v", r)
	}
	if c := p.call("send-keys", map[string]any{"textBase64": "%"}); c.OK == nil || *c.OK || c.Error.Code != "bad_request" {
		t.Errorf("no base64: %+v", c)
	}
	infoAndReboot(t, h, p)
}

func infoAndReboot(t *testing.T, h *host, p *peer) {
	// A turtle with a wireless modem in reach of GPS hosts, as far as Lua can tell.
	p.exec(`_G.gps = {locate = function() return 1, 2.5, -3 end}
		peripheral.getNames = function() return {"left"} end
		peripheral.getType = function() return "modem", "peripheral_hub" end
		peripheral.call = function(_, method) return method == "isWireless" end
		_G.turtle = {getFuelLevel = function() return 120 end, getFuelLimit = function() return 20000 end,
		getSelectedSlot = function() return 2 end,
		getItemDetail = function(slot) if slot == 3 then return {name = "minecraft:coal", count = 7} end end}`, time.Minute)
	var got struct {
		OK     bool   `json:"ok"`
		ID     int    `json:"id"`
		Label  []byte `json:"labelBase64"`
		Type   string `json:"type"`
		Free   int    `json:"free"`
		Turtle struct {
			Fuel      int
			Inventory []struct {
				Slot, Count int
				Name        string
			}
		} `json:"turtle"`
		Position    struct{ X, Y, Z float64 }
		Peripherals []struct {
			Name  string
			Types []string
		}
	}
	p.answer(p.call("computer-info", map[string]any{}), &got)
	if !got.OK || got.ID != 5 || string(got.Label) != "f:é" || got.Type != "turtle" || got.Free == 0 || got.Position.Y != 2.5 || got.Position.Z != -3 ||
		len(got.Peripherals) != 1 || got.Peripherals[0].Name != "left" || strings.Join(got.Peripherals[0].Types, " ") != "modem peripheral_hub" {
		t.Errorf("info: %+v", got)
	}
	if inv := got.Turtle.Inventory; got.Turtle.Fuel != 120 || len(inv) != 1 || inv[0].Slot != 3 || inv[0].Name != "minecraft:coal" || inv[0].Count != 7 {
		t.Errorf("turtle: %+v", got.Turtle)
	}
	var rebooted struct {
		OK bool `json:"ok"`
	}
	if p.answer(p.call("reboot-computer", map[string]any{}), &rebooted); !rebooted.OK {
		t.Error("reboot-computer was refused")
	}
	again := h.next()
	again.awaitServes("reboot-computer")
	if again.hello.Boot == p.hello.Boot {
		t.Error("it did not reboot")
	}
}
