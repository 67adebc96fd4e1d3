-- Serves what an MCP client can do with this computer over the cloud: exec-lua, write-file and their companions.
-- Owns no socket. Without the setting cloud.url it does nothing.
-- Its argument is the window that shows the shell; without one the screen cannot be read.

local cloud = require("/apis/libcloud")
local computer = require("/apis/libmcpcomputer")
local eventloop = require("/apis/eventloop")
local files = require("/apis/libfiles")

-- Chunks of Lua at the same time; one more is answered busy.
local MAX_RUNS = 8
-- Seconds between the answer and the lights going out, for the answer to leave the machine.
local FAREWELL = 0.5

local url = settings.get("cloud.url")
if url == nil or url == "" then
  return
end

local screen = ...
local loop = eventloop.create()
local host = { shell = shell, multishell = multishell }
local runs = 0

local LEAVE = { reboot = os.reboot, shutdown = os.shutdown }

local function context(request)
  local control = { cancelled = request.cancelled }
  -- The event of the cancellation itself wakes the run.
  request.onCancel = function()
    control.cancelled = true
  end
  return { pause = loop.pause, host = host, control = control, screen = screen }
end

-- The answer goes out first.
local function leaveAfter(request, what)
  request.afterwards(function()
    sleep(FAREWELL)
    LEAVE[what]()
  end)
end

local function executeLua(payload, request)
  if runs >= MAX_RUNS then
    return nil, { code = "busy", message = "this computer runs " .. MAX_RUNS .. " chunks of Lua already" }
  end
  if payload.timeoutMs == nil then
    payload.timeoutMs = request.timeoutMs
  end
  runs = runs + 1
  local fine, answer, leave = pcall(computer.executeLua, payload, context(request))
  runs = runs - 1
  if not fine then
    error(answer, 0)
  elseif LEAVE[leave] then
    leaveAfter(request, leave)
  end
  return answer, leave
end

--- reboot-computer: {} -> {ok}.
local function reboot(_, request)
  leaveAfter(request, "reboot")
  return { ok = true }
end

local HANDLERS = {
  ["exec-lua"] = executeLua,
  ["write-file"] = computer.writeFile,
  ["read-file"] = computer.readFile,
  ["list-files"] = computer.listFiles,
  ["delete-file"] = computer.deleteFile,
  ["move-file"] = computer.moveFile,
  ["edit-file"] = computer.editFile,
  ["read-screen"] = computer.readScreen,
  ["send-keys"] = computer.sendKeys,
  ["send-event"] = computer.sendEvent,
  ["computer-info"] = computer.computerInfo,
  ["reboot-computer"] = reboot,
}

-- Those that get the request itself, not a context of libmcpcomputer.
local RAW = { ["exec-lua"] = true, ["reboot-computer"] = true }

local function serve(requestType, handler)
  cloud.serve(requestType, function(payload, request)
    if type(payload) ~= "table" then
      return nil, { code = "bad_request", message = "the payload must be an object" }
    end
    return handler(payload, RAW[requestType] and request or context(request))
  end, { eventloop = loop })
end

loop.spawn(function()
  files.recover(loop.pause)
  for requestType, handler in pairs(HANDLERS) do
    serve(requestType, handler)
  end
end)
loop.run()
