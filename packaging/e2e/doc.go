// Package e2e holds the end-to-end tests: the built program with real MCP servers and clients from npm, and real child
// processes. They are built with the tag e2e only, since they need what packaging/e2e/setup installs; E2E_DIR names that
// folder.
package e2e
