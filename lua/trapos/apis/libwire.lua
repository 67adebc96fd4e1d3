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
-- Frames that may arrive in chunks at the same time.
local MAX_STREAMS = 8
-- What a chunk frame needs beside its data.
local CHUNK_OVERHEAD = 160

--- Cuts a long frame. The result has next() -> chunk frame text or nil at the end, rewind(), and `unacked`, the caller's count.
function wire.split(id, text, maxFrame)
  local quantity = (maxFrame - CHUNK_OVERHEAD - (maxFrame - CHUNK_OVERHEAD) % 4) / 4 * 3
  local stream = { id = id, text = text, unacked = 0 }
  local seq, from = 0, 1

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

  return stream
end

-- What the beginning of an oversized frame says about itself, so that its request can be answered.
local function peek(text)
  return text:match('"type"%s*:%s*"([%w_]+)"'), text:match('"id"%s*:%s*"([^"\\]*)"')
end

--- Joins chunks. add(frame) returns a result table:
--   {text=...} the frame is whole; {ack=true} one more is expected, acknowledge it;
--   {error=code, message=..., kind=..., request=id} it was refused (the chunks that are still under way are swallowed).
function wire.joiner()
  local joiner = {}
  local streams, count = {}, 0

  local function forget(id)
    if streams[id] then
      streams[id] = nil
      count = count - 1
    end
  end

  local function refuse(stream, code, message)
    stream.refused, stream.parts = true, {}
    return { error = code, message = message, kind = stream.kind, request = stream.request }
  end

  local function open(id)
    if count >= MAX_STREAMS then
      return nil
    end
    count = count + 1
    streams[id] = { parts = {}, size = 0, seq = 0 }
    return streams[id]
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
    stream.parts[#stream.parts + 1] = data
  end

  function joiner.add(frame)
    local id, last = frame.id, frame.last == true
    local stream = streams[id]
    if not stream then
      if frame.seq ~= 0 then
        return { ack = not last }
      end
      stream = open(id)
      if not stream then
        return { ack = not last, error = "busy", message = "too many long frames at once" }
      end
    end
    local result = {}
    if not stream.refused then
      result = take(stream, frame) or result
    end
    if last then
      if not stream.refused then
        result.text = table.concat(stream.parts)
      end
      forget(id)
    else
      result.ack = true
    end
    return result
  end

  function joiner.reset()
    streams, count = {}, 0
  end

  return joiner
end

return wire
