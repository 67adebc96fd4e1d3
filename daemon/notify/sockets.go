package notify

import (
	"errors"
	"fmt"
	"net"

	"github.com/coreos/go-systemd/v22/activation"
)

// Sockets are the listening sockets that the manager has bound for this process, by the name that FileDescriptorName= of
// their unit gives them; none where nobody did. They can be taken once: the variables that tell of them are unset. What is
// no listening socket, or a second one of a name, is closed and is in the error; the others are there nevertheless.
func Sockets() (map[string]net.Listener, error) {
	sockets := map[string]net.Listener{}
	var errs []error
	for _, file := range activation.Files(true) {
		name := file.Name()
		listener, err := net.FileListener(file) // a duplicate
		_ = file.Close()
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("the inherited socket %q is of no use: %w", name, err))
		case sockets[name] != nil:
			errs = append(errs, fmt.Errorf("a second inherited socket is called %q; one address of that name is enough", name), listener.Close())
		default:
			sockets[name] = listener
		}
	}
	return sockets, errors.Join(errs...)
}
