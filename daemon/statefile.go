package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/traposd/traposd/daemon/wholefile"
)

// maxStateBytes bounds a state file; the largest holds some hundred bytes for each approved entry.
const maxStateBytes = 16 << 20

// stateVersion is the version of the state files.
const stateVersion = 1

// readState reads a JSON file of the state folder into v, strictly: a member that is not known may be of a later version,
// and writing the file back would lose it. A missing file leaves v as it is.
func readState(path string, v any) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxStateBytes+1))
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if len(data) > maxStateBytes {
		return fmt.Errorf("%s is larger than 16 MiB; it is not one of ours, move it away", path)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%s cannot be read (%w); mend it or move it away, it is left as it is", path, err)
	}
	return nil
}

// writeState replaces a JSON file of the state folder, whole or not at all, readable by its owner alone.
func writeState(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("the state folder cannot be made: %w; choose another by TRAPOS_STATE_DIR", err)
	}
	if err := wholefile.Replace(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("the state folder cannot be written: %w; choose another by TRAPOS_STATE_DIR", err)
	}
	return nil
}
