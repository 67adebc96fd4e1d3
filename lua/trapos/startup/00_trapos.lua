-- Starts the cloud server and the programs that use it beside the shell, then whatever else starts with this computer.
-- Startup files run one after another, so this one takes over: the later ones run in its shell, next to the servers, and a
-- startup.lua that never returns was renamed to startup.user.lua by the installer.

local SERVERS = { "/servers/cloud.lua", "/servers/mcp-computer-server.lua" }
local OWN = "00_trapos.lua"
-- Seconds until a server that failed is started again; it doubles up to the longest.
local RESTART_FIRST, RESTART_LONGEST = 1, 60
-- Shells in a row that fail within a second until it is taken as hopeless.
local QUICK_LIMIT = 3

-- Where everything is drawn: a window, which unlike a computer's own terminal can be asked what it shows. (On an advanced
-- computer the shell runs in one anyway.)
local native, screen = term.current(), term.current()
if not native.getLine then
  local width, height = native.getSize()
  screen = window.create(native, 1, 1, width, height)
  term.redirect(screen)
end

-- Follows the terminal when it changes its size.
local function followSize()
  while true do
    os.pullEventRaw("term_resize")
    if native ~= screen then
      screen.reposition(1, 1, native.getSize())
    end
  end
end

local function report(message)
  printError(message)
end

local function environment()
  local env = setmetatable({ shell = shell, multishell = multishell }, { __index = _G })
  env.require, env.package = require("cc.require").make(env, "")
  return env
end

-- Runs a server, with the screen as its argument, as a coroutine of its own, to which Ctrl+T does not get through: that is
-- meant for the program in front.
local function runServer(path)
  local fn, message = loadfile(path, nil, environment())
  if not fn then
    return false, message
  end
  local co = coroutine.create(fn)
  local event, filter = { n = 1, screen }, nil
  while true do
    if event[1] ~= "terminate" and (filter == nil or event[1] == filter) then
      local ok, result = coroutine.resume(co, (table.unpack or unpack)(event, 1, event.n))
      if not ok then
        return false, result
      elseif coroutine.status(co) == "dead" then
        return true
      end
      filter = result
    end
    event = table.pack(os.pullEventRaw())
  end
end

local function wait(seconds)
  local timer = os.startTimer(seconds)
  repeat
    local event, id = os.pullEventRaw()
  until event == "timer" and id == timer
end

-- A server that returns has nothing to do (cloud.url is not set) until somebody says connect.
local function keep(path)
  return function()
    local delay = RESTART_FIRST
    while true do
      local ok, message = runServer(path)
      if ok then
        delay = RESTART_FIRST
        local event, command
        repeat
          event, command = os.pullEventRaw()
        until event == "trapos_cloud_control" and command == "connect"
      else
        report(fs.getName(path) .. " failed and is started again: " .. tostring(message))
        wait(delay)
        delay = math.min(delay * 2, RESTART_LONGEST)
      end
    end
  end
end

local function otherStartups()
  local list = {}
  if fs.exists("/startup.user.lua") then
    list[1] = "/startup.user.lua"
  end
  if fs.isDir("/startup") then
    for _, name in ipairs(fs.list("/startup")) do
      if name > OWN and not fs.isDir(fs.combine("/startup", name)) then
        list[#list + 1] = "/startup/" .. name
      end
    end
  end
  return list
end

local function front()
  for _, path in ipairs(otherStartups()) do
    shell.run(path)
  end
  -- Ctrl+T at the prompt ends a shell with an error; that is no reason to turn the computer off.
  local quick = 0
  while quick < QUICK_LIMIT do
    local began = os.clock()
    if shell.run("/rom/programs/shell.lua") then
      return
    end
    quick = os.clock() - began < 1 and quick + 1 or 0
  end
end

shell.setPath(shell.path() .. ":/programs")
if shell.setCompletionFunction then
  local found, completion = pcall(require, "cc.shell.completion")
  if found then
    shell.setCompletionFunction("programs/cloud.lua", completion.build({ completion.choice,
      { "status", "connect", "disconnect", "url ", "password", "network " } }))
  end
end

local together = { front, followSize }
for _, path in ipairs(SERVERS) do
  together[#together + 1] = keep(path)
end
parallel.waitForAny((table.unpack or unpack)(together))
-- The shell is over: what follows a shell is the end, as without us. Going on would run the other startup files twice.
os.shutdown()
