package daemon

import "github.com/traposd/traposd/mcpconfig"

func filesReport(set mcpconfig.Set) []FileReport {
	reports := []FileReport{}
	for _, f := range set.Sources() {
		r := FileReport{
			Path: f.Path, Scope: f.Scope.String(), Workspace: f.Workspace, Exists: f.Exists, OK: f.OK,
			LastGood: f.Error != nil && f.Error.KeptLastGood,
		}
		if !f.ModTime.IsZero() {
			r.ModTime = &f.ModTime
		}
		reports = append(reports, r)
	}
	return reports
}
