package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Figure is one measured value.
type Figure struct {
	Name  string  `json:"name"` // in words that stay
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Goal  string  `json:"goal,omitempty"` // like "< 24"; empty: the figure is for information
	Met   bool    `json:"met"`            // also true without a goal
}

// Report is what one run measured. It is versioned, and only grows.
type Report struct {
	Version   int      `json:"version"`
	Computers int      `json:"computers"`
	CPUs      int      `json:"cpus"`
	System    string   `json:"system"`         // GOOS/GOARCH
	Go        string   `json:"go"`             // version
	Load      string   `json:"load,omitempty"` // of the machine before, over 1, 5 and 15 minutes, where it can be told
	Figures   []Figure `json:"figures"`
}

// add notes a figure without a goal.
func (r *Report) add(name string, value float64, unit string) {
	r.Figures = append(r.Figures, Figure{Name: name, Value: value, Unit: unit, Met: true})
}

// below notes a figure that should be less than its goal.
func (r *Report) below(name string, value float64, unit string, goal float64) {
	r.Figures = append(r.Figures, Figure{Name: name, Value: value, Unit: unit, Goal: fmt.Sprintf("< %g", goal), Met: value < goal})
}

// most notes a figure that should be at most its goal.
func (r *Report) most(name string, value float64, unit string, goal float64) {
	r.Figures = append(r.Figures, Figure{Name: name, Value: value, Unit: unit, Goal: fmt.Sprintf("<= %g", goal), Met: value <= goal})
}

// least notes a figure that should be at least its goal.
func (r *Report) least(name string, value float64, unit string, goal float64) {
	r.Figures = append(r.Figures, Figure{Name: name, Value: value, Unit: unit, Goal: fmt.Sprintf(">= %g", goal), Met: value >= goal})
}

// Write prints the report as a table.
func (r *Report) Write(w io.Writer) error {
	_, _ = fmt.Fprintf(w, "%d computers, %d CPUs, %s, %s", r.Computers, r.CPUs, r.System, r.Go)
	if r.Load != "" {
		_, _ = fmt.Fprintf(w, ", load before: %s", r.Load)
	}
	_, _ = fmt.Fprint(w, "\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "FIGURE\tVALUE\tUNIT\tGOAL\t")
	for _, f := range r.Figures {
		verdict := "met"
		switch {
		case f.Goal == "":
			verdict = ""
		case !f.Met:
			verdict = "missed"
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", f.Name, shortNumber(f.Value), f.Unit, f.Goal, verdict)
	}
	return t.Flush()
}

// shortNumber writes a value with as many digits as it is worth.
func shortNumber(v float64) string {
	switch {
	case v == float64(int64(v)) || v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}
