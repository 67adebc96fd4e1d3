-- What programs use to talk with the host: offer a request type to it, ask it something, know the state of the connection.
-- The socket belongs to servers/cloud; everything here goes through events, so it works in any program:
--
--   trapos_cloud_up                                 the server has started: announce again what is served
--   trapos_cloud_serve    type, owner, on           a program serves a type (or no longer does)
--   trapos_cloud_request  id, type, payload, meta   the host asks; meta = {owner=, timeoutMs=}
--   trapos_cloud_accept   id                        ... the owner has it (without this it is asked again)
--   trapos_cloud_respond  id, true, payload | false, code, message      payload: a table, or JSON text
--   trapos_cloud_sent     id                        ... the answer is on its way (without this it is given again)
--   trapos_cloud_cancel   id                        the host no longer wants the answer
--   trapos_cloud_ask      id, type, payload, timeoutMs                  a program asks the host
--   trapos_cloud_asked    id                        ... the server has it
--   trapos_cloud_answer   id, true, payload | false, code, message
--   trapos_cloud_abandon  id                        ... the program no longer wants the answer
--   trapos_cloud_control  "connect" | "disconnect" | "status"
--   trapos_cloud_status   status
--
-- A computer drops events beyond 256 waiting ones without a word; that is why receipts are confirmed and repeated.

local json = require("/apis/libjson")

-- Seconds between two attempts to hand something over, and how many there are.
local RETRY = 2
local ATTEMPTS = 15
-- Seconds in which the server answers a status request, if it runs; and until a question gives up hope that it will start.
local PRESENT, STARTING = 1.5, 10
local DEFAULT_TIMEOUT = 30
-- Ids of answered requests that are remembered, so that a repeated one is not carried out again.
local REMEMBERED = 64

local cloud = {}

local counter = 0

-- A token that no other program on this computer has.
local function token()
  counter = counter + 1
  return ("%d-%d-%d"):format(os.epoch("utc") % 2 ^ 31, math.random(0, 2 ^ 24), counter)
end

-- Waits for an event of that name and first argument; returns its arguments, or nil after so many seconds.
local function await(event, id, seconds)
  local timer = os.startTimer(seconds)
  while true do
    local got = { os.pullEvent() }
    if got[1] == event and (id == nil or got[2] == id) then
      os.cancelTimer(timer)
      return got
    elseif got[1] == "timer" and got[2] == timer then
      return nil
    end
  end
end

-- Hands an answer to the server, again and again until it says that it is out.
local function deliver(id, ...)
  for _ = 1, ATTEMPTS do
    os.queueEvent("trapos_cloud_respond", id, ...)
    if await("trapos_cloud_sent", id, RETRY) then
      return true
    end
  end
  return false
end

--- Answers a request; waits until the answer is on its way. Returns whether it is. For a failure use cloud.fail.
function cloud.respond(id, payload)
  return deliver(id, true, json.encode(payload))
end

--- Refuses a request with one of the protocol's codes. Waits like respond.
function cloud.fail(id, code, message)
  return deliver(id, false, code, message)
end

local function finish(id, fine, result, problem)
  if fine and result ~= nil then
    local encodes, text = pcall(json.encode, result)
    if encodes then
      return deliver(id, true, text)
    end
    return cloud.fail(id, "internal", tostring(text))
  elseif not fine then
    return cloud.fail(id, "internal", tostring(result))
  end
  problem = type(problem) == "table" and problem or { message = tostring(problem or "the handler gave no answer") }
  return cloud.fail(id, problem.code or "internal", problem.message)
end

-- The last ids, so that an event that was repeated is known again.
local function newMemory()
  local known, order = {}, {}
  return {
    has = function(id)
      return known[id]
    end,
    add = function(id)
      known[id] = true
      order[#order + 1] = id
      if #order > REMEMBERED then
        known[table.remove(order, 1)] = nil
      end
    end,
  }
end

--- Serves a request type: handler(payload, request) runs as a task of options.eventloop for each request, may wait for
--- events, and returns the answer's payload (a table), or nil and {code=, message=}. An error in it is answered as `internal`.
--- request: id, type, timeoutMs, cancelled (true once the host gave up), onCancel (a function to be set), and
--- afterwards(fn), which runs fn when the answer is out. Returns a function that ends the serving.
function cloud.serve(requestType, handler, options)
  local loop = options and options.eventloop
  if type(requestType) ~= "string" or type(handler) ~= "function" or type(loop) ~= "table" then
    error("use cloud.serve(type, handler, {eventloop = loop})", 2)
  end
  local owner, open, seen = token(), {}, newMemory()

  local function announce()
    os.queueEvent("trapos_cloud_serve", requestType, owner, true)
  end

  local function carryOut(request, payload)
    local later
    request.afterwards = function(fn)
      later = fn
    end
    local sent = finish(request.id, pcall(handler, payload, request))
    open[request.id] = nil
    if later then
      later(sent)
    end
  end

  local ends = {
    loop.on("trapos_cloud_up", announce),
    loop.on("trapos_cloud_request", function(id, asked, payload, meta)
      if asked ~= requestType or type(meta) ~= "table" or meta.owner ~= owner then
        return
      end
      os.queueEvent("trapos_cloud_accept", id)
      if not seen.has(id) then
        seen.add(id)
        open[id] = { id = id, type = requestType, timeoutMs = meta.timeoutMs, cancelled = false }
        loop.spawn(carryOut, open[id], payload)
      end
    end),
    loop.on("trapos_cloud_cancel", function(id)
      local request = open[id]
      if request and not request.cancelled then
        request.cancelled = true
        if request.onCancel then
          request.onCancel()
        end
      end
    end),
  }
  announce()
  return function()
    for _, stop in ipairs(ends) do
      stop()
    end
    os.queueEvent("trapos_cloud_serve", requestType, owner, false)
  end
end

--- Asks the host: "ping", "whoami", "computers", "relay". Waits up to options.timeout seconds (default 30), also for a
--- connection that is not there yet. Returns the answer's payload, or nil and {code=, message=}.
function cloud.request(requestType, payload, options)
  local timeout = options and options.timeout or DEFAULT_TIMEOUT
  local id = token()
  local text = json.encode(payload or {})
  local accepted = false
  local function ask()
    os.queueEvent("trapos_cloud_ask", id, requestType, text, timeout * 1000)
  end
  ask()
  local hope, limit = os.startTimer(STARTING), os.startTimer(timeout)
  while true do
    local event, first, fine, result, message = os.pullEventRaw()
    if event == "trapos_cloud_asked" and first == id then
      accepted = true
    elseif event == "trapos_cloud_up" and not accepted then
      ask()
    elseif event == "trapos_cloud_answer" and first == id then
      os.cancelTimer(hope)
      os.cancelTimer(limit)
      if fine then
        return result
      end
      return nil, { code = result, message = message }
    elseif event == "terminate" then
      os.queueEvent("trapos_cloud_abandon", id)
      error("Terminated", 0)
    elseif event == "timer" and first == hope and not accepted then
      return nil, { code = "disconnected", message = "the cloud server is not running; try: cloud connect" }
    elseif event == "timer" and first == limit then
      os.queueEvent("trapos_cloud_abandon", id)
      return nil, { code = "timeout", message = "no answer within " .. timeout .. " seconds" }
    end
  end
end

--- The state of the connection: {state = "off" | "connecting" | "greeting" | "ready" | "waiting", url, network, traposId,
--- serves, problem, since (os.clock)}; nil and a message when the server does not run.
function cloud.status()
  os.queueEvent("trapos_cloud_control", "status")
  local got = await("trapos_cloud_status", nil, PRESENT)
  if not got then
    return nil, "the cloud server is not running"
  end
  return got[2]
end

--- Reads the settings again and connects at once.
function cloud.connect()
  os.queueEvent("trapos_cloud_control", "connect")
end

--- Closes the connection, until connect.
function cloud.disconnect()
  os.queueEvent("trapos_cloud_control", "disconnect")
end

return cloud
