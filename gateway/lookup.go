package gateway

// Lookup returns the connected computer that Request would ask under that name. Its errors are those of Request for a name
// that stands for no computer, or for several.
func (r *Registry) Lookup(networkID, traposID string) (Computer, error) {
	c, e := r.find(networkID, traposID)
	if e != nil {
		return Computer{}, e
	}
	found, connected := c.snapshot()
	if !connected {
		return Computer{}, newError(CodeDisconnected, "computer ", traposID, " lost its connection a moment ago; try again in a few seconds")
	}
	return found, nil
}
