// Package service installs traposd as a service of the operating system and drives it: systemd, launchd, and the service
// control manager of Windows. What is written (units, property lists) is rendered by pure functions of a Spec. The package
// asks nothing, starts no goroutine that outlives a call, and knows nothing of what the service does. A Manager may be used
// by one goroutine at a time.
package service
