-- parallel: runs several functions at once, each seeing every event.
local _, check = ...
local expect = check.expect

local function create(...)
  local routines = {}
  for i = 1, select("#", ...) do
    local fn = select(i, ...)
    expect(i, fn, "function")
    routines[i] = { co = coroutine.create(fn), alive = true }
  end
  return routines
end

-- Resumes them with every event until only `limit` are left; returns the number of the one that ended last.
local function run(routines, limit)
  local left = #routines
  local event = { n = 0 }
  if left < 1 then
    return 0
  end
  while true do
    for i, routine in ipairs(routines) do
      local wanted = routine.filter
      if routine.alive and (wanted == nil or wanted == event[1] or event[1] == "terminate") then
        local ok, filter = coroutine.resume(routine.co, table.unpack(event, 1, event.n))
        if not ok then
          error(filter, 0)
        end
        routine.filter = filter
        if coroutine.status(routine.co) == "dead" then
          routine.alive = false
          left = left - 1
          if left <= limit then
            return i
          end
        end
      end
    end
    event = table.pack(os.pullEventRaw())
  end
end

local parallel = {}

function parallel.waitForAny(...)
  local routines = create(...)
  return run(routines, #routines - 1)
end

function parallel.waitForAll(...)
  return run(create(...), 0)
end

return parallel
