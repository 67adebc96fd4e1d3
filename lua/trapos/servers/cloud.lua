-- The cloud server: owns the one socket of this computer to the gateway (traposd), and carries requests between it and the
-- programs here, over the events that apis/libcloud describes. Without the setting cloud.url it does nothing.

local eventloop = require("/apis/eventloop")
local json = require("/apis/libjson")
local link = require("/apis/liblink")
local proof = require("/apis/libproof")
local version = require("/apis/libversion")
local wire = require("/apis/libwire")

local unpack = table.unpack or unpack

-- Seconds until a program that did not confirm a request is asked again, and how often it is asked.
local ASK_AGAIN, MAX_ASKED = 2, 5
-- Seconds that a request is remembered beyond its time limit.
local SLACK = 10
-- Questions of programs that wait for the host's answer.
local MAX_QUESTIONS = 32
-- Milliseconds: a request's time limit when it has none, and the longest.
local DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS = 30000, 3600000
-- Requests whose ids are remembered after their answer, so that one that comes twice is carried out once.
local REMEMBERED = 128
-- Bytes of an error message; the gateway keeps no more.
local MAX_MESSAGE = 4096
-- Seconds to wait for another cloud server to say that it runs.
local RIVAL = 0.5

local function setting(name)
  local value = settings.get(name)
  if value == nil or value == "" then
    return nil
  elseif type(value) == "number" and value % 1 == 0 then
    return ("%.0f"):format(value) -- `set` turns a password of digits into a number
  end
  return tostring(value)
end

--- Whether another cloud server answers. Only asked when one has started since the computer did.
local function rivalRuns()
  if not _G.trapos_cloud_started then
    return false
  end
  os.queueEvent("trapos_cloud_control", "status")
  local timer = os.startTimer(RIVAL)
  while true do
    local event, id = os.pullEvent()
    if event == "trapos_cloud_status" then
      return true
    elseif event == "timer" and id == timer then
      return false
    end
  end
end

-- Whatever program has redirected its output meanwhile, what we say goes to the screen that we were started on.
local screen = term.current()

-- What stands on the cursor's line (a prompt, and what is being typed), when the screen can tell: text and its colours.
local function lineInUse(column, row)
  if column > 1 and screen.getLine then
    local found, text, foregrounds, backgrounds = pcall(screen.getLine, row)
    return found and text and { text, foregrounds, backgrounds } or nil
  end
end

-- Says something to a person above the line that is being typed.
local function say(lines)
  local before = term.redirect(screen)
  local old = term.getTextColour()
  local column, row = term.getCursorPos()
  local typed = lineInUse(column, row)
  if typed then
    term.setCursorPos(1, row)
    term.clearLine()
  elseif column > 1 then
    print()
  end
  for i, line in ipairs(lines) do
    if term.isColour() then
      term.setTextColour(i == 1 and colours.yellow or colours.lightGrey)
    end
    print((i == 1 and "cloud: " or "  ") .. line)
  end
  term.setTextColour(old)
  if typed then
    term.blit(unpack(typed))
    local _, last = term.getCursorPos()
    term.setCursorPos(column, last)
  end
  term.redirect(before)
end

if not setting("cloud.url") then
  return
elseif not http or not http.websocketAsync then
  say({ "this world has http switched off.",
    "Its owner sets http.enabled = true in <world>/serverconfig/computercraft-server.toml" })
  return
elseif rivalRuns() then
  say({ "it is running already; see: cloud status" })
  return
end
_G.trapos_cloud_started = true

local loop = eventloop.create()
-- Tells a reboot from a reconnect. Small ranges: a wider one is an error in some versions of the game.
local boot = ("%x%06x%06x"):format(os.epoch("utc") % 2 ^ 31, math.random(0, 2 ^ 24 - 1), math.random(0, 2 ^ 24 - 1))
local owners = {} -- type -> owner
local open = {} -- event id -> request of the host
local leaving = {} -- event ids of answers that wait for the socket
local questions, questionCount = {}, 0 -- wire id -> id of a program's question
local remembered, order = {}, {}
local announcing = false
local connection

local function serves()
  local types = {}
  for name in pairs(owners) do
    types[#types + 1] = name
  end
  table.sort(types)
  return json.array(types)
end

local function announce()
  connection:signal({ type = "serve", types = serves() })
end

local function timeLimit(value)
  local milliseconds = tonumber(value)
  if not milliseconds or milliseconds ~= milliseconds then
    return DEFAULT_TIMEOUT_MS
  end
  return math.max(0, math.min(milliseconds, MAX_TIMEOUT_MS))
end

local function hello()
  local frame = {
    type = "hello",
    protocol = 1,
    networkId = setting("cloud.network") or "default",
    computerId = os.getComputerID(),
    boot = boot,
    serves = serves(),
    agent = "traposd-lua/" .. version .. " (" .. tostring(_HOST) .. ")",
  }
  -- The password itself is sent only to a gateway that is too old for a proof, and only if a person says so.
  if setting("cloud.auth") == "password" then
    json.put(frame, "password", setting("cloud.password") or "")
  else
    frame.nonce = proof.nonce()
  end
  local label = os.getComputerLabel()
  if label then
    json.put(frame, "label", label)
  end
  return frame
end

local function remember(id)
  remembered[id] = true
  order[#order + 1] = id
  if #order > REMEMBERED then
    remembered[table.remove(order, 1)] = nil
  end
end

local function forget(request)
  if open[request.id] == request then
    open[request.id] = nil
    request.cancelTimers()
  end
end

-- The event id carries the boot, so that an answer to an earlier cloud server's request is not taken for one to ours.
local function eventId(id)
  return boot .. ":" .. id
end

local function refuse(id, code, message)
  local problem = { code = code }
  json.put(problem, "message", message:sub(1, MAX_MESSAGE))
  return connection:send(json.encode({ type = "computer_response", id = id, ok = false, error = problem }), id)
end

-- Hands a request to the program that serves its type, again until it confirms.
local function ask(request)
  request.asked = request.asked + 1
  if request.asked > MAX_ASKED then
    forget(request)
    owners[request.type] = nil
    announce()
    refuse(request.wireId, "unknown_type", "the program that served " .. request.type .. " no longer answers")
    return
  end
  os.queueEvent("trapos_cloud_request", request.id, request.type, request.payload,
    { owner = owners[request.type] or request.owner, timeoutMs = request.timeoutMs })
  request.again = loop.after(ASK_AGAIN, function()
    if not request.accepted then
      ask(request)
    end
  end)
end

local function newRequest(frame)
  local request = {
    id = eventId(frame.id),
    wireId = frame.id,
    type = frame.request,
    payload = frame.payload,
    owner = owners[frame.request],
    timeoutMs = timeLimit(frame.timeoutMs),
    asked = 0,
  }
  local expire = loop.after(request.timeoutMs / 1000 + SLACK, function()
    open[request.id] = nil
  end)
  request.cancelTimers = function()
    expire()
    if request.again then
      request.again()
    end
  end
  return request
end

-- JSON text is passed on as it is when it is fit for the wire.
local function payloadText(payload)
  if type(payload) == "string" then
    return json.isPlain(payload) and payload or nil
  end
  local fine, text = pcall(json.encode, payload)
  return fine and text or nil
end

-- Sends the answer of a request whose payload is JSON text. False when too much waits for the socket already.
local function answer(id, text, onSent)
  return connection:send('{"type":"computer_response","id":' .. json.string(id) .. ',"ok":true,"payload":' .. text .. "}",
    id, onSent)
end

local function answerPing(id, payload)
  local fine, text = pcall(json.encode, payload)
  if not fine then
    refuse(id, "bad_request", text)
  else
    answer(id, payload == nil and "{}" or text)
  end
end

local onFrame = {}

function onFrame.server_request(frame)
  if not wire.isId(frame.id) or remembered[frame.id] then
    return
  end
  remember(frame.id)
  if not wire.isId(frame.request) then
    refuse(frame.id, "bad_request", "the request has no type")
  elseif frame.request == "ping" then
    answerPing(frame.id, frame.payload)
  elseif not owners[frame.request] then
    refuse(frame.id, "unknown_type", "no program on this computer serves " .. frame.request)
  else
    local request = newRequest(frame)
    open[request.id] = request
    ask(request)
  end
end

function onFrame.cancel(frame)
  if not wire.isId(frame.id) then
    return
  end
  local id = eventId(frame.id)
  local request = open[id]
  if request then
    forget(request)
    os.queueEvent("trapos_cloud_cancel", id)
  end
  leaving[id] = nil
  connection:withdraw(frame.id)
end

local function answerQuestion(wireId, ...)
  local question = questions[wireId]
  if question then
    questions[wireId] = nil
    questionCount = questionCount - 1
    question.expire()
    os.queueEvent("trapos_cloud_answer", question.id, ...)
  end
end

function onFrame.server_response(frame)
  if not wire.isId(frame.id) then
    return
  elseif frame.ok == true then
    answerQuestion(frame.id, true, frame.payload)
  else
    local problem = type(frame.error) == "table" and frame.error or {}
    answerQuestion(frame.id, false, json.get(problem, "code") or "internal", json.get(problem, "message") or "")
  end
end

-- Requests that are under way when the connection is lost go on: after a reconnect of this same boot the gateway takes
-- their answers.
connection = link.create({
  loop = loop,
  say = say,
  settings = function()
    return { url = setting("cloud.url"), hello = hello(), password = setting("cloud.password") or "" }
  end,
  onReady = announce,
  onFrame = function(frame)
    if onFrame[frame.type] then
      onFrame[frame.type](frame)
    end
  end,
})

loop.on("trapos_cloud_serve", function(requestType, owner, on)
  if type(requestType) ~= "string" or (not on and owners[requestType] ~= owner) then
    return
  end
  local before = owners[requestType]
  owners[requestType] = on and owner or nil
  if (before ~= nil) ~= (on == true) and not announcing then
    announcing = true
    loop.after(0, function() -- a program that serves ten types announces them at one moment
      announcing = false
      announce()
    end)
  end
end)

loop.on("trapos_cloud_accept", function(id)
  if open[id] then
    open[id].accepted = true
    open[id].payload = nil
  end
end)

local function respond(request, ok, payload, message)
  if ok ~= true then
    return refuse(request.wireId, tostring(payload), tostring(message or ""))
  end
  local text = payloadText(payload)
  if not text then
    return refuse(request.wireId, "internal", "the answer cannot be sent as JSON")
  end
  leaving[request.id] = true
  local taken = answer(request.wireId, text, function()
    leaving[request.id] = nil
    os.queueEvent("trapos_cloud_sent", request.id)
  end)
  if not taken then
    leaving[request.id] = nil
  end
  return taken
end

loop.on("trapos_cloud_respond", function(id, ok, payload, message)
  local request = open[id]
  if not request then
    -- Cancelled, expired, or sent before: nobody waits for it any more.
    if not leaving[id] then
      os.queueEvent("trapos_cloud_sent", id)
    end
  elseif respond(request, ok, payload, message) then
    forget(request)
    if ok ~= true then
      os.queueEvent("trapos_cloud_sent", id)
    end
  end
end)

loop.on("trapos_cloud_ask", function(id, requestType, text, timeoutMs)
  os.queueEvent("trapos_cloud_asked", id)
  local wireId = "c" .. tostring(id)
  if questions[wireId] then
    return
  elseif questionCount >= MAX_QUESTIONS then
    os.queueEvent("trapos_cloud_answer", id, false, "busy", "too many questions are waiting for the host")
    return
  end
  timeoutMs = timeLimit(timeoutMs)
  questionCount = questionCount + 1
  questions[wireId] = {
    id = id,
    expire = loop.after(timeoutMs / 1000, function()
      connection:withdraw(wireId)
      answerQuestion(wireId, false, "timeout", "no answer within " .. timeoutMs / 1000 .. " seconds")
    end),
  }
  local frame = json.encode({
    type = "computer_request",
    id = wireId,
    request = tostring(requestType),
    payload = json.raw(payloadText(text) or "{}"),
    timeoutMs = timeoutMs,
  })
  if not connection:send(frame, wireId) then
    answerQuestion(wireId, false, "busy", "too much is waiting for the connection")
  end
end)

loop.on("trapos_cloud_abandon", function(id)
  local wireId = "c" .. tostring(id)
  local question = questions[wireId]
  if question then
    questions[wireId] = nil
    questionCount = questionCount - 1
    question.expire()
    connection:withdraw(wireId)
    connection:signal({ type = "cancel", id = wireId })
  end
end)

local function status()
  return {
    state = connection.state,
    problem = connection.problem,
    traposId = connection.traposId,
    url = setting("cloud.url"),
    network = setting("cloud.network") or "default",
    serves = serves(),
    since = connection.entered,
  }
end

loop.on("trapos_cloud_control", function(command)
  if command == "connect" then
    connection:connect()
  elseif command == "disconnect" then
    connection:close()
  elseif command == "status" then
    os.queueEvent("trapos_cloud_status", status())
  end
end)

os.queueEvent("trapos_cloud_up")
connection:start()
local fine, problem = pcall(loop.run)
connection:close()
_G.trapos_cloud_started = nil
if not fine then
  error(problem, 0)
end
