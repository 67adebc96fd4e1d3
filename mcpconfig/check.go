package mcpconfig

// reportVersion is the version of the form that Report has as JSON. Fields may be added within a version.
const reportVersion = 1

// Report is what `traposd check` shows: the one JSON form with values in it, since it is made for the editor that has the
// file open. They are the command, and the url with userinfo and query masked, both as they are written in the file:
// placeholders unexpanded, their defaults left out.
type Report struct {
	Version  int            `json:"version"` // 1
	Sources  []ReportSource `json:"sources"` // the files that exist, strongest first
	Servers  []string       `json:"servers"` // the names that /mcp would show, in order of precedence
	Problems Problems       `json:"problems"`
}

// ReportSource is one file of a Report.
type ReportSource struct {
	Path    string         `json:"path"`
	Scope   Scope          `json:"scope"`
	Servers []ReportServer `json:"servers"`
}

// ReportServer is one entry of a ReportSource.
type ReportServer struct {
	Name       string    `json:"name"`
	Line       int       `json:"line,omitempty"`
	Transport  Transport `json:"transport"` // "" if it is not known
	Inferred   bool      `json:"inferred"`
	Disabled   bool      `json:"disabled"`
	Invalid    bool      `json:"invalid"`
	Command    string    `json:"command,omitempty"`
	Args       int       `json:"args"` // how many
	Env        []string  `json:"env"`  // names
	URL        string    `json:"url,omitempty"`
	Headers    []string  `json:"headers"`              // names
	ShadowedBy string    `json:"shadowedBy,omitempty"` // the path of the file whose entry hides this one
}

// OK tells whether the check is passed: no errors, and if strict no warnings either.
func (r Report) OK(strict bool) bool {
	return !r.Problems.Errors() && (!strict || len(r.Problems) == 0)
}

// Check reads files, each as if it were the .mcp.json of the folder it is in (or the global file, if it is that), and
// after them what o says, and reports what it found. A file that is not there is an error. It connects to nothing.
func Check(files []string, o Options) Report {
	o.LastGood = nil
	set, problems := load(o, files)
	report := Report{Version: reportVersion, Sources: []ReportSource{}, Servers: []string{}, Problems: problems}
	if problems == nil {
		report.Problems = Problems{}
	}
	for _, source := range set.sources {
		if !source.status.Exists {
			continue
		}
		shown := ReportSource{Path: source.status.Path, Scope: source.status.Scope, Servers: []ReportServer{}}
		for _, server := range source.servers {
			shown.Servers = append(shown.Servers, server.report())
		}
		report.Sources = append(report.Sources, shown)
	}
	for _, server := range set.Merged() {
		report.Servers = append(report.Servers, server.Name)
	}
	return report
}

func (s Server) report() ReportServer {
	r := ReportServer{
		Name: s.Name, Line: s.Source.Line, Transport: s.Transport, Inferred: s.Inferred, Disabled: s.Disabled, Invalid: s.Invalid,
		Args: len(s.Args), Env: []string{}, Headers: []string{}, ShadowedBy: s.ShadowedBy.Path,
	}
	if !s.Invalid {
		r.Command, r.URL = s.ShownCommand(), s.ShownURL()
	}
	for _, variable := range s.Env {
		r.Env = append(r.Env, variable.Name)
	}
	for _, header := range s.Headers {
		r.Headers = append(r.Headers, header.Name)
	}
	return r
}

// ShownCommand returns the command as it may be shown: as it is written in the file, placeholders unexpanded and their
// defaults left out. It is "" for a server of another transport.
func (s Server) ShownCommand() string { return s.shownCommand.Reveal() }

// ShownURL returns the url as it may be shown: as ShownCommand, and with userinfo and query masked.
func (s Server) ShownURL() string { return s.shownURL.Reveal() }
