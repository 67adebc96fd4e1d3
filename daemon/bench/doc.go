// Package bench measures the gateway on this machine, for `traposd bench gateway`: a gateway in this process, on a free
// loopback port, and many computers in another process, which are pure Go and cost as little as they can.
//
// It is for finding out what a machine can do, not for tests: everything it does is bounded by Options, takes what the
// machine has, and is told in a Report. It starts one process, of this program, and waits for it.
package bench
