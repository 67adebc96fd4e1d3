package daemon

import "path/filepath"

// places uses the known folders RoamingAppData (configuration follows the user) and LocalAppData (state does not).
func places(getenv func(string) string) standardPlaces {
	var p standardPlaces
	if dir := getenv("APPDATA"); dir != "" {
		p.config = filepath.Join(dir, "traposd")
	}
	if dir := getenv("LOCALAPPDATA"); dir != "" {
		p.state = filepath.Join(dir, "traposd", "state")
		p.runtime = filepath.Join(dir, "traposd", "run")
	}
	return p
}
