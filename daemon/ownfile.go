package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tailscale/hujson"

	"github.com/traposd/traposd/daemon/policy"
	"github.com/traposd/traposd/mcpconfig"
)

// ownFileName is our own settings file in the configuration folder. Package mcpconfig reads `servers` of it.
const ownFileName = "traposd.json"

// maxOwnFileBytes is the bound that package mcpconfig has for the same file.
const maxOwnFileBytes = 4 << 20

// ownFile is what traposd.json says beside its servers.
type ownFile struct {
	allowedHosts   []string // names under which the listener may be reached, beside the loopback ones
	allowedOrigins []string // origins of web pages that may call it
	filters        filters  // which tools clients see
	policy         policy.Policy
}

// readOwnFile reads the file. What is broken of it stays as it was in before, and is a problem. A file that is broken as a
// whole, or too large, or not a regular file, is package mcpconfig's to report: it reads the same one.
func readOwnFile(path string, before ownFile) (ownFile, mcpconfig.Problems) {
	data, err := readOwnBytes(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ownFile{}, nil
	}
	if err != nil {
		return before, nil
	}
	root, err := hujson.Parse(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		return before, nil
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return before, nil
	}
	now := ownFile{}
	var problems mcpconfig.Problems
	now.policy, problems = nextPolicy(path, data, object, before.policy)
	for _, m := range object.Members {
		key := m.Name.Value.(hujson.Literal).String()
		if key == "filters" {
			var wrong mcpconfig.Problems
			now.filters, wrong = nextFilters(path, data, m.Value, before.filters)
			problems = append(problems, wrong...)
			continue
		}
		if meansPolicy(key) {
			continue
		}
		list := map[string]*[]string{"allowedHosts": &now.allowedHosts, "allowedOrigins": &now.allowedOrigins}[key]
		if list == nil {
			if p, strange := strangeKey(key); strange {
				p.Path, p.Scope = path, mcpconfig.ScopeSupplied
				p.Line, p.Column = position(data, m.Name.StartOffset)
				problems = append(problems, p)
			}
			continue
		}
		values, bad := texts(m.Value)
		if bad < 0 {
			*list = values
			continue
		}
		*list = map[string][]string{"allowedHosts": before.allowedHosts, "allowedOrigins": before.allowedOrigins}[key]
		line, column := position(data, bad)
		problems = append(problems, mcpconfig.Problem{
			Severity: mcpconfig.SeverityError, Path: path, Line: line, Column: column, Scope: mcpconfig.ScopeSupplied, Field: key,
			Message: fmt.Sprintf("%s must be an array of strings that are not empty", key), KeptLastGood: true,
		})
	}
	return now, problems
}

// nextFilters are the filters that the file has, or those from before if they are wrong somewhere: half of what is to be
// hidden is not enough.
func nextFilters(path string, data []byte, value hujson.Value, before filters) (filters, mcpconfig.Problems) {
	now, problems := readFilters(path, data, value)
	if len(problems) == 0 {
		return now, nil
	}
	for i := range problems {
		problems[i].KeptLastGood = before.closed == ""
		if before.closed != "" {
			problems[i].Message += "; until it is mended, every tool is hidden"
		}
	}
	return before, problems
}

// strangeKey is the problem with a key that the file does not have.
func strangeKey(key string) (mcpconfig.Problem, bool) {
	switch key {
	case "servers", "$schema":
		return mcpconfig.Problem{}, false
	case "mcpServers":
		return mcpconfig.Problem{Severity: mcpconfig.SeverityError, Field: key, Message: "in this file the servers stand under `servers`"}, true
	}
	return mcpconfig.Problem{Severity: mcpconfig.SeverityWarning, Message: fmt.Sprintf("%q is no setting of this file; there are servers, filters, policy, allowedHosts and allowedOrigins", key)}, true
}

// readOwnBytes never blocks: what is no regular file is not opened for reading.
func readOwnBytes(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxOwnFileBytes {
		return nil, fs.ErrInvalid
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, maxOwnFileBytes))
}

// texts reads an array of strings; bad is the offset of what is not as it should be, or -1.
func texts(v hujson.Value) (values []string, bad int) {
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, v.StartOffset
	}
	for _, e := range array.Elements {
		literal, ok := e.Value.(hujson.Literal)
		if !ok || literal.Kind() != '"' || literal.String() == "" {
			return nil, e.StartOffset
		}
		values = append(values, literal.String())
	}
	return values, -1
}

// position counts lines and columns (in bytes) from 1.
func position(data []byte, offset int) (line, column int) {
	before := data[:min(offset, len(data))]
	return bytes.Count(before, []byte{'\n'}) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

func (s *Settings) ownFilePath() string { return filepath.Join(s.ConfigDir, ownFileName) }
