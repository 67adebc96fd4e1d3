package watch

// fold is the spelling under which paths are compared.
func fold(path string) string { return path }
