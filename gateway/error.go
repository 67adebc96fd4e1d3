package gateway

import "strings"

// Code says why a request, or a hello, failed. The values go over the wire as they are.
type Code string

// The codes of protocol version 1.
const (
	CodeUnknownType         Code = "unknown_type"         // the computer does not serve this type of request
	CodeBadRequest          Code = "bad_request"          // malformed, or it names more than one computer
	CodeUnauthorized        Code = "unauthorized"         // wrong password, or not allowed here
	CodeUnsupportedProtocol Code = "unsupported_protocol" // the computer's programs and this gateway differ
	CodeUnknownComputer     Code = "unknown_computer"     // no such computer is connected
	CodeDisconnected        Code = "disconnected"         // the connection broke, or the computer rebooted, before it answered
	CodeTimeout             Code = "timeout"              // no answer in time
	CodeCancelled           Code = "cancelled"            // the caller gave up
	CodeBusy                Code = "busy"                 // a queue or a limit is full; nothing was sent
	CodeTooLarge            Code = "too_large"            // the payload is above a limit
	CodeDuplicate           Code = "duplicate"            // two computers claim one identity, or two requests one id
	CodeInternal            Code = "internal"             // none of the above
)

// Error is a coded failure. It matches the sentinel of its code, and any other *Error of that code that has no message,
// under errors.Is.
type Error struct {
	Code    Code
	Message string // for people: lower case, one line
	cause   error
}

// One sentinel per code, for errors.Is.
var (
	ErrUnknownType         error = &Error{Code: CodeUnknownType}
	ErrBadRequest          error = &Error{Code: CodeBadRequest}
	ErrUnauthorized        error = &Error{Code: CodeUnauthorized}
	ErrUnsupportedProtocol error = &Error{Code: CodeUnsupportedProtocol}
	ErrUnknownComputer     error = &Error{Code: CodeUnknownComputer}
	ErrDisconnected        error = &Error{Code: CodeDisconnected}
	ErrTimeout             error = &Error{Code: CodeTimeout}
	ErrCancelled           error = &Error{Code: CodeCancelled}
	ErrBusy                error = &Error{Code: CodeBusy}
	ErrTooLarge            error = &Error{Code: CodeTooLarge}
	ErrDuplicate           error = &Error{Code: CodeDuplicate}
	ErrInternal            error = &Error{Code: CodeInternal}
)

// Error gives the message and the code.
func (e *Error) Error() string {
	if e.Message == "" {
		return "gateway: " + string(e.Code)
	}
	return e.Message + " (" + string(e.Code) + ")"
}

// Is reports whether target is the sentinel of e's code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Message == ""
}

// Unwrap gives the context's error for timeout and cancelled, so that errors.Is(err, context.Canceled) holds.
func (e *Error) Unwrap() error { return e.cause }

func newError(code Code, parts ...string) *Error {
	return &Error{Code: code, Message: strings.Join(parts, "")}
}

// knownCode maps a code that came from a computer onto ours; a computer's programs may invent others.
func knownCode(c Code) Code {
	switch c {
	case CodeUnknownType, CodeBadRequest, CodeUnauthorized, CodeUnsupportedProtocol, CodeUnknownComputer, CodeDisconnected,
		CodeTimeout, CodeCancelled, CodeBusy, CodeTooLarge, CodeDuplicate:
		return c
	default:
		return CodeInternal
	}
}

// Close codes, RFC 6455 section 7.4.2 "private use". The reason is the message of the error, cut to 123 bytes.
const (
	closeBadRequest   = 4400
	closeUnauthorized = 4401
	closeTimeout      = 4408
	closeDuplicate    = 4409
	closeTooLarge     = 4413
	closeBusy         = 4429
)

func closeCodeOf(c Code) int {
	switch c {
	case CodeUnauthorized:
		return closeUnauthorized
	case CodeTimeout:
		return closeTimeout
	case CodeDuplicate:
		return closeDuplicate
	case CodeTooLarge:
		return closeTooLarge
	case CodeBusy:
		return closeBusy
	default:
		return closeBadRequest
	}
}
