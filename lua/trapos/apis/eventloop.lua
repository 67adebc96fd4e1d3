-- An event loop: handlers for events, timers, and tasks (coroutines that may wait for events themselves).
--
--   local loop = require("/apis/eventloop").create()
--   loop.on("redstone", function() ... end)          a handler runs in the loop and must not wait
--   loop.after(5, function() ... end)                once, in five seconds
--   loop.spawn(function() sleep(1) ... end)          a task may sleep and pull events, and sees every event
--   loop.run()                                       until loop.stop() or Ctrl+T
--
-- A computer drops events beyond 256 waiting ones, timer events included, so a timer that is overdue fires on the next event
-- of any kind.

local unpack = table.unpack or unpack

-- Seconds after which a timer whose event never came is taken as lost.
local OVERDUE = 0.5

local eventloop = {}

local function pack(...)
  return { n = select("#", ...), ... }
end

local function guarded(state, fn, ...)
  local ok, message = pcall(fn, ...)
  if not ok then
    state.onError(tostring(message))
  end
end

local function resume(state, task, ...)
  local ok, filter = coroutine.resume(task.co, ...)
  if not ok then
    state.onError(tostring(filter))
  end
  task.filter = ok and filter or nil
  task.done = coroutine.status(task.co) == "dead"
end

local function runTimers(state, event)
  local fired = {}
  local now = os.clock()
  for id, timer in pairs(state.timers) do
    if (event[1] == "timer" and event[2] == id) or now > timer.due + OVERDUE then
      fired[#fired + 1] = id
    end
  end
  for _, id in ipairs(fired) do
    local timer = state.timers[id]
    if timer then -- not cancelled by one of the others
      state.timers[id] = nil
      guarded(state, timer.fn)
    end
  end
end

local function runHandlers(state, event)
  local list = state.handlers[event[1]]
  if not list then
    return
  end
  local current = {} -- handlers may come and go meanwhile
  for i = 1, #list do
    current[i] = list[i]
  end
  for i = 1, #current do
    if current[i].fn then
      guarded(state, current[i].fn, unpack(event, 2, event.n))
    end
  end
end

local function runTasks(state, event)
  for i = 1, #state.tasks do -- not those that are spawned meanwhile
    local task = state.tasks[i]
    if not task.done and (task.filter == nil or task.filter == event[1]) then
      resume(state, task, unpack(event, 1, event.n))
    end
  end
  local kept = {}
  for i = 1, #state.tasks do
    if not state.tasks[i].done then
      kept[#kept + 1] = state.tasks[i]
    end
  end
  state.tasks = kept
end

-- What a loop can do; create binds each to the state of its loop.
local methods = {}

--- Calls fn(...) with the arguments of every such event. Returns a function that ends it.
function methods.on(state, event, fn)
  local entry = { fn = fn }
  local list = state.handlers[event] or {}
  state.handlers[event] = list
  list[#list + 1] = entry
  return function()
    entry.fn = nil
    for i = #list, 1, -1 do
      if list[i] == entry then
        table.remove(list, i)
      end
    end
  end
end

--- Calls fn once after so many seconds. Returns a function that cancels it.
function methods.after(state, seconds, fn)
  local id = os.startTimer(seconds)
  state.timers[id] = { fn = fn, due = os.clock() + seconds }
  return function()
    if state.timers[id] then
      state.timers[id] = nil
      os.cancelTimer(id)
    end
  end
end

--- Starts fn(...) as a task: a coroutine that may wait for events with os.pullEvent, sleep and the like.
function methods.spawn(state, fn, ...)
  local task = { co = coroutine.create(fn) }
  state.tasks[#state.tasks + 1] = task
  resume(state, task, ...)
end

--- Lets everything else run for a moment; only from within a task.
function methods.pause()
  os.queueEvent("trapos_pause")
  os.pullEventRaw()
end

--- Handles one event.
function methods.dispatch(state, ...)
  local event = pack(...)
  runTimers(state, event)
  runHandlers(state, event)
  runTasks(state, event)
end

--- Handles events until stop() or Ctrl+T. Returns true when it was Ctrl+T.
function methods.run(state)
  state.running = true
  local terminated = false
  while state.running do
    local event = pack(os.pullEventRaw())
    if event[1] == "terminate" then
      state.running, terminated = false, true
    else
      methods.dispatch(state, unpack(event, 1, event.n))
    end
  end
  for id in pairs(state.timers) do
    os.cancelTimer(id)
  end
  state.timers = {}
  return terminated
end

function methods.stop(state)
  state.running = false
end

--- A new loop. options.onError(message) is told about errors in handlers and tasks (default: printError).
function eventloop.create(options)
  local state = {
    onError = options and options.onError or printError,
    handlers = {}, -- event -> list of {fn}
    timers = {}, -- id -> {fn, due}
    tasks = {}, -- {co, filter, done}
    running = false,
  }
  local loop = {}
  for name, method in pairs(methods) do
    loop[name] = function(...)
      return method(state, ...)
    end
  end
  return loop
end

return eventloop
