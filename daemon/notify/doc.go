// Package notify tells the service manager how the service is (sd_notify(3)) and takes the sockets that it has bound for
// it (sd_listen_fds(3)). Where there is no such manager, every call is nothing. All methods of a Notifier may be called
// concurrently.
package notify
