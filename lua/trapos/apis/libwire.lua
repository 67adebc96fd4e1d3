-- The frames of gateway protocol 1 that need more than one message: cutting a long frame into chunks and joining them again.
-- Pure: sends nothing, waits for nothing.

local base64 = require("/apis/libbase64")
local json = require("/apis/libjson")

local wire = {}

wire.PROTOCOL = 1
-- Bytes of one frame until hello_ok says otherwise.
wire.MAX_FRAME = 65536
-- Bytes of one joined frame; more is refused with too_large.
wire.MAX_JOINED = 2 * 1024 * 1024
-- Chunks that a sender may have under way without an answer.
wire.MAX_UNACKED = 4
-- Frames that may arrive in chunks at the same time; the gateway sends one at a time.
local MAX_STREAMS = 4
-- What a chunk frame needs beside its data.
local CHUNK_OVERHEAD = 160

--- Cuts a long frame. id names the stream: the id of the request or response inside, so that a cancel ends both. The result
--- has next() -> chunk frame text, or nil at the end; done(); acknowledge(seq); unacked() -> chunks without an answer.
function wire.split(id, text, maxFrame)
  local quantity = (maxFrame - CHUNK_OVERHEAD - (maxFrame - CHUNK_OVERHEAD) % 4) / 4 * 3
  local stream = { id = id, text = text }
  local seq, from, acknowledged = 0, 1, 0

  function stream.next()
    if from > #text then
      return nil
    end
    local to = math.min(from + quantity - 1, #text)
    local frame = json.encode({
      type = "chunk",
      id = id,
      seq = seq,
      last = to == #text,
      data = base64.encode(text:sub(from, to)),
    })
    seq, from = seq + 1, to + 1
    return frame
  end

  function stream.done()
    return from > #text
  end

  -- One acknowledges those before it.
  function stream.acknowledge(number)
    if type(number) == "number" and number < seq then
      acknowledged = math.max(acknowledged, number + 1)
    end
  end

  function stream.unacked()
    return seq - acknowledged
  end

  return stream
end

-- What the beginning of a frame says about itself, so that its request can be answered when the rest is refused.
local function peek(text)
  return text:match('"type"%s*:%s*"([%w_]+)"'), text:match('"id"%s*:%s*"([^"\\]*)"')
end

--- Joins chunks. add(frame) returns a result table:
---   {ack=true}     one more chunk is expected: acknowledge this one;
---   {text=...}     the frame is whole;
---   {error=code, message=..., kind=..., request=id}   it is at its end and was refused;
---   {}             nothing is to be done.
--- forget(id) drops a stream that was cancelled, reset() all of them.
function wire.joiner()
  local joiner = {}
  local streams, clock = {}, 0

  -- A stream in the place of one of the same id; the one left alone the longest gives way when there are too many.
  local function begin(id)
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

  function joiner.add(frame)
    local stream = frame.seq == 0 and begin(frame.id) or streams[frame.id]
    if not stream then
      return {}
    end
    clock = clock + 1
    stream.touched = clock
    if not stream.refusal then
      take(stream, frame)
    end
    if frame.last ~= true then
      return { ack = true }
    end
    streams[frame.id] = nil
    return stream.refusal or { text = table.concat(stream.parts) }
  end

  function joiner.forget(id)
    streams[id] = nil
  end

  function joiner.reset()
    streams = {}
  end

  return joiner
end

return wire
