package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
)

// lineReader reads newline-terminated lines of bounded length. Not safe for concurrent use.
type lineReader struct {
	r     *bufio.Reader
	limit int
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, lineBuffer), limit: limit}
}

// lineBuffer holds most lines whole, so that they are copied once.
const lineBuffer = 16 << 10

// edgeBytes is how much of both ends of a line above the limit is kept.
const edgeBytes = 4 << 10

// next returns the next line without its end, in memory of its own. Of a line above the limit, cut is true and only the
// first and the last edgeBytes are there. The last line needs no newline; err may come with it.
func (l *lineReader) next() (line []byte, cut bool, err error) {
	chunk, err := l.r.ReadSlice('\n')
	line = bytes.Clone(chunk)
	for errors.Is(err, bufio.ErrBufferFull) {
		chunk, err = l.r.ReadSlice('\n')
		if !cut && len(line)+len(chunk) > l.limit {
			cut = true
			line = line[:edgeBytes:edgeBytes] // another array at the next append, so that the long one is freed
		}
		line = append(line, chunk...)
		if cut && len(line) > 2*lineBuffer {
			line = append(line[:edgeBytes], line[len(line)-edgeBytes:]...)
		}
	}
	if cut && len(line) > 2*edgeBytes {
		line = append(line[:edgeBytes], line[len(line)-edgeBytes:]...)
	}
	return bytes.TrimRight(line, "\r\n"), cut, err
}

// Where an id of ours stands in the messages that the usual libraries write: before the result, or after it.
var (
	idAtStart = regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,18})"?\s*,`)
	idAtEnd   = regexp.MustCompile(`,\s*"id"\s*:\s*"?(\d{1,18})"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
)

// idOfCut finds out which call a line above the limit answers, if its ends tell.
func idOfCut(line []byte) (int64, bool) {
	for _, pattern := range []*regexp.Regexp{idAtStart, idAtEnd} {
		if m := pattern.FindSubmatch(line); m != nil {
			return parseID(m[1])
		}
	}
	return 0, false
}
