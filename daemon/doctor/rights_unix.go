//go:build unix

package doctor

// privateRights tells whether a file's mode says who may read it.
const privateRights = true
