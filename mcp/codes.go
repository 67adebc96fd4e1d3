package mcp

import "github.com/traposd/traposd/mcp/wire"

// Error codes of this program. They lie outside JSON-RPC's reserved range (-32768 to -32000), where revision 2026-07-28,
// basic, "Error Codes", wants new ones to be.
//
//	code    name                what it means                                         what to do
//	-31010  ServerStarting      the server is configured but not ready yet            try again in a few seconds
//	-31011  ServerDown          the server is stopped, crashed or unreachable; the    see `traposd servers`; it is retried
//	                            message gives its reason                              by itself
//	-31012  Timeout             the server did not answer in its time limit           raise `timeout`, or ask for less
//	-31013  Cancelled           the asker, or the service's stop, ended the call      nothing
//	-31014  TooLarge            a message is above a size limit, which is named       ask for less
//	-31015  ClientCannot        a server asked something (sampling, elicitation,      use a client that can
//	                            roots) that this client cannot answer
//	-31016  Busy                a bound on sessions, streams or calls is reached      close some, or try again later
//	-31017  NeedsAuthorization  the server refuses our credentials                    mend the headers of its entry
//	-31018  UnknownSession      no such session (it expired, or the service           initialize again
//	                            restarted); HTTP status 404
//	-31019  Refused             the guard refused the request; the message names      see the message
//	                            the header; HTTP status 403, 401, 413 or 415
//	-31020  ToolHidden          a filter in traposd.json hides the tool from this     change that filter, if the tool is
//	                            client; the message says which and where              meant to be there
const (
	CodeServerStarting     int64 = -31010
	CodeServerDown         int64 = -31011
	CodeTimeout            int64 = -31012
	CodeCancelled          int64 = -31013
	CodeTooLarge           int64 = -31014
	CodeClientCannot       int64 = -31015
	CodeBusy               int64 = -31016
	CodeNeedsAuthorization int64 = -31017
	CodeUnknownSession     int64 = -31018
	CodeRefused            int64 = -31019
	CodeToolHidden         int64 = -31020
)

// Error codes of the Model Context Protocol.
const (
	CodeResourceNotFound   int64 = -32002 // session revisions: no resource of that uri; 2026-07-28 uses CodeInvalidParams
	CodeHeaderMismatch     int64 = -32020 // 2026-07-28: a header is missing or says something else than the body; HTTP status 400
	CodeMissingCapability  int64 = -32021 // 2026-07-28: the client did not declare a capability that the request needs; HTTP status 400
	CodeUnsupportedVersion int64 = -32022 // 2026-07-28: data lists the supported revisions; HTTP status 400
	CodeURLElicitation     int64 = -32042 // 2025-11-25: the client must have the user visit a URL first
)

// Error codes of JSON-RPC 2.0, section 5.1, under the same prefix as the others.
const (
	CodeParseError     int64 = wire.CodeParseError
	CodeInvalidRequest int64 = wire.CodeInvalidRequest
	CodeMethodNotFound int64 = wire.CodeMethodNotFound
	CodeInvalidParams  int64 = wire.CodeInvalidParams
	CodeInternalError  int64 = wire.CodeInternalError
)
