// Package journal is a zap core that speaks journald's native protocol (systemd's "Native Journal Protocol"): real
// priorities, a field of its own for each field of an entry, values of any size and with any bytes.
//
// Writing never blocks: an entry that journald does not take at once waits in a queue with a bound, and a goroutine that
// lives only as long as something waits brings it there. Where journald is gone, entries go to the fallback, which is the
// service's stderr. A Core may be used by any number of goroutines.
package journal
