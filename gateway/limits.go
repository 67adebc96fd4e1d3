package gateway

import "time"

// protocolVersion is the only protocol that this gateway speaks. PROTOCOL.md is its text.
const protocolVersion = 1

// Defaults of Options.
const (
	defaultHelloTimeout   = 5 * time.Second
	defaultHeartbeat      = 15 * time.Second
	defaultUnresponsive   = 45 * time.Second
	defaultDrop           = 5 * time.Minute
	defaultReconnectGrace = 5 * time.Second
	defaultMaxFrameBytes  = 64 << 10 // CC:Tweaked takes 131,072 by default, and older versions 65,536
	defaultMaxAssembled   = 8 << 20
	defaultMaxComputers   = 16384
	defaultQueueLength    = 256
	defaultRequestTimeout = 60 * time.Second // when the caller's context has no deadline
)

// Bounds that nobody has needed to change.
const (
	minFrameBytes = 1 << 10 // below it, the envelope of a chunk would take more room than its data

	// maxInFlight bounds the requests that a computer has not provably consumed. CC:Tweaked queues 256 events per computer
	// and drops the rest without a word, so it must stay far below that, whatever else the computer receives.
	maxInFlight = 8
	// chunkWindow bounds the chunks of one stream that its receiver has not acknowledged, for the same reason.
	chunkWindow = 4
	// maxComputerAssembled is what a computer assembles from chunks (its disk holds 1,000,000 bytes).
	maxComputerAssembled = 2 << 20
	// maxStreams bounds the chunked frames that one computer sends us at a time.
	maxStreams = 4
	// maxAssemblingTotal bounds the partly received frames of all computers together.
	maxAssemblingTotal = 256 << 20
	// maxDiscarded bounds what is read of a frame that is too large already, before its sender is cut off.
	maxDiscarded = 64 << 20

	// maxAsked bounds the requests of one computer that are being answered, or whose answers wait to be written.
	maxAsked = 32
	// maxControl bounds the small frames that wait to be written; when it is reached we read no further.
	maxControl = 256

	// A computer may send this many frames that answer nothing, per second and at once; what is above waits in its socket.
	unsolicitedPerSecond = 1000
	unsolicitedBurst     = 2000

	maxServes      = 64   // request types that one computer advertises
	maxTypeLength  = 64   // bytes of a request type
	maxIDLength    = 64   // bytes of a request or stream id
	maxLabelLength = 64   // characters; the game allows 32
	maxBootLength  = 64   // bytes of a boot nonce
	maxAgentLength = 128  // bytes
	maxErrorText   = 4096 // bytes of an error message that came from a computer
	maxComputerID  = 1<<53 - 1
	maxSuperseded  = 4 // boots that are remembered per computer, see Registry.attach

	// A gateway may see all its computers connect at the same time, and some that it refuses.
	pendingReserve = 256

	closeGrace      = time.Second // from our close frame to the end of the connection
	closeDrainBytes = 4 << 20     // what is read and thrown away meanwhile, so that no reset overtakes the close frame
	maxCloseReason  = 123         // bytes, RFC 6455 section 5.5
)
