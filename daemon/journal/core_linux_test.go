package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver is journald's end of the socket.
type receiver struct {
	t    *testing.T
	path string
	conn *net.UnixConn
	buf  [1 << 17]byte
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	dir, err := os.MkdirTemp("", "jo") // short: a socket's path has little room
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &receiver{t: t, path: filepath.Join(dir, "s")}
	if r.conn, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: r.path, Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.conn.Close() })
	return r
}

// next reads and takes apart one message.
func (r *receiver) next() map[string]string {
	r.t.Helper()
	if err := r.conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		r.t.Fatal(err)
	}
	data, oob := r.buf[:], make([]byte, 256)
	n, oobn, _, _, err := r.conn.ReadMsgUnix(data, oob)
	if err != nil {
		r.t.Fatal(err)
	}
	data = data[:n]
	if oobn > 0 {
		data = r.file(oob[:oobn])
	}
	fields := map[string]string{}
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		if name, value, plain := strings.Cut(string(data[:end]), "="); plain {
			fields[name] = value
			data = data[end+1:]
			continue
		}
		size := binary.LittleEndian.Uint64(data[end+1:])
		value := data[end+9 : uint64(end)+9+size]
		fields[string(data[:end])] = string(value)
		data = data[uint64(end)+9+size+1:]
	}
	return fields
}

// file reads the file that came with a message, which must be sealed.
func (r *receiver) file(oob []byte) []byte {
	r.t.Helper()
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		r.t.Fatal(err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		r.t.Fatal(err)
	}
	file := os.NewFile(uintptr(fds[0]), "entry")
	defer func() { _ = file.Close() }()
	const want = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL
	if seals, err := unix.FcntlInt(file.Fd(), unix.F_GET_SEALS, 0); err != nil || seals != want {
		r.t.Errorf("seals %x %v", seals, err)
	}
	data, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<30))
	if err != nil {
		r.t.Fatal(err)
	}
	return data
}

func newCore(t *testing.T, path string, fallback io.Writer) *Core {
	t.Helper()
	core, err := New(Options{
		Level: zap.DebugLevel, Socket: path, Identifier: "traposd", Fallback: fallback,
		Events:  map[string]Event{"server ended": {"server_failed", "8fb1a0c727014d8b9742d607b8ec633a"}},
		Encoder: zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "msg"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return core
}

func TestCoreSpeaksTheNativeProtocol(t *testing.T) {
	r := newReceiver(t)
	core := newCore(t, r.path, nil)
	defer func() { _ = core.Close() }()
	log := zap.New(core, zap.AddCaller()).Named("upstream").With(zap.String("server", "github"))
	log.Warn("server ended", zap.String("err", "exit 1\nand more"), zap.Int("restarts", 3))
	got := r.next()
	for name, want := range map[string]string{
		"MESSAGE": `server ended err="exit 1\nand more" restarts=3 server=github`, "PRIORITY": "4", "SYSLOG_IDENTIFIER": "traposd",
		"EVENT": "server_failed", "MESSAGE_ID": "8fb1a0c727014d8b9742d607b8ec633a", "LOGGER": "upstream",
		"SERVER": "github", "ERR": "exit 1\nand more", "RESTARTS": "3",
	} {
		if got[name] != want {
			t.Errorf("%s=%q, want %q", name, got[name], want)
		}
	}
	if !strings.HasSuffix(got["CODE_FILE"], "core_linux_test.go") || got["CODE_LINE"] == "" {
		t.Errorf("code: %q %q", got["CODE_FILE"], got["CODE_LINE"])
	}
	log.Info("other")
	if got := r.next(); got["EVENT"] != "" || got["MESSAGE"] != "other server=github" || got["PRIORITY"] != "6" {
		t.Errorf("%v", got)
	}
}

func TestLargeAndBinaryValuesArriveWhole(t *testing.T) {
	r := newReceiver(t)
	core := newCore(t, r.path, nil)
	defer func() { _ = core.Close() }()
	log := zap.New(core)
	raw := strings.Repeat("\x00\xff\n=", 1<<19) // 2 MiB, beyond any datagram
	log.Info("large", zap.Binary("raw", []byte(raw)))
	log.Info("after")
	if got := r.next(); got["RAW"] != raw || got["MESSAGE"] == "" {
		t.Errorf("%d bytes arrive of %d", len(got["RAW"]), len(raw))
	}
	if got := r.next(); got["MESSAGE"] != "after" {
		t.Errorf("%v", got)
	}
}

func TestAStoppedJournaldLosesAndBlocksNothing(t *testing.T) {
	r := newReceiver(t)
	core := newCore(t, r.path, nil)
	defer func() { _ = core.Close() }()
	log := zap.New(core)
	const count = 5000 // more than any socket's backlog
	for i := range count {
		log.Info("entry", zap.Int("n", i))
	}
	for i := range count {
		if got := r.next(); got["N"] != text(int64(i)) {
			t.Fatalf("entry %d is %v", i, got)
		}
	}
	if err := core.Sync(); err != nil {
		t.Error(err)
	}
}

func TestAJournaldThatIsGoneLeavesTheFallback(t *testing.T) {
	r := newReceiver(t)
	var out bytes.Buffer
	core := newCore(t, r.path, &out)
	log := zap.New(core).With(zap.String("server", "github"))
	log.Info("before")
	r.next()
	_ = r.conn.Close()
	_ = os.Remove(r.path)
	log.Info("after")
	if err := core.Sync(); err != nil {
		t.Error(err)
	}
	if out.String() != `{"msg":"after","server":"github"}`+"\n" {
		t.Errorf("fallback: %q", out.String())
	}
	if err := core.Close(); err != nil {
		t.Error(err)
	}
	log.Info("closed")
	if err := core.Sync(); err != nil || !strings.Contains(out.String(), "closed") {
		t.Errorf("after Close: %v %q", err, out.String())
	}
}

func TestNoJournald(t *testing.T) {
	if _, err := New(Options{Level: zap.InfoLevel, Socket: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
