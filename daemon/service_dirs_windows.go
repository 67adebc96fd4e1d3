package daemon

// FindRuntimeDir is RuntimeDir: a pipe's name follows from the folder, and there is nothing else to look at.
func FindRuntimeDir(getenv func(string) string) (string, error) { return RuntimeDir(getenv) }
