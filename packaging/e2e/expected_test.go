//go:build e2e

package e2e

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

const expectedFile = "conformance-expected.txt"

// expectation is one line of conformance-expected.txt: a check that fails, in which combinations, and why it has to.
type expectation struct {
	suite, server string // patterns as of path.Match
	check         string
	line          int
}

func (e expectation) matches(suite, server string) bool {
	ofSuite, _ := path.Match(e.suite, suite)
	ofServer, _ := path.Match(e.server, server)
	return ofSuite && ofServer
}

type expectations []expectation

// judge fails the test for what fails and is not listed, and for what is listed and does not fail.
func (list expectations) judge(t *testing.T, suite, server string, failures []check) {
	t.Helper()
	for _, f := range failures {
		if !slices.ContainsFunc(list, func(e expectation) bool { return e.check == f.ID && e.matches(suite, server) }) {
			t.Errorf("client %s, server %s: %s: %s", suite, server, f.ID, f.ErrorMessage)
		}
	}
	for _, e := range list {
		if e.matches(suite, server) && !slices.ContainsFunc(failures, func(f check) bool { return f.ID == e.check }) {
			t.Errorf("client %s, server %s: %s passes; take it out of %s, line %d", suite, server, e.check, expectedFile, e.line)
		}
	}
}

// readExpected reads the file; every line must give a reason.
func readExpected(t *testing.T) (list expectations) {
	t.Helper()
	data, err := os.ReadFile(expectedFile)
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		what, reason, _ := strings.Cut(line, ":")
		fields := strings.Fields(what)
		if len(fields) != 3 || strings.TrimSpace(reason) == "" {
			t.Fatalf("%s, line %d: want `suite server check: reason`", expectedFile, number)
		}
		for _, pattern := range fields[:2] {
			if _, err := path.Match(pattern, ""); err != nil {
				t.Fatalf("%s, line %d: %v", expectedFile, number, err)
			}
		}
		list = append(list, expectation{suite: fields[0], server: fields[1], check: fields[2], line: number})
	}
	return list
}
