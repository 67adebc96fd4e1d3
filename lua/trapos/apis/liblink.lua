-- One socket to the gateway, kept alive: connects, says hello, comes back after a loss, cuts and joins long frames.
-- Knows nothing of what the frames mean beyond that. Only http.websocketAsync is used: the waiting form, and receive,
-- swallow the events of everybody else.

local advice = require("/apis/libadvice")
local json = require("/apis/libjson")
local wire = require("/apis/libwire")

-- Seconds: first and longest wait before another attempt; the wait after a refusal, which a person has to mend.
local BACKOFF_FIRST, BACKOFF_LONGEST, BACKOFF_REFUSED = 1, 30, 30
-- A connection that held so long counts as a success, and the next wait starts from the first again.
local STABLE = 10
-- Seconds without a word until it is given up: opening (the game itself gives up after 30 to 60), greeting, in use.
local LIMIT_OPEN, LIMIT_GREETING, LIMIT_SILENT = 65, 10, 60
local WATCH = 5
-- Seconds until another try when the game has 512 unsent messages.
local CONGESTED = 0.1
-- What waits for the socket: frames, and bytes of them all.
local MAX_WAITING, MAX_WAITING_BYTES = 64, 8 * 1024 * 1024
-- Long frames on their way at the same time; the gateway takes four.
local MAX_STREAMS = 3

-- Close codes of the gateway -> error codes.
local CLOSE_CODES = {
  [4400] = "bad_request",
  [4401] = "unauthorized",
  [4408] = "timeout",
  [4409] = "duplicate",
  [4413] = "too_large",
  [4429] = "busy",
}
-- Refusals that do not mend themselves at once.
local LASTING = { unauthorized = true, bad_request = true, unsupported_protocol = true, duplicate = true, busy = true }

local link = {}

--- options: loop; settings() -> {url, hello} (hello: the frame as a table); say(lines) for a person;
--- onReady(helloOk), onFrame(frame).
function link.create(options)
  local loop = options.loop
  local self = { state = "off" }
  local handle, address, url
  local attempts, failures = 0, 0
  local heard, entered = 0, 0
  local waiting, waitingBytes = {}, 0
  local streams, streamCount = {}, 0
  local joiner = wire.joiner()
  local cancelRetry, refusal, told
  local maxFrame = wire.MAX_FRAME
  local nonce = ("%x%x"):format(os.epoch("utc") % 2 ^ 31, math.random(0, 2 ^ 24))
  local open, flush

  local function enter(state)
    self.state, entered = state, os.clock()
  end

  -- Tells a person about a problem once, not at every attempt.
  local function tell(lines)
    self.problem = lines[1]
    local key = table.concat(lines, "\n")
    if told ~= key then
      told = key
      options.say(lines)
    end
  end

  local function retryIn(seconds)
    enter("waiting")
    if cancelRetry then
      cancelRetry()
    end
    cancelRetry = loop.after(seconds, open)
  end

  -- Half of the wait is fixed and half is chance, so that a thousand computers do not come back at one moment.
  local function backoff(lasting)
    local longest = lasting and BACKOFF_REFUSED or math.min(BACKOFF_LONGEST, BACKOFF_FIRST * 2 ^ math.min(failures, 10))
    failures = failures + 1
    return longest * (0.5 + math.random() * 0.5)
  end

  local function put(item, first)
    waitingBytes = waitingBytes + #item.text
    table.insert(waiting, first and 1 or #waiting + 1, item)
  end

  -- A frame whose last chunk is not out yet waits for the next connection, whole.
  local function requeue()
    for _, stream in pairs(streams) do
      put({ text = stream.text, onSent = stream.onSent, key = stream.key }, true)
    end
    streams, streamCount = {}, 0
  end

  local function drop()
    if handle then
      pcall(handle.close)
    end
    handle, address = nil, nil
    joiner.reset()
    requeue()
  end

  local function lost(lasting)
    if self.state == "ready" and os.clock() - entered >= STABLE then
      failures = 0
    end
    drop()
    retryIn(backoff(lasting))
  end

  -- Sends one message. False: it did not leave; the connection is gone, or the game's buffer is full.
  local function transmit(text)
    if not handle then
      return false
    end
    local ok, message = pcall(handle.send, text)
    if ok then
      return true
    elseif tostring(message):find("ongoing", 1, true) then
      loop.after(CONGESTED, function()
        flush()
      end)
    else
      lost()
    end
    return false
  end

  local function pump(stream)
    while stream.held or (stream.unacked() < wire.MAX_UNACKED and not stream.done()) do
      stream.held = stream.held or stream.next()
      if not transmit(stream.held) then
        return
      end
      stream.held = nil
    end
    if stream.done() and streams[stream.id] == stream then
      streams[stream.id] = nil
      streamCount = streamCount - 1
      if stream.onSent then
        stream.onSent()
      end
    end
  end

  local function startStream(item)
    local stream = wire.split(item.key, item.text, maxFrame)
    stream.onSent, stream.key = item.onSent, item.key
    streams[stream.id] = stream
    streamCount = streamCount + 1
    pump(stream)
  end

  local function take(i)
    local item = table.remove(waiting, i)
    waitingBytes = waitingBytes - #item.text
    return item
  end

  -- Sends what waits, short frames past long ones that have no stream yet.
  function flush()
    for _, stream in pairs(streams) do
      if stream.held then
        pump(stream)
        if stream.held then
          return -- still no room
        end
      end
    end
    local i = 1
    while self.state == "ready" and waiting[i] do
      local item = waiting[i]
      if #item.text > maxFrame then
        if streamCount < MAX_STREAMS then
          startStream(take(i))
        else
          i = i + 1
        end
      elseif transmit(item.text) then
        take(i)
        if item.onSent then
          item.onSent()
        end
      else
        return
      end
    end
  end

  --- Sends a frame of JSON text, now or as soon as there is a connection. key is the id inside, by which `withdraw` knows it.
  --- onSent() is called when its last byte was handed to the game. False when too much is waiting already.
  function self.send(text, key, onSent)
    if streams[key] or #waiting >= MAX_WAITING or waitingBytes + #text > MAX_WAITING_BYTES then
      return false
    end
    put({ text = text, onSent = onSent, key = key })
    flush()
    return true
  end

  --- Sends a short frame if there is a connection; it is worth nothing later.
  function self.signal(frame)
    if self.state == "ready" then
      transmit(json.encode(frame))
    end
  end

  --- Takes back what waits under a key.
  function self.withdraw(key)
    for i = #waiting, 1, -1 do
      if waiting[i].key == key then
        take(i)
      end
    end
    for id, stream in pairs(streams) do
      if stream.key == key then
        streams[id] = nil
        streamCount = streamCount - 1
      end
    end
  end

  local function refused(code, message)
    refusal = { code = code }
    tell(advice.forRefusal(code, message))
  end

  local function greeted(frame)
    maxFrame = type(frame.maxFrameBytes) == "number" and frame.maxFrameBytes or wire.MAX_FRAME
    enter("ready")
    self.problem, refusal = nil, nil
    self.traposId = json.get(frame, "traposId")
    if told ~= "" then
      told = ""
      options.say({ "connected as " .. tostring(self.traposId) })
    end
    options.onReady(frame)
    flush()
  end

  local function joined(frame)
    local result = joiner.add(frame)
    if result.ack then
      self.signal({ type = "chunk_ack", id = frame.id, seq = frame.seq })
    end
    if result.error and result.request and result.kind == "server_request" then
      self.send(json.encode({
        type = "computer_response",
        id = result.request,
        ok = false,
        error = { code = result.error, message = result.message },
      }), result.request)
    end
    local whole = result.text and json.decode(result.text)
    if type(whole) == "table" and whole.type ~= "chunk" then
      options.onFrame(whole)
    end
  end

  local function acknowledged(frame)
    local stream = streams[frame.id]
    if stream then
      stream.acknowledge(frame.seq)
      pump(stream)
      flush()
    end
  end

  local inUse = {
    ping = function(frame)
      self.signal({ type = "pong", t = frame.t })
    end,
    pong = function() end,
    chunk = joined,
    chunk_ack = acknowledged,
    cancel = function(frame)
      joiner.forget(frame.id)
      options.onFrame(frame)
    end,
  }

  local function received(text)
    heard = os.clock()
    local frame = json.decode(text)
    if type(frame) ~= "table" then
      return
    elseif frame.type == "hello_error" then
      refused(tostring(frame.code), json.get(frame, "message"))
      lost(LASTING[frame.code])
    elseif self.state == "greeting" and frame.type == "hello_ok" then
      greeted(frame)
    elseif self.state == "ready" then
      local handler = inUse[frame.type] or options.onFrame
      handler(frame)
    end
  end

  local function opened(newHandle)
    handle = newHandle
    enter("greeting")
    heard, refusal = os.clock(), nil
    transmit(json.encode(options.settings().hello))
  end

  local function failed(message)
    tell(advice.forSocket(message, url))
    lost()
  end

  --- Connects now, with the settings as they are.
  function open()
    if cancelRetry then
      cancelRetry()
      cancelRetry = nil
    end
    url = options.settings().url
    if not url then
      enter("off")
      return
    end
    attempts = attempts + 1
    -- The game tells sockets apart by their address only, so each attempt has one of its own.
    address = url .. (url:find("?", 1, true) and "&" or "?") .. "c=" .. nonce .. "-" .. attempts
    enter("connecting")
    local called, accepted, message = pcall(http.websocketAsync, address)
    if not called then
      failed(accepted)
    elseif not accepted then
      failed(message or "could not connect")
    end
  end

  local function watch()
    local silent = os.clock() - math.max(heard, entered)
    if self.state == "connecting" and silent > LIMIT_OPEN then
      failed("timed out")
    elseif self.state == "greeting" and silent > LIMIT_GREETING then
      tell({ url .. " does not answer the greeting. Trying again." })
      lost()
    elseif self.state == "ready" and silent > LIMIT_SILENT then
      lost()
    end
    loop.after(WATCH, watch)
  end

  loop.on("websocket_success", function(from, newHandle)
    if from == address and self.state == "connecting" then
      opened(newHandle)
    elseif from:find("c=" .. nonce .. "-", 1, true) then
      pcall(newHandle.close) -- an attempt that was given up
    end
  end)
  loop.on("websocket_failure", function(from, message)
    if from == address and self.state == "connecting" then
      failed(message)
    end
  end)
  loop.on("websocket_message", function(from, text)
    if from == address and handle then
      received(text)
    end
  end)
  loop.on("websocket_closed", function(from, reason, code)
    if from ~= address then
      return
    end
    local meaning = CLOSE_CODES[code]
    if meaning and not refusal then
      refused(meaning, reason)
    end
    lost(refusal and LASTING[refusal.code])
  end)

  --- Drops the connection, if there is one, and connects with the settings as they are.
  function self.connect()
    failures, told = 0, nil
    drop()
    open()
  end

  --- Closes the connection for good (until connect).
  function self.close()
    if cancelRetry then
      cancelRetry()
      cancelRetry = nil
    end
    drop()
    enter("off")
  end

  --- Starts: the first connection and the watch over silence.
  function self.start()
    open()
    loop.after(WATCH, watch)
  end

  function self.since()
    return entered
  end

  return self
end

return link
