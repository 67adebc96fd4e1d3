-- One socket to the gateway, kept alive: connects, says hello, comes back after a loss, and hands on the frames that come.
-- Knows nothing of what they mean beyond that. Only http.websocketAsync is used: the waiting form, and receive, swallow the
-- events of everybody else.

local advice = require("/apis/libadvice")
local json = require("/apis/libjson")
local outbox = require("/apis/liboutbox")
local proof = require("/apis/libproof")
local wire = require("/apis/libwire")

-- Seconds: first and longest wait before another attempt; the wait after a refusal, which a person has to mend.
local BACKOFF_FIRST, BACKOFF_LONGEST, BACKOFF_REFUSED = 1, 30, 30
-- A connection that held so long counts as a success, and the next wait starts from the first again.
local STABLE = 10
-- Seconds without a word until it is given up: opening (the game itself gives up after 30 to 60), greeting, in use.
local LIMIT_OPEN, LIMIT_GREETING, LIMIT_SILENT = 65, 10, 60
-- Seconds between two looks at them.
local WATCH = 5
-- Seconds until another try when the game has 512 unsent messages.
local CONGESTED = 0.1

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

local Link = {}
Link.__index = Link

local link = {}

--- A link that is off. options: loop; settings() -> {url, hello, password} (hello: the frame as a table; with a nonce in it the
--- password is proven, and the gateway must prove that it knows it too); say(lines) for a person; onReady(helloOk),
--- onFrame(frame).
--- Fields to be read: state ("off", "connecting", "greeting", "ready", "waiting"), entered (os.clock when that state began),
--- problem (one line, or nil), traposId.
function link.create(options)
  local self = setmetatable({
    options = options,
    loop = options.loop,
    state = "off",
    entered = 0,
    heard = 0, -- os.clock of the last message
    attempts = 0,
    failures = 0, -- since the last connection that held
    nonce = ("%x%x"):format(os.epoch("utc") % 2 ^ 31, math.random(0, 2 ^ 24)),
    joiner = wire.joiner(),
    told = nil, -- what a person was told last
    refusal = nil, -- code of the gateway's refusal of this connection
    url = nil, -- as the settings have it
    address = nil, -- of the present attempt
    handle = nil, -- of the open socket
    greeting = nil, -- the settings that this connection was greeted with, until it is ready
  }, Link)
  self.outbox = outbox.create(function(text)
    return self:transmit(text)
  end)
  self:listen()
  return self
end

function Link:enter(state)
  self.state, self.entered = state, os.clock()
end

-- Tells a person about a problem once, not at every attempt.
function Link:tell(lines)
  self.problem = lines[1]
  local key = table.concat(lines, "\n")
  if self.told ~= key then
    self.told = key
    self.options.say(lines)
  end
end

function Link:stopRetry()
  if self.cancelRetry then
    self.cancelRetry()
    self.cancelRetry = nil
  end
end

-- Half of the wait is fixed and half is chance, so that a thousand computers do not come back at one moment.
function Link:backoff(lasting)
  local longest = BACKOFF_REFUSED
  if not lasting then
    longest = math.min(BACKOFF_LONGEST, BACKOFF_FIRST * 2 ^ math.min(self.failures, 10))
  end
  self.failures = self.failures + 1
  return longest * (0.5 + math.random() * 0.5)
end

function Link:drop()
  if self.handle then
    pcall(self.handle.close)
  end
  self.handle, self.address, self.greeting = nil, nil, nil
  self.joiner:reset()
  self.outbox:close()
end

-- The connection is over or did not come about; another attempt follows.
function Link:lose(lasting)
  if self.state == "ready" and os.clock() - self.entered >= STABLE then
    self.failures = 0
  end
  self:drop()
  self:enter("waiting")
  self:stopRetry()
  self.cancelRetry = self.loop.after(self:backoff(lasting), function()
    self:dial()
  end)
end

-- Sends one message; see liboutbox. The connection is gone when the game refuses it for another reason than its limits.
function Link:transmit(text)
  if not self.handle then
    return false, "disconnected"
  end
  local sent, message = pcall(self.handle.send, text)
  if sent then
    return true
  end
  local lower = tostring(message):lower()
  if lower:find("too large", 1, true) then
    return false, "too_large"
  elseif lower:find("ongoing", 1, true) then
    self.loop.after(CONGESTED, function()
      self.outbox:flush()
    end)
    return false, "congested"
  end
  self:lose()
  return false, "disconnected"
end

--- Sends a frame of JSON text, now or later; see Outbox:send.
function Link:send(text, key, onSent)
  return self.outbox:send(text, key, onSent)
end

--- Sends a short frame if there is a connection; it is worth nothing later.
function Link:signal(frame)
  if self.state == "ready" then
    self:transmit(json.encode(frame))
  end
end

--- Takes back what waits under a key.
function Link:withdraw(key)
  self.outbox:withdraw(key)
end

function Link:refused(code, message)
  self.refusal = code
  self:tell(advice.forRefusal(code, message))
end

-- The gateway asks for the proof that was offered to it.
function Link:challenged(frame)
  local greeting = self.greeting
  local hello, challenge = greeting.hello, json.get(frame, "nonce")
  if not hello.nonce or hello.proof or not wire.isId(challenge) then
    return
  end
  hello.proof = proof.make("computer", greeting.password, hello, challenge)
  greeting.expected = proof.make("gateway", greeting.password, hello, challenge)
  self:transmit(json.encode(hello))
end

function Link:greeted(frame)
  local greeting = self.greeting
  if greeting.hello.nonce and (not greeting.expected or json.get(frame, "proof") ~= greeting.expected) then
    self:tell(advice.forImpostor(self.url))
    self:lose(true)
    return
  end
  self.greeting = nil
  self:enter("ready")
  self.problem, self.refusal = nil, nil
  self.traposId = json.get(frame, "traposId")
  if self.told ~= "" then
    self.told = ""
    self.options.say({ "connected as " .. advice.quote(self.traposId or "?") })
  end
  self.options.onReady(frame)
  self.outbox:open(wire.frameLimit(frame.maxFrameBytes))
end

function Link:joined(frame)
  local result = self.joiner:add(frame)
  if result.ack then
    self:signal({ type = "chunk_ack", id = frame.id, seq = frame.seq })
  end
  if result.error and result.kind == "server_request" and wire.isId(result.request) then
    self:send(json.encode({
      type = "computer_response",
      id = result.request,
      ok = false,
      error = { code = result.error, message = result.message },
    }), result.request)
  end
  local whole = result.text and json.decode(result.text)
  if type(whole) == "table" and whole.type ~= "chunk" then
    self.options.onFrame(whole)
  end
end

-- The frames that a link answers or uses itself once it is ready.
local own = {}

function own.ping(self, frame)
  if type(frame.t) == "number" and math.abs(frame.t) < math.huge then
    self:signal({ type = "pong", t = frame.t })
  end
end

function own.pong() end

own.chunk = Link.joined

function own.chunk_ack(self, frame)
  if wire.isId(frame.id) then
    self.outbox:acknowledge(frame.id, frame.seq)
  end
end

function own.cancel(self, frame)
  self.joiner:forget(frame.id)
  self.options.onFrame(frame)
end

function Link:received(text)
  self.heard = os.clock()
  local frame = json.decode(text)
  if type(frame) ~= "table" or type(frame.type) ~= "string" then
    return
  elseif frame.type == "hello_error" then
    self:refused(json.get(frame, "code") or "internal", json.get(frame, "message"))
    self:lose(LASTING[self.refusal])
  elseif self.state == "greeting" and frame.type == "challenge" then
    self:challenged(frame)
  elseif self.state == "greeting" and frame.type == "hello_ok" then
    self:greeted(frame)
  elseif self.state == "ready" then
    local handler = own[frame.type]
    if handler then
      handler(self, frame)
    else
      self.options.onFrame(frame)
    end
  end
end

function Link:opened(handle)
  self.handle = handle
  self:enter("greeting")
  self.heard, self.refusal = os.clock(), nil
  self.greeting = self.options.settings()
  self:transmit(json.encode(self.greeting.hello))
end

function Link:failed(message)
  self:tell(advice.forSocket(message, self.url))
  self:lose()
end

function Link:closed(reason, code)
  local meaning = CLOSE_CODES[code]
  if meaning and not self.refusal then
    self:refused(meaning, reason)
  end
  self:lose(LASTING[self.refusal])
end

-- Connects now, with the settings as they are.
function Link:dial()
  self:stopRetry()
  self.url = self.options.settings().url
  if not self.url then
    self:enter("off")
    return
  end
  self.attempts = self.attempts + 1
  -- The game tells sockets apart by their address only, so each attempt has one of its own.
  self.address = self.url .. (self.url:find("?", 1, true) and "&" or "?") .. "c=" .. self.nonce .. "-" .. self.attempts
  self:enter("connecting")
  local called, accepted, message = pcall(http.websocketAsync, self.address)
  if not called then
    self:failed(accepted)
  elseif not accepted then
    self:failed(message or "could not connect")
  end
end

-- Gives a connection up that has been silent for too long.
function Link:watch()
  local silent = os.clock() - math.max(self.heard, self.entered)
  if self.state == "connecting" and silent > LIMIT_OPEN then
    self:failed("timed out")
  elseif self.state == "greeting" and silent > LIMIT_GREETING then
    self:tell({ self.url .. " does not answer the greeting. Trying again." })
    self:lose()
  elseif self.state == "ready" and silent > LIMIT_SILENT then
    self:lose()
  end
  self.loop.after(WATCH, function()
    self:watch()
  end)
end

function Link:listen()
  self.loop.on("websocket_success", function(from, handle)
    if from == self.address and self.state == "connecting" then
      self:opened(handle)
    elseif from:find("c=" .. self.nonce .. "-", 1, true) then
      pcall(handle.close) -- an attempt that was given up
    end
  end)
  self.loop.on("websocket_failure", function(from, message)
    if from == self.address and self.state == "connecting" then
      self:failed(message)
    end
  end)
  self.loop.on("websocket_message", function(from, text)
    if from == self.address and self.handle then
      self:received(text)
    end
  end)
  self.loop.on("websocket_closed", function(from, reason, code)
    if from == self.address then
      self:closed(reason, code)
    end
  end)
end

--- Drops the connection, if there is one, and connects with the settings as they are.
function Link:connect()
  self.failures, self.told = 0, nil
  self:drop()
  self:dial()
end

--- Closes the connection for good (until connect).
function Link:close()
  self:stopRetry()
  self:drop()
  self:enter("off")
end

--- Starts: the first connection and the watch over silence.
function Link:start()
  self:dial()
  self.loop.after(WATCH, function()
    self:watch()
  end)
end

return link
