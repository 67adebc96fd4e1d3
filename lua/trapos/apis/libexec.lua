-- Executes Lua source with a deadline, and says what came of it.
-- The code runs in a coroutine that gives way every SLICE milliseconds, so that an endless loop neither freezes the
-- computer nor outlives its deadline; it is never continued after that.

local capture = require("/apis/libcapture")
local sandbox = require("/apis/libsandbox")
local values = require("/apis/libvalues")

local unpack = table.unpack or unpack

-- Milliseconds of computing at a stretch; the game's tick is 50.
local SLICE = 40
-- Events kept for code that is computing; the computer itself keeps as many.
local MAX_PENDING = 256
-- Seconds after which a wake-up call that did not come back is taken as dropped.
local TICK_LOST = 1
-- Named sessions whose globals are kept.
local MAX_SESSIONS = 16

local exec = {}

local sessions, sessionOrder = {}, {}
local nextId = 0

local function pack(...)
  return { n = select("#", ...), ... }
end

local function now()
  return os.epoch("utc")
end

-- shell.exit would end the shell that the servers run beside.
local function guardedShell(shell)
  return setmetatable({ exit = sandbox.leaver("exit", shell.exit) }, { __index = shell })
end

--- The globals of executed code: everything that a program has, with require resolving from the root.
function exec.environment(host)
  local env = setmetatable({}, { __index = _G })
  if host.shell then
    env.shell = guardedShell(host.shell)
  end
  env.multishell = host.multishell
  env.debug = { traceback = debug and debug.traceback }
  local found, maker = pcall(require, "cc.require")
  if found then
    env.require, env.package = maker.make(env, "")
  else
    env.require = require
  end
  return env
end

-- The environment of a session, made on first use; the least recently made one goes when there are too many.
local function sessionEnvironment(name, host)
  if not sessions[name] then
    sessions[name] = exec.environment(host)
    sessionOrder[#sessionOrder + 1] = name
    if #sessionOrder > MAX_SESSIONS then
      sessions[table.remove(sessionOrder, 1)] = nil
    end
  end
  return sessions[name]
end

-- A chunk, or an expression whose value is wanted.
local function compile(source, name, env)
  local fn, message = load(source, name, "t", env)
  if not fn then
    fn = load("return " .. source, name, "t", env)
  end
  return fn, message
end

-- The line of the executed code that a message names, if it names one.
local function lineOf(message, chunkName)
  local prefix = chunkName:gsub("^[=@]", "") .. ":"
  if message:sub(1, #prefix) == prefix then
    return tonumber(message:match("^%d+", #prefix + 1))
  end
end

local function failure(kind, message, stack)
  return { ok = false, kind = kind, error = message, traceback = stack }
end

-- The call stack of the code, without the frames beneath it that are ours.
local function traceback(message)
  if not debug or not debug.traceback then
    return nil
  end
  local text = debug.traceback(message, 3)
  return (text:gsub("\n[^\n]*libexec%.lua:.*$", ""):gsub("\n[^\n]*xpcall[^\n]*$", ""))
end

local function onError(value)
  local message = values.errorText(value)
  return { message = message, traceback = traceback(message) }
end

local EXIT_WORDS = {
  reboot = "the code rebooted the computer",
  shutdown = "the code shut the computer down",
  exit = "the code left the shell",
}

-- One run's view of the computer's events: what arrives while the code computes waits for it.
local function newInbox(id)
  local inbox = { pending = {} }
  local ticking

  --- Lets everything else run once. Any event will do as a sign that it has; the wake-up call makes sure that one comes.
  function inbox.giveWay()
    local clock = os.clock()
    if not ticking or clock - ticking > TICK_LOST then
      ticking = clock
      os.queueEvent("trapos_exec_tick", id)
    end
    inbox.take(pack(coroutine.yield()))
  end

  --- Keeps an event for the code, unless it is a wake-up call.
  function inbox.take(event)
    if event[1] == "trapos_exec_tick" then
      if event[2] == id then
        ticking = nil
      end
    elseif #inbox.pending < MAX_PENDING then
      inbox.pending[#inbox.pending + 1] = event
    end
  end

  --- The next kept event that passes the filter; what does not pass is dropped, as the computer does.
  function inbox.next(filter)
    while inbox.pending[1] do
      local event = table.remove(inbox.pending, 1)
      if filter == nil or event[1] == filter or event[1] == "terminate" then
        return event
      end
    end
  end

  return inbox
end

local function outcomeOf(result)
  if not result[1] then
    -- Not even xpcall caught it: the computer's own watchdog, which fires inside one long native call.
    local message = values.errorText(result[2])
    return failure(message:find("Too long without yielding", 1, true) and "timeout" or "runtime", message)
  elseif result[2] then
    return { ok = true, returns = pack(unpack(result, 3, result.n)) }
  end
  local thrown = result[3]
  if type(thrown) ~= "table" then
    thrown = { message = tostring(thrown) }
  end
  local message = thrown.message
  local kind = message == "Terminated" and "terminated"
    or message:find("Too long without yielding", 1, true) and "timeout"
    or "runtime"
  return failure(kind, message, thrown.traceback)
end

-- Drives a run to its end, its deadline or its cancellation.
local function drive(run, id, deadline, control)
  local inbox, event, filter = newInbox(id), { n = 0 }, nil
  while true do
    if control.cancelled then
      return failure("cancelled", "cancelled by the caller")
    elseif now() >= deadline then
      return failure("timeout", "stopped at its time limit")
    end
    if event then
      local result = pack(run.resume(math.min(SLICE, deadline - now()), unpack(event, 1, event.n)))
      local first = result[2]
      if coroutine.status(run.co) == "dead" then
        return outcomeOf(result)
      elseif first == sandbox.EXIT then
        local outcome = failure("exit", EXIT_WORDS[result[3]])
        outcome.leave = result[3]
        return outcome
      elseif first == sandbox.TICK then
        event = { n = 0 }
        inbox.giveWay()
      else
        filter = first
        event = inbox.next(filter)
      end
    else
      inbox.take(pack(coroutine.yield()))
      event = inbox.next(filter)
    end
  end
end

--- Executes source; only from a task of an event loop, since it waits for events.
--- options: timeoutMs, chunkName, session (a name: globals persist), outputLimit (bytes), host ({shell=, multishell=}),
--- control (set control.cancelled = true and queue any event to stop it).
--- Result: ok, returns (packed) | kind, error, line, traceback; always output, outputTruncated, outputBytes;
--- `leave` is "reboot", "shutdown" or "exit" when the code asked for that: it is for the caller to do.
function exec.run(source, options)
  local host = options.host or {}
  local env = options.session and sessionEnvironment(options.session, host) or exec.environment(host)
  local fn, message = compile(source, options.chunkName, env)
  if not fn then
    local result = failure("syntax", message)
    result.line = lineOf(message, options.chunkName)
    result.output, result.outputTruncated, result.outputBytes = "", false, 0
    return result
  end
  nextId = nextId + 1
  local buffer = capture.buffer(options.outputLimit)
  local run = sandbox.start(function()
    return xpcall(fn, onError)
  end, capture.terminal(buffer))
  local deadline = now() + options.timeoutMs
  local timer = os.startTimer(options.timeoutMs / 1000 + 0.05)
  local fine, result = pcall(drive, run, nextId, deadline, options.control or {})
  run.finish()
  os.cancelTimer(timer)
  if not fine then
    error(result, 0)
  end
  result.line = result.error and lineOf(result.error, options.chunkName)
  result.output, result.outputTruncated, result.outputBytes = buffer.result()
  return result
end

return exec
