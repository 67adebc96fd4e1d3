-- Runs code so that it can be stopped: every coroutine that it makes carries a count hook that yields when its slice of
-- time is over, and what it prints, and its wish to reboot, are caught.
--
-- While at least one such run is active, a few global functions are replaced in place (coroutine.resume, coroutine.wrap,
-- debug.sethook, os.reboot, os.shutdown, print, write). For code outside a run they do what they always did; they must be
-- replaced in place because programs and rom APIs that the code calls look them up there.

local unpack = table.unpack or unpack

-- Instructions between two looks at the clock: well under a millisecond.
local HOOK_COUNT = 5000

local sandbox = {}

--- What a run's coroutine yields instead of an event filter: its slice is over; it wants to reboot, shut down or leave.
sandbox.TICK = {}
sandbox.EXIT = {}

local TICK, EXIT = sandbox.TICK, sandbox.EXIT

local native = {
  create = coroutine.create,
  resume = coroutine.resume,
  yield = coroutine.yield,
  running = coroutine.running,
  sethook = debug and debug.sethook,
  epoch = os.epoch,
}

local runOf = setmetatable({}, { __mode = "k" }) -- coroutine -> the run that it belongs to
local active, patches = 0, nil

local function pack(...)
  return { n = select("#", ...), ... }
end

--- The run that the calling coroutine belongs to, or nil.
local function currentRun()
  local co = native.running()
  return co and runOf[co]
end

-- Makes co a part of run. A coroutine may pass from one run to another (kept in a session).
local function adopt(co, run)
  if runOf[co] == run then
    return
  end
  runOf[co] = run
  run.members[#run.members + 1] = co
  if native.sethook then
    native.sethook(co, function()
      if not run.finished and native.epoch("utc") >= run.sliceEnd then
        native.yield(TICK)
      end
    end, "", HOOK_COUNT)
  end
end

-- Resumes co for a run. A slice that ends inside co ends the slices of all that wait for it.
local function resumeMember(run, co, ...)
  adopt(co, run)
  local result = pack(native.resume(co, ...))
  while result[1] and (result[2] == TICK or result[2] == EXIT) do
    result = pack(native.resume(co, native.yield(result[2], result[3])))
  end
  return unpack(result, 1, result.n)
end

local function text(separator, ...)
  local parts = pack(...)
  for i = 1, parts.n do
    parts[i] = tostring(parts[i])
  end
  return table.concat(parts, separator, 1, parts.n)
end

-- The run whose output a call of print or write is: not when it goes to a monitor.
local function outputRun()
  local run = currentRun()
  if run and term.current() == run.terminal then
    return run
  end
end

local replacement = {}

function replacement.resume(old)
  return function(co, ...)
    local run = currentRun()
    if run and type(co) == "thread" then
      return resumeMember(run, co, ...)
    end
    return old(co, ...)
  end
end

function replacement.wrap(old)
  return function(fn)
    if not currentRun() then
      return old(fn)
    end
    local co = native.create(fn)
    return function(...)
      local result = pack(coroutine.resume(co, ...))
      if not result[1] then
        error(result[2], 0)
      end
      return unpack(result, 2, result.n)
    end
  end
end

function replacement.sethook(old)
  return function(...)
    if currentRun() then
      error("debug.sethook is not available here: it keeps the time limit", 2)
    end
    return old(...)
  end
end

local function leave(what)
  return function(old)
    return function(...)
      if not currentRun() then
        return old(...)
      end
      while true do
        native.yield(EXIT, what)
      end
    end
  end
end

replacement.reboot = leave("reboot")
replacement.shutdown = leave("shutdown")

function replacement.print(old)
  return function(...)
    local run = outputRun()
    if not run then
      return old(...)
    end
    return run.terminal.flow(text("\t", ...) .. "\n")
  end
end

function replacement.write(old)
  return function(...)
    local run = outputRun()
    if not run then
      return old(...)
    end
    return run.terminal.flow(text("", ...))
  end
end

local function targets()
  local list = {
    { coroutine, "resume" },
    { coroutine, "wrap" },
    { os, "reboot" },
    { os, "shutdown" },
    { _G, "print" },
    { _G, "write" },
  }
  if native.sethook then
    list[#list + 1] = { debug, "sethook" }
  end
  return list
end

local function install()
  patches = {}
  for _, target in ipairs(targets()) do
    local holder, name = target[1], target[2]
    local old = holder[name]
    local new = replacement[name](old)
    holder[name] = new
    patches[#patches + 1] = { holder = holder, name = name, old = old, new = new }
  end
end

-- A function that somebody else replaced meanwhile is left alone: ours beneath it does no harm.
local function uninstall()
  for _, patch in ipairs(patches) do
    if patch.holder[patch.name] == patch.new then
      patch.holder[patch.name] = patch.old
    end
  end
  patches = nil
end

--- A function that ends the run of the code that calls it, as os.reboot does; for code outside a run it calls `otherwise`.
function sandbox.leaver(what, otherwise)
  return leave(what)(otherwise)
end

--- Begins a run of fn on a terminal of libcapture. Returns run, with run.co to be resumed by run.resume.
function sandbox.start(fn, terminal)
  local run = { members = {}, terminal = terminal, sliceEnd = 0, co = native.create(fn) }
  if active == 0 then
    install()
  end
  active = active + 1
  adopt(run.co, run)
  local target = terminal

  --- Resumes the run for at most `slice` milliseconds, drawing on its terminal. Returns what coroutine.resume returns.
  function run.resume(slice, ...)
    run.sliceEnd = native.epoch("utc") + slice
    local before = term.redirect(target)
    local result = pack(native.resume(run.co, ...))
    target = term.redirect(before)
    return unpack(result, 1, result.n)
  end

  --- Ends the run. Its coroutines are dropped where they stand.
  function run.finish()
    if run.finished then
      return
    end
    run.finished = true
    for _, co in ipairs(run.members) do
      if runOf[co] == run then
        runOf[co] = nil
      end
    end
    active = active - 1
    if active == 0 then
      uninstall()
    end
  end

  return run
end

return sandbox
