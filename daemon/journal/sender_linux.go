package journal

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// sendBuffer is what the socket may hold of messages that journald has not read; the system may allow less.
	sendBuffer = 8 << 20

	// maxDatagram is the largest message that is tried as a datagram: the kernel wants it in one piece of memory.
	maxDatagram = 64 << 10
)

// sender is an unconnected datagram socket: a journald that was restarted is found again by its path.
type sender struct {
	conn *net.UnixConn
	raw  syscall.RawConn
	to   *unix.SockaddrUnix
}

func newSender(path string) (*sender, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("no journald: %w", err)
	}
	// Without a name of its own: journald has the process's credentials from the kernel.
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("the socket to journald: %w", err)
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	_ = conn.SetWriteBuffer(sendBuffer)
	return &sender{conn: conn, raw: raw, to: &unix.SockaddrUnix{Name: path}}, nil
}

// deliver sends one message, as a datagram if it fits and as a sealed file in memory if not.
func (s *sender) deliver(data []byte) error {
	if len(data) > maxDatagram {
		return busyOr(s.sendFile(data))
	}
	err := s.send(data, nil)
	if errors.Is(err, unix.EMSGSIZE) || errors.Is(err, unix.ENOBUFS) {
		err = s.sendFile(data)
	}
	return busyOr(err)
}

func busyOr(err error) error {
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return errBusy
	}
	return err
}

// send never waits: the socket's turn to be writable is the queue's business.
func (s *sender) send(data, control []byte) error {
	var sendErr error
	err := s.raw.Write(func(fd uintptr) bool {
		sendErr = unix.Sendmsg(int(fd), data, control, s.to, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		return true
	})
	return errors.Join(err, sendErr)
}

func (s *sender) sendFile(data []byte) error {
	fd, err := unix.MemfdCreate("traposd-journal", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), "journal entry")
	defer func() { _ = file.Close() }()
	if _, err := file.Write(data); err != nil {
		return err
	}
	// journald maps the file, and takes it only if nobody can change it under its hands.
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE|unix.F_SEAL_SEAL); err != nil {
		return err
	}
	return s.send(nil, unix.UnixRights(int(file.Fd())))
}

func (s *sender) close() error { return s.conn.Close() }
