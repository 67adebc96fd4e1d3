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

--- A new loop. options.onError(message) is told about errors in handlers and tasks (default: printError).
function eventloop.create(options)
  local onError = options and options.onError or printError
  local loop = {}
  local handlers, timers, tasks = {}, {}, {}
  local running = false

  local function guarded(fn, ...)
    local ok, message = pcall(fn, ...)
    if not ok then
      onError(tostring(message))
    end
  end

  --- Calls fn(...) with the arguments of every such event. Returns a function that ends it.
  function loop.on(event, fn)
    local entry = { fn = fn }
    local list = handlers[event]
    if not list then
      list = {}
      handlers[event] = list
    end
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
  function loop.after(seconds, fn)
    local id = os.startTimer(seconds)
    timers[id] = { fn = fn, due = os.clock() + seconds }
    return function()
      if timers[id] then
        timers[id] = nil
        os.cancelTimer(id)
      end
    end
  end

  local function resume(task, ...)
    local ok, filter = coroutine.resume(task.co, ...)
    if not ok then
      onError(tostring(filter))
    end
    task.filter = ok and filter or nil
    task.done = coroutine.status(task.co) == "dead"
  end

  --- Starts fn(...) as a task: a coroutine that may wait for events with os.pullEvent, sleep and the like.
  function loop.spawn(fn, ...)
    local task = { co = coroutine.create(fn) }
    tasks[#tasks + 1] = task
    resume(task, ...)
  end

  --- Lets everything else run for a moment; only from within a task.
  function loop.pause()
    os.queueEvent("trapos_pause")
    os.pullEventRaw()
  end

  local function runTimers(event)
    local fired = {}
    local now = os.clock()
    for id, timer in pairs(timers) do
      if (event[1] == "timer" and event[2] == id) or now > timer.due + OVERDUE then
        fired[#fired + 1] = id
      end
    end
    for _, id in ipairs(fired) do
      local timer = timers[id]
      if timer then
        timers[id] = nil
        guarded(timer.fn)
      end
    end
  end

  local function runHandlers(event)
    local list = handlers[event[1]]
    if not list then
      return
    end
    local current = {}
    for i = 1, #list do
      current[i] = list[i]
    end
    for i = 1, #current do
      if current[i].fn then
        guarded(current[i].fn, unpack(event, 2, event.n))
      end
    end
  end

  local function runTasks(event)
    local count = #tasks
    for i = 1, count do
      local task = tasks[i]
      if not task.done and (task.filter == nil or task.filter == event[1]) then
        resume(task, unpack(event, 1, event.n))
      end
    end
    local kept = {}
    for i = 1, #tasks do
      if not tasks[i].done then
        kept[#kept + 1] = tasks[i]
      end
    end
    tasks = kept
  end

  --- Handles one event.
  function loop.dispatch(...)
    local event = pack(...)
    runTimers(event)
    runHandlers(event)
    runTasks(event)
  end

  --- Handles events until loop.stop() or Ctrl+T. Returns true when it was Ctrl+T.
  function loop.run()
    running = true
    local terminated = false
    while running do
      local event = pack(os.pullEventRaw())
      if event[1] == "terminate" then
        running, terminated = false, true
      else
        loop.dispatch(unpack(event, 1, event.n))
      end
    end
    for id in pairs(timers) do
      os.cancelTimer(id)
    end
    timers = {}
    return terminated
  end

  function loop.stop()
    running = false
  end

  return loop
end

return eventloop
