package clients

// State is whether a client knows of our listener.
type State int

// The states of a client.
const (
	Missing   State = iota // it has no file here: it is not installed, or never ran
	Unknown                // its file has no entry of our name
	Connected              // its entry is the one that Connect would write
	Elsewhere              // its entry of our name is another
)

// State looks into the client's file at path.
func (c *Client) State(path, url string) (State, error) {
	data, _, err := readFile(path)
	if err != nil || data == nil {
		return Missing, err
	}
	for _, token := range []bool{false, true} {
		_, outcome, err := c.merge(data, url, token)
		switch {
		case err != nil:
			return Unknown, err
		case outcome == Already:
			return Connected, nil
		case outcome == Added:
			return Unknown, nil
		}
	}
	return Elsewhere, nil
}
