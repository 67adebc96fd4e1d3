package daemon

// standardPlaces are the folders that are used when no variable and no flag names one. An empty one could not be found out.
type standardPlaces struct {
	config, state, runtime string
}
