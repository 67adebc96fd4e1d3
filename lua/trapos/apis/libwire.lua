-- The frames of gateway protocol 1 that need more than one message: cutting a long frame into chunks and joining them again.
-- Pure: sends nothing, waits for nothing.

local base64 = require("/apis/libbase64")
local json = require("/apis/libjson")

local wire = {}

wire.PROTOCOL = 1
-- Bytes of one frame until hello_ok says otherwise.
wire.MAX_FRAME = 65536
-- What hello_ok may say: the protocol's least, and what the game takes by default.
wire.MIN_FRAME, wire.MAX_MESSAGE = 1024, 131072
-- Bytes of one joined frame; more is refused with too_large.
wire.MAX_JOINED = 2 * 1024 * 1024
-- Chunks that a sender may have under way without an answer.
wire.MAX_UNACKED = 4
-- Bytes of an id, and of the name of a request type.
local MAX_ID = 64
-- Frames that may arrive in chunks at the same time; the gateway sends one at a time.
local MAX_STREAMS = 4
-- What a chunk frame needs beside its data.
local CHUNK_OVERHEAD = 160

--- Whether a value from the wire is an id (or the name of a request type): 1 to 64 printable ASCII characters.
function wire.isId(value)
  return type(value) == "string" and #value >= 1 and #value <= MAX_ID and json.isPlain(value)
end

--- The frame limit that a hello_ok sets; what is out of the protocol's range is brought into it.
function wire.frameLimit(value)
  if type(value) ~= "number" or value ~= value then
    return wire.MAX_FRAME
  end
  return math.floor(math.max(wire.MIN_FRAME, math.min(value, wire.MAX_MESSAGE)))
end

local Stream = {}
Stream.__index = Stream

--- Cuts a long frame into a stream of chunks. id names the stream: the id of the request or response inside, so that a cancel
--- ends both.
function wire.split(id, text, maxFrame)
  local base64Bytes = maxFrame - CHUNK_OVERHEAD
  return setmetatable({
    id = id,
    text = text,
    quantity = (base64Bytes - base64Bytes % 4) / 4 * 3, -- bytes of text in one chunk
    seq = 0,
    from = 1,
    acknowledged = 0,
  }, Stream)
end

--- The text of the next chunk frame, or nil at the end.
function Stream:next()
  if self:done() then
    return nil
  end
  local to = math.min(self.from + self.quantity - 1, #self.text)
  local frame = json.encode({
    type = "chunk",
    id = self.id,
    seq = self.seq,
    last = to == #self.text,
    data = base64.encode(self.text:sub(self.from, to)),
  })
  self.seq, self.from = self.seq + 1, to + 1
  return frame
end

function Stream:done()
  return self.from > #self.text
end

--- The receiver has chunk number seq, and those before it.
function Stream:acknowledge(seq)
  if type(seq) == "number" and seq < self.seq then
    self.acknowledged = math.max(self.acknowledged, seq + 1)
  end
end

--- How many chunks are out and not acknowledged.
function Stream:unacked()
  return self.seq - self.acknowledged
end

-- What the beginning of a frame says about itself, so that its request can be answered when the rest is refused.
local function peek(text)
  return text:match('"type"%s*:%s*"([%w_]+)"'), text:match('"id"%s*:%s*"([^"\\]*)"')
end

local Joiner = {}
Joiner.__index = Joiner

--- Joins chunks to frames.
function wire.joiner()
  return setmetatable({ streams = {}, clock = 0 }, Joiner)
end

-- A stream in the place of one of the same id; the one left alone the longest gives way when there are too many.
local function begin(streams, id)
  local count, oldest = 0, nil
  for other, stream in pairs(streams) do
    count = count + 1
    if not oldest or stream.touched < streams[oldest].touched then
      oldest = other
    end
  end
  if count >= MAX_STREAMS and not streams[id] then
    streams[oldest] = nil
  end
  streams[id] = { parts = {}, size = 0, seq = 0 }
  return streams[id]
end

local function refuse(stream, code, message)
  stream.parts = {}
  stream.refusal = { error = code, message = message, kind = stream.kind, request = stream.request }
end

local function take(stream, frame)
  if frame.seq ~= stream.seq then
    return refuse(stream, "bad_request", "a chunk was lost on the way; send it again")
  end
  local data = base64.decode(frame.data)
  if not data then
    return refuse(stream, "bad_request", "a chunk is not base64")
  end
  if stream.seq == 0 then
    stream.kind, stream.request = peek(data)
  end
  stream.seq = stream.seq + 1
  stream.size = stream.size + #data
  if stream.size > wire.MAX_JOINED then
    return refuse(stream, "too_large", "a computer takes at most " .. wire.MAX_JOINED .. " bytes at once")
  end
  stream.parts[stream.seq] = data
end

--- Takes a chunk frame. Returns a table:
---   {ack=true}     one more chunk is expected: acknowledge this one;
---   {text=...}     the frame is whole;
---   {error=code, message=..., kind=..., request=id}   it is at its end and was refused;
---   {}             nothing is to be done.
function Joiner:add(frame)
  if not wire.isId(frame.id) then
    return {}
  end
  local stream = frame.seq == 0 and begin(self.streams, frame.id) or self.streams[frame.id]
  if not stream then
    return {}
  end
  self.clock = self.clock + 1
  stream.touched = self.clock
  if not stream.refusal then
    take(stream, frame)
  end
  if frame.last ~= true then
    return { ack = true }
  end
  self.streams[frame.id] = nil
  return stream.refusal or { text = table.concat(stream.parts) }
end

--- Drops a stream that was cancelled.
function Joiner:forget(id)
  if id ~= nil then
    self.streams[id] = nil
  end
end

--- Drops all streams.
function Joiner:reset()
  self.streams = {}
end

return wire
