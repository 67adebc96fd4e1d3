package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	recordName     = "install.json"
	recordVersion  = 1
	maxRecordBytes = 1 << 20
)

// Record is what an installation is remembered by: the next one keeps what it is not told otherwise, and an uninstall knows
// what to remove. It stands in the standard configuration folder, where only the installing user writes.
type Record struct {
	Version     int        `json:"version"`
	Program     string     `json:"program"`
	Workspaces  []string   `json:"workspaces,omitempty"`
	ConfigDir   string     `json:"configDir"`
	StateDir    string     `json:"stateDir"`
	Account     string     `json:"account,omitempty"`
	MadeAccount bool       `json:"madeAccount,omitempty"`
	MadeLinger  bool       `json:"madeLinger,omitempty"`
	Variables   []Variable `json:"variables,omitempty"`
}

// Variable is the value of a recorded setting; empty if there is none.
func (r *Record) Variable(name string) string {
	if r == nil {
		return ""
	}
	for _, v := range r.Variables {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

// ReadRecord reads the record of a standard configuration folder; nil if nothing is installed from it.
func ReadRecord(dir string) (*Record, error) {
	path := filepath.Join(dir, recordName)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("what was installed cannot be read: %w", err)
	}
	if info.Size() > maxRecordBytes {
		return nil, fmt.Errorf("%s is none of ours: move it away", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("what was installed cannot be read: %w", err)
	}
	var r Record
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil || r.Version != recordVersion {
		return nil, fmt.Errorf("%s is of another version of traposd, or broken: use that version, or move it away and install again", path)
	}
	return &r, nil
}

func (r *Record) encode() []byte {
	r.Version = recordVersion
	data, _ := json.MarshalIndent(r, "", "  ") // of strings and booleans: it does not fail
	return append(data, '\n')
}
