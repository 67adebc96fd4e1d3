// Package tokens measures in tokens what clients are given to read. It consists of tests alone, apart from package mcp's own
// because the vocabulary that they count with takes long to compile.
package tokens
