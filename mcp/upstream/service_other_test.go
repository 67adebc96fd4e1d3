//go:build !linux

package upstream

func service() {}

func serviceUnderEdits() {}
