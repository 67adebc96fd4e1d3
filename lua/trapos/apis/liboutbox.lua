-- What a link has to send and the game has not taken yet: short frames as they are, long ones in chunks. All of it outlives a
-- loss of the connection. Knows the socket only as a function.

local wire = require("/apis/libwire")

-- What waits for the socket: frames, and bytes of them all.
local MAX_WAITING, MAX_WAITING_BYTES = 64, 8 * 1024 * 1024
-- Long frames on their way at the same time; the gateway takes four.
local MAX_STREAMS = 3

local Outbox = {}
Outbox.__index = Outbox

local outbox = {}

--- transmit(text) hands one message to the game: true, or false and why not: "too_large" for the limit of this world, anything
--- else when it has to be tried again later. The result is closed until open() is called.
function outbox.create(transmit)
  return setmetatable({
    transmit = transmit,
    opened = false,
    maxFrame = wire.MAX_FRAME,
    waiting = {},
    waitingBytes = 0,
    streams = {}, -- by the id that their chunks carry
    streamCount = 0,
  }, Outbox)
end

local function put(self, item, position)
  self.waitingBytes = self.waitingBytes + #item.text
  table.insert(self.waiting, position, item)
end

local function take(self, position)
  local item = table.remove(self.waiting, position)
  self.waitingBytes = self.waitingBytes - #item.text
  return item
end

-- A frame whose last chunk is not out yet is sent anew, whole.
local function unstart(self)
  for _, stream in pairs(self.streams) do
    put(self, stream.item, 1)
  end
  self.streams, self.streamCount = {}, 0
end

-- This world takes shorter messages than the gateway said. False when there are no shorter ones.
local function narrow(self)
  if self.maxFrame <= wire.MIN_FRAME then
    return false
  end
  self.maxFrame = math.max(wire.MIN_FRAME, math.floor(self.maxFrame / 2))
  unstart(self)
  return true
end

local function endStream(self, stream)
  self.streams[stream.id] = nil
  self.streamCount = self.streamCount - 1
end

-- Sends as many chunks as may be under way. False, and why, when the game did not take one.
local function pump(self, stream)
  while stream.held or (stream:unacked() < wire.MAX_UNACKED and not stream:done()) do
    stream.held = stream.held or stream:next()
    local sent, why = self.transmit(stream.held)
    if not sent then
      return false, why
    end
    stream.held = nil
  end
  if stream:done() and self.streams[stream.id] == stream then
    endStream(self, stream)
    if stream.item.onSent then
      stream.item.onSent()
    end
  end
  return true
end

local function pumpHeld(self)
  for _, stream in pairs(self.streams) do
    if stream.held then
      local sent, why = pump(self, stream)
      if not sent then
        return false, why
      end
    end
  end
  return true
end

local function startStream(self, item)
  local stream = wire.split(item.key, item.text, self.maxFrame)
  stream.item = item
  self.streams[stream.id] = stream
  self.streamCount = self.streamCount + 1
  return pump(self, stream)
end

local function sendShort(self, position)
  local sent, why = self.transmit(self.waiting[position].text)
  if sent then
    local item = take(self, position)
    if item.onSent then
      item.onSent()
    end
  end
  return sent, why
end

-- Short frames pass long ones that have no stream yet.
local function sendWaiting(self)
  local position = 1
  while self.opened and self.waiting[position] do
    local sent, why = true, nil
    if #self.waiting[position].text <= self.maxFrame then
      sent, why = sendShort(self, position)
    elseif self.streamCount < MAX_STREAMS then
      sent, why = startStream(self, take(self, position))
    else
      position = position + 1
    end
    if not sent then
      return false, why
    end
  end
  return true
end

--- Sends what waits, as far as the game takes it.
function Outbox:flush()
  local sent, why
  repeat
    sent, why = pumpHeld(self)
    if sent then
      sent, why = sendWaiting(self)
    end
  until sent or why ~= "too_large" or not narrow(self)
end

--- Takes a frame of JSON text, to be sent now or as soon as there is a connection. key is the id inside, by which `withdraw`
--- knows it. onSent() is called when its last byte was handed to the game. False when too much is waiting already.
function Outbox:send(text, key, onSent)
  if self.streams[key] or #self.waiting >= MAX_WAITING or self.waitingBytes + #text > MAX_WAITING_BYTES then
    return false
  end
  put(self, { text = text, onSent = onSent, key = key }, #self.waiting + 1)
  self:flush()
  return true
end

--- Takes back what waits under a key.
function Outbox:withdraw(key)
  for position = #self.waiting, 1, -1 do
    if self.waiting[position].key == key then
      take(self, position)
    end
  end
  if self.streams[key] then
    endStream(self, self.streams[key])
  end
end

--- The receiver has the chunk number seq of a stream, and those before it.
function Outbox:acknowledge(id, seq)
  local stream = self.streams[id]
  if stream then
    stream:acknowledge(seq)
    local sent, why = pump(self, stream)
    if sent or why == "too_large" then
      self:flush()
    end
  end
end

--- There is a connection that takes frames of so many bytes.
function Outbox:open(maxFrame)
  self.opened, self.maxFrame = true, maxFrame
  self:flush()
end

--- The connection is gone; what is not out yet waits for the next one.
function Outbox:close()
  self.opened = false
  unstart(self)
end

return outbox
