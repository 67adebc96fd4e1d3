// Package watch tells when the content of files has changed, whatever saved them and whatever file system they are on.
//
// It is mechanics only: it knows paths and bytes, not what they mean. Two senses are combined. File events of the operating
// system, always on directories (an editor replaces a file, so that a watch on the file itself dies with the old one), say when to
// look; a poll that never sleeps longer than [MaxPoll] looks anyway, because events are silent on network file systems, bind mounts and
// WSL, when the limits of inotify are exhausted and when its queue overflows. What counts in the end is what a look finds: a path is
// reported when its content differs from the one that was reported last, so `touch`, identical bytes and a neighbour's temporary
// file are nothing, and one save is one report.
//
// Which directories are watched follows from how the kernel would resolve each path: the directory that holds the file, the directory of every
// symbolic link on the way and every directory along the chain of targets (a Kubernetes volume swaps `..data`), and, where something is missing, the
// nearest ancestor that exists. A directory that moves because one of its ancestors was renamed is noticed by the poll.
//
// A [Watcher] may be used from many goroutines at once. Goroutines (its own and those of fsnotify) live inside Run, which waits for them. It never writes,
// never opens what is not a regular file, and reads at most [MaxRead] bytes of one. It does not protect itself against a file
// system that hangs (a dead network mount): there, a look lasts as long as the kernel makes it last.
package watch
