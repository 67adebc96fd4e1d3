package gateway

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// inbound is any frame that a computer sends after its hello; type says which of the fields count.
type inbound struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Request   string          `json:"request"`
	OK        *bool           `json:"ok"`
	Payload   json.RawMessage `json:"payload"`
	Error     *inboundError   `json:"error"`
	Types     typeList        `json:"types"`
	TimeoutMs float64         `json:"timeoutMs"`
	T         json.Number     `json:"t"`
	Seq       float64         `json:"seq"`
	Last      bool            `json:"last"`
	Data      []byte          `json:"data"` // encoding/json reads base64 into it
}

type inboundError struct {
	Code          Code   `json:"code"`
	Message       string `json:"message"`
	MessageBase64 []byte `json:"messageBase64"`
}

// typeList is a list of request types. Lua cannot tell an empty list from an empty object, so {} counts as a list too;
// names that cannot be request types are left out rather than held against the whole computer.
type typeList []string

// UnmarshalJSON reads an array of strings, {} or null.
func (l *typeList) UnmarshalJSON(b []byte) error {
	*l = nil
	if string(b) == "{}" {
		return nil
	}
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return err
	}
	for _, name := range names {
		if validType(name) && len(*l) < maxServes {
			*l = append(*l, name)
		}
	}
	return nil
}

// decodeFrame reads one frame. The error names the field that is wrong, and never repeats a value: a frame may hold the
// password.
func decodeFrame(data []byte, into any) *Error {
	if !isASCII(data) && !utf8.Valid(data) {
		return newError(CodeBadRequest, "a frame is not valid utf-8")
	}
	err := json.Unmarshal(data, into)
	if err == nil {
		return nil
	}
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) && wrongType.Field != "" {
		return newError(CodeBadRequest, "the field ", cleanText(wrongType.Field, maxIDLength), " of a frame has the wrong type")
	}
	var corrupt base64.CorruptInputError
	if errors.As(err, &corrupt) {
		return newError(CodeBadRequest, "a field of a frame is not base64")
	}
	return newError(CodeBadRequest, "a frame is not a json object of the protocol")
}

func (e *inboundError) toError() *Error {
	if e == nil {
		return newError(CodeInternal, "the computer refused and gave no reason")
	}
	message := e.Message
	if len(e.MessageBase64) > 0 {
		message = string(e.MessageBase64)
	}
	return &Error{Code: knownCode(e.Code), Message: cleanText(message, maxErrorText)}
}

func validType(s string) bool { return printable(s, maxTypeLength) }
func validID(s string) bool   { return printable(s, maxIDLength) }

// printable reports whether s is 1 to limit bytes of printable ASCII.
func printable(s string, limit int) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// The encoders below write frames by hand: their fields are few and known, and a request's payload is ASCII already.

func appendChallenge(dst []byte, nonce string) []byte {
	dst = append(dst, `{"type":"challenge","nonce":`...)
	return append(appendString(dst, nonce), '}')
}

// appendHelloOK writes a hello_ok; proof may be empty.
func appendHelloOK(dst []byte, traposID string, heartbeatSeconds, maxFrameBytes int, proof string) []byte {
	dst = append(dst, `{"type":"hello_ok","traposId":`...)
	dst = appendString(dst, traposID)
	dst = append(dst, `,"heartbeatSeconds":`...)
	dst = strconv.AppendInt(dst, int64(heartbeatSeconds), 10)
	dst = append(dst, `,"maxFrameBytes":`...)
	dst = strconv.AppendInt(dst, int64(maxFrameBytes), 10)
	dst = append(dst, `,"maxInFlight":`...)
	dst = strconv.AppendInt(dst, maxInFlight, 10)
	if proof != "" {
		dst = append(dst, `,"proof":`...)
		dst = appendString(dst, proof)
	}
	return append(dst, '}')
}

func appendHelloError(dst []byte, e *Error) []byte {
	dst = append(dst, `{"type":"hello_error",`...)
	return append(appendErrorFields(dst, e), '}')
}

func appendErrorFields(dst []byte, e *Error) []byte {
	dst = append(dst, `"code":`...)
	dst = appendString(dst, string(e.Code))
	dst = append(dst, `,"message":`...)
	return appendString(dst, e.Message)
}

func appendRequest(dst []byte, id, request string, timeoutMs int64, payload []byte) []byte {
	dst = append(dst, `{"type":"server_request","id":`...)
	dst = appendString(dst, id)
	dst = append(dst, `,"request":`...)
	dst = appendString(dst, request)
	dst = append(dst, `,"timeoutMs":`...)
	dst = strconv.AppendInt(dst, timeoutMs, 10)
	dst = append(dst, `,"payload":`...)
	dst = append(dst, payload...)
	return append(dst, '}')
}

func appendResponse(dst []byte, id string, payload []byte) []byte {
	dst = append(dst, `{"type":"server_response","id":`...)
	dst = appendString(dst, id)
	dst = append(dst, `,"ok":true,"payload":`...)
	dst = append(dst, payload...)
	return append(dst, '}')
}

func appendErrorResponse(dst []byte, id string, e *Error) []byte {
	dst = append(dst, `{"type":"server_response","id":`...)
	dst = appendString(dst, id)
	dst = append(dst, `,"ok":false,"error":{`...)
	return append(appendErrorFields(dst, e), '}', '}')
}

func appendCancel(dst []byte, id string) []byte {
	dst = append(dst, `{"type":"cancel","id":`...)
	return append(appendString(dst, id), '}')
}

// appendPing writes a ping or a pong; t is a JSON number.
func appendPing(dst []byte, kind, t string) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, kind...)
	dst = append(dst, `","t":`...)
	dst = append(dst, t...)
	return append(dst, '}')
}

func appendChunk(dst []byte, stream string, seq int, last bool, data []byte) []byte {
	dst = append(dst, `{"type":"chunk","id":`...)
	dst = appendString(dst, stream)
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendInt(dst, int64(seq), 10)
	dst = append(dst, `,"last":`...)
	dst = strconv.AppendBool(dst, last)
	dst = append(dst, `,"data":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, data)
	return append(dst, '"', '}')
}

func appendChunkAck(dst []byte, stream string, seq int) []byte {
	dst = append(dst, `{"type":"chunk_ack","id":`...)
	dst = appendString(dst, stream)
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendInt(dst, int64(seq), 10)
	return append(dst, '}')
}

// requestEnvelope is more than a server_request holds besides its payload.
const requestEnvelope = 128 + 2*(maxIDLength+maxTypeLength)

// chunkEnvelope is the most that a chunk frame holds besides its data: the field names, a stream id of which every
// character is escaped to two, and ten digits of seq.
const chunkEnvelope = 64 + 2*maxIDLength + 10

// chunkDataBytes is how many bytes of a frame fit into one chunk frame of at most maxFrame bytes.
func chunkDataBytes(maxFrame int) int { return (maxFrame - chunkEnvelope) / 4 * 3 }
