// Package wire is JSON-RPC 2.0 as a relay needs it: messages whose params, results and ids stay the raw JSON that came
// in, and edits of single members that leave every other byte alone.
//
// Everything here is a pure function of its arguments and safe for concurrent use. It does not know any method of the
// Model Context Protocol, does no input or output, and never decodes a value that it does not route on: that is how a
// 64-bit integer, an unknown field or an odd id comes out as it went in.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/bits"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Error is the error member of a response. It is the official SDK's type, so that errors.As works across both.
type Error = jsonrpc.Error

// Codes of JSON-RPC 2.0, section 5.1.
const (
	CodeParseError     = jsonrpc.CodeParseError
	CodeInvalidRequest = jsonrpc.CodeInvalidRequest
	CodeMethodNotFound = jsonrpc.CodeMethodNotFound
	CodeInvalidParams  = jsonrpc.CodeInvalidParams
	CodeInternalError  = jsonrpc.CodeInternalError
)

// Message is one JSON-RPC 2.0 message: a request (Method and ID), a notification (Method, no ID) or a response (ID, and
// Result or Error). The SDK's own message types are not used because their ids pass through float64: 1.5 and
// 9007199254740993 would come back changed.
type Message struct {
	ID     json.RawMessage // the number or string as it was written; nil: no id (a notification), or a null id in an error response
	Method string          // empty: a response
	Params json.RawMessage // nil: absent
	Result json.RawMessage // nil: absent
	Error  *Error          // nil: absent
}

// IsRequest reports whether m asks for an answer.
func (m *Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsNotification reports whether m is to be handled without an answer.
func (m *Message) IsNotification() bool { return m.Method != "" && m.ID == nil }

// IsResponse reports whether m answers an earlier request.
func (m *Message) IsResponse() bool { return m.Method == "" }

// Errorf makes an error of the given code.
func Errorf(code int64, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Response answers the request of that id with a result.
func Response(id, result json.RawMessage) *Message { return &Message{ID: id, Result: result} }

// ErrorResponse answers the request of that id with an error; a nil id is written as null (JSON-RPC 2.0, section 5).
func ErrorResponse(id json.RawMessage, err *Error) *Message { return &Message{ID: id, Error: err} }

// Parse reads one message. Member names are case-sensitive and none of the envelope's may be given twice: a proxy and the
// server behind it must never read one message in two ways. Unknown members of the envelope are ignored.
//
// The parts of the message share data's memory. The error is a *Error: CodeParseError if data is not JSON,
// CodeInvalidRequest if it is not a message. In the second case the message returned holds the id if there was one, so
// that the answer can carry it.
func Parse(data []byte) (*Message, error) {
	if !json.Valid(data) {
		return &Message{}, Errorf(CodeParseError, "not valid JSON")
	}
	m := &Message{}
	if Kind(data) != '{' {
		return m, Errorf(CodeInvalidRequest, "a JSON-RPC message must be an object")
	}
	var e envelope
	w := walkOf(data)
	for part, ok := w.next(); ok; part, ok = w.next() {
		value := json.RawMessage(data[part.valueStart:part.valueEnd:part.valueEnd])
		if err := e.take(m, memberOf(data[part.keyStart:part.keyEnd]), value); err != nil {
			return m, err
		}
	}
	return m, e.check(m)
}

// envelope is the set of the members of a message that have been seen.
type envelope uint8

const (
	hasVersion envelope = 1 << iota
	hasID
	hasMethod
	hasParams
	hasResult
	hasError
)

// memberOf tells which member of the envelope a raw key names; 0 for any other.
func memberOf(raw []byte) envelope {
	key := raw[1 : len(raw)-1]
	if bytes.IndexByte(key, '\\') >= 0 {
		s, _ := String(raw)
		key = []byte(s)
	}
	switch string(key) {
	case "jsonrpc":
		return hasVersion
	case "id":
		return hasID
	case "method":
		return hasMethod
	case "params":
		return hasParams
	case "result":
		return hasResult
	case "error":
		return hasError
	}
	return 0
}

// names of the members, in the order of their bits.
var names = [...]string{"jsonrpc", "id", "method", "params", "result", "error"}

func (e *envelope) take(m *Message, which envelope, value json.RawMessage) error {
	if *e&which != 0 {
		return Errorf(CodeInvalidRequest, "%q is given twice", names[bits.TrailingZeros8(uint8(which))])
	}
	*e |= which
	switch which {
	case hasVersion:
		if string(value) != `"2.0"` {
			return Errorf(CodeInvalidRequest, `"jsonrpc" must be "2.0"`)
		}
	case hasID:
		switch Kind(value) {
		case '"', '0':
			m.ID = value
		case 'n':
		default:
			return Errorf(CodeInvalidRequest, `"id" must be a string or a number`)
		}
	case hasMethod:
		s, ok := String(value)
		if !ok || s == "" {
			return Errorf(CodeInvalidRequest, `"method" must be a string that is not empty`)
		}
		m.Method = s
	case hasParams:
		switch Kind(value) {
		case '{', '[':
			m.Params = value
		case 'n':
		default:
			return Errorf(CodeInvalidRequest, `"params" must be an object or an array`)
		}
	case hasResult:
		m.Result = value
	case hasError:
		return m.takeError(value)
	}
	return nil
}

func (m *Message) takeError(value json.RawMessage) error {
	switch Kind(value) {
	case 'n':
		return nil
	case '{':
	default:
		return Errorf(CodeInvalidRequest, `"error" must be an object`)
	}
	m.Error = &Error{}
	for key, part := range Members(value) {
		switch key {
		case "code":
			if err := json.Unmarshal(part, &m.Error.Code); err != nil {
				return Errorf(CodeInvalidRequest, `"error.code" must be an integer`)
			}
		case "message":
			m.Error.Message, _ = String(part)
		case "data":
			m.Error.Data = part
		}
	}
	return nil
}

func (e envelope) check(m *Message) error {
	switch {
	case e&hasVersion == 0:
		return Errorf(CodeInvalidRequest, `"jsonrpc": "2.0" is missing`)
	case e&hasMethod != 0 && e&(hasResult|hasError) != 0:
		return Errorf(CodeInvalidRequest, "a message is a request or a response, not both")
	case e&hasMethod == 0 && m.Result == nil && m.Error == nil:
		return Errorf(CodeInvalidRequest, `neither "method" nor "result" nor "error" is given`)
	case e&hasMethod == 0 && m.Result != nil && m.Error != nil:
		return Errorf(CodeInvalidRequest, `a response has "result" or "error", not both`)
	case e&hasMethod != 0 && e&hasID != 0 && m.ID == nil:
		return Errorf(CodeInvalidRequest, `"id" must not be null in a request`)
	}
	return nil
}

// Append writes m in its shortest form after dst, on one line if its parts are on one line each, and returns the whole.
func (m *Message) Append(dst []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	switch {
	case m.ID != nil:
		dst = append(append(dst, `,"id":`...), m.ID...)
	case m.Method == "":
		dst = append(dst, `,"id":null`...)
	}
	if m.Method != "" {
		dst = AppendString(append(dst, `,"method":`...), m.Method)
		if m.Params != nil {
			dst = append(append(dst, `,"params":`...), m.Params...)
		}
	} else if m.Error != nil {
		dst = append(dst, `,"error":{"code":`...)
		dst = strconv.AppendInt(dst, m.Error.Code, 10)
		dst = AppendString(append(dst, `,"message":`...), m.Error.Message)
		if m.Error.Data != nil {
			dst = append(append(dst, `,"data":`...), m.Error.Data...)
		}
		dst = append(dst, '}')
	} else {
		result := m.Result
		if result == nil {
			result = json.RawMessage(`{}`)
		}
		dst = append(append(dst, `,"result":`...), result...)
	}
	return append(dst, '}')
}
