package computertools

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

type infoInput struct{ target }

// Peripheral is something attached to a computer.
type Peripheral struct {
	Name  string   `json:"name" jsonschema:"how peripheral.wrap is told which one: a side or a network name"`
	Types []string `json:"types" jsonschema:"what it is: modem, monitor, drive, …"`
}

// Position is a place in the world.
type Position struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
	Z float64 `json:"z"`
}

// Item is a stack of items in a turtle.
type Item struct {
	Slot  int    `json:"slot" jsonschema:"the slot, 1 to 16"`
	Name  string `json:"name" jsonschema:"what it is, such as minecraft:coal"`
	Count int    `json:"count" jsonschema:"how many"`
}

// Turtle is what only a turtle has.
type Turtle struct {
	Fuel          *float64 `json:"fuel,omitempty" jsonschema:"moves left; absent if unlimited"`
	FuelLimit     *float64 `json:"fuelLimit,omitempty" jsonschema:"how much fuel it holds; absent if unlimited"`
	UnlimitedFuel bool     `json:"unlimitedFuel,omitempty" jsonschema:"whether the world asks for no fuel"`
	SelectedSlot  int      `json:"selectedSlot,omitempty" jsonschema:"the slot that is selected"`
	Inventory     []Item   `json:"inventory" jsonschema:"the slots that are not empty"`
}

// Info is what a computer is and has.
type Info struct {
	ID          int          `json:"id" jsonschema:"the computer's number in its world"`
	Label       string       `json:"label" jsonschema:"its label; empty if it has none"`
	Type        string       `json:"type" jsonschema:"computer, turtle, pocket or command"`
	Advanced    bool         `json:"advanced" jsonschema:"whether it has colours"`
	Host        string       `json:"host" jsonschema:"the mod or emulator, with its version"`
	Uptime      float64      `json:"uptime" jsonschema:"seconds since it was turned on"`
	Width       int          `json:"width" jsonschema:"of its screen, in characters"`
	Height      int          `json:"height" jsonschema:"of its screen, in characters"`
	Free        *float64     `json:"free,omitempty" jsonschema:"bytes free on its disk"`
	Capacity    *float64     `json:"capacity,omitempty" jsonschema:"bytes that its disk holds"`
	Peripherals []Peripheral `json:"peripherals" jsonschema:"what is attached"`
	Position    *Position    `json:"position,omitempty" jsonschema:"where it is; only with a wireless modem in reach of GPS hosts"`
	Turtle      *Turtle      `json:"turtle,omitempty" jsonschema:"only for a turtle"`
}

type infoOutput struct {
	OK    bool     `json:"ok" jsonschema:"whether the computer answered with what it is"`
	Info  *Info    `json:"info,omitempty" jsonschema:"what it is and has; absent if not ok"`
	Error *Failure `json:"error,omitempty" jsonschema:"why not; absent if ok"`
}

func (s *Server) computerInfo() tool {
	return define(sdk.Tool{
		Name:        "computer-info",
		Title:       "Describe a computer",
		Description: "Tells what a connected ComputerCraft computer is and has: type, peripherals, disk, position if GPS is in reach, a turtle's fuel and inventory.",
		Annotations: reads(),
	}, s.info,
		func(f Failure) infoOutput { return infoOutput{Error: &f} },
		infoText)
}

func (s *Server) info(ctx context.Context, in infoInput) (infoOutput, error) {
	var reply struct {
		outcome
		Info
		LabelBase64 bytes64 `json:"labelBase64"`
	}
	if _, err := s.carryOut(ctx, in.target, deed{tool: "computer-info"}, map[string]any{}, &reply); err != nil {
		return infoOutput{}, err
	}
	if failure := reply.failure(); failure != nil {
		return infoOutput{Error: failure}, nil
	}
	info := reply.Info
	info.Label = reply.LabelBase64.text()
	if info.Peripherals == nil {
		info.Peripherals = []Peripheral{}
	}
	for i := range info.Peripherals {
		if info.Peripherals[i].Types == nil {
			info.Peripherals[i].Types = []string{}
		}
	}
	if info.Turtle != nil && info.Turtle.Inventory == nil {
		info.Turtle.Inventory = []Item{}
	}
	return infoOutput{OK: true, Info: &info}, nil
}

func infoText(out infoOutput) string {
	if out.Error != nil {
		return failed(out.Error)
	}
	i := out.Info
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", i.Type, i.ID)
	if i.Label != "" {
		fmt.Fprintf(&b, " %q", i.Label)
	}
	fmt.Fprintf(&b, ", %s, up %.0f s, screen %d by %d", i.Host, i.Uptime, i.Width, i.Height)
	if i.Free != nil && i.Capacity != nil {
		fmt.Fprintf(&b, "\ndisk: %.0f of %.0f bytes free", *i.Free, *i.Capacity)
	}
	for _, p := range i.Peripherals {
		fmt.Fprintf(&b, "\nperipheral %s: %s", p.Name, strings.Join(p.Types, ", "))
	}
	if p := i.Position; p != nil {
		fmt.Fprintf(&b, "\nposition: %g, %g, %g", p.X, p.Y, p.Z)
	}
	if t := i.Turtle; t != nil {
		if t.Fuel != nil {
			fmt.Fprintf(&b, "\nfuel: %.0f", *t.Fuel)
		}
		for _, item := range t.Inventory {
			fmt.Fprintf(&b, "\nslot %d: %d × %s", item.Slot, item.Count, item.Name)
		}
	}
	return b.String()
}
