-- The basic system: what programs find in their globals, and how the first program is started.
-- It receives the natives that only it may use.
local natives = ...

local pack, unpack = table.pack, table.unpack

local check = natives.rom("modules/main/cc/expect.lua")()
local expect = check.expect

-- Events ---------------------------------------------------------------------------------------------------------

function os.pullEventRaw(filter)
  return coroutine.yield(filter)
end

function os.pullEvent(filter)
  local event = pack(os.pullEventRaw(filter))
  if event[1] == "terminate" then
    error("Terminated", 0)
  end
  return unpack(event, 1, event.n)
end

function sleep(seconds)
  expect(1, seconds, "number", "nil")
  local timer = os.startTimer(seconds or 0)
  repeat
    local _, id = os.pullEvent("timer")
  until id == timer
end

function os.sleep(seconds)
  sleep(seconds)
end

function os.version()
  return "CraftOS 1.9"
end

local nativeShutdown, nativeReboot = os.shutdown, os.reboot

function os.shutdown()
  nativeShutdown()
  while true do
    coroutine.yield()
  end
end

function os.reboot()
  nativeReboot()
  while true do
    coroutine.yield()
  end
end

-- Files as programs ------------------------------------------------------------------------------------------------

function loadfile(path, mode, env)
  if type(mode) == "table" and env == nil then
    mode, env = nil, mode
  end
  expect(1, path, "string")
  expect(2, mode, "string", "nil")
  expect(3, env, "table", "nil")
  local file, reason = fs.open(path, "r")
  if not file then
    return nil, reason or "File not found"
  end
  local source = file.readAll()
  file.close()
  return load(source, "@/" .. fs.combine(path), mode, env or _G)
end

function dofile(path)
  expect(1, path, "string")
  local fn, reason = loadfile(path, nil, _G)
  if not fn then
    error(reason, 2)
  end
  return fn()
end

function os.run(env, path, ...)
  expect(1, env, "table")
  expect(2, path, "string")
  setmetatable(env, { __index = _G })
  local fn, reason = loadfile(path, nil, env)
  if not fn then
    if reason and reason ~= "" then
      printError(reason)
    end
    return false
  end
  local ok, failure = pcall(fn, ...)
  if not ok then
    if failure and failure ~= "" then
      printError(failure)
    end
    return false
  end
  return true
end

-- Text ---------------------------------------------------------------------------------------------------------------

-- A cursor that writes words and breaks lines, scrolling at the bottom.
local function newPen()
  local width, height = term.getSize()
  local x, y = term.getCursorPos()
  local pen = { lines = 0 }

  function pen.newLine()
    pen.lines = pen.lines + 1
    if y + 1 <= height then
      y = y + 1
      term.setCursorPos(1, y)
    else
      y = height
      term.setCursorPos(1, y)
      term.scroll(1)
      term.setCursorPos(1, y)
    end
    x = 1
  end

  function pen.put(text)
    term.setCursorPos(x, y)
    term.write(text)
    x = x + #text
  end

  --- Writes a word on the next line if it does not fit on this one, or in pieces if it fits on none.
  function pen.word(word)
    if #word <= width then
      if x + #word - 1 > width then
        pen.newLine()
      end
      pen.put(word)
      return
    end
    while #word > 0 do
      if x > width then
        pen.newLine()
      end
      local room = width - x + 1
      pen.put(word:sub(1, room))
      word = word:sub(room + 1)
    end
  end

  function pen.rest()
    term.setCursorPos(x, y)
  end

  return pen
end

function write(text)
  expect(1, text, "string", "number")
  text = tostring(text)
  local pen = newPen()
  local at, length = 1, #text
  while at <= length do
    local c = text:sub(at, at)
    local _, last = nil, at
    if c == "\n" then
      pen.newLine()
    elseif c == " " or c == "\t" then
      _, last = text:find("^[ \t]+", at)
      pen.put(text:sub(at, last))
    else
      _, last = text:find("^[^ \t\n]+", at)
      pen.word(text:sub(at, last))
    end
    at = last + 1
  end
  pen.rest()
  return pen.lines
end

function print(...)
  local values = pack(...)
  local lines = 0
  for i = 1, values.n do
    local text = tostring(values[i])
    if i < values.n then
      text = text .. "\t"
    end
    lines = lines + write(text)
  end
  return lines + write("\n")
end

function printError(...)
  local colour = term.isColour() and term.getTextColour()
  if colour then
    term.setTextColour(colours.red)
  end
  print(...)
  if colour then
    term.setTextColour(colour)
  end
end

function read(mask, history, complete, default)
  return natives.rom("read.lua")(expect, mask, history, complete, default)
end

-- APIs ---------------------------------------------------------------------------------------------------------------

local function install(name, native)
  _G[name] = natives.rom("apis/" .. name .. ".lua")(native, check)
end

install("colors")
install("colours")
install("keys")
install("term", term)
install("window")
install("parallel")
install("textutils", textutils)
install("settings")
install("fs", fs)
install("io")
install("peripheral")
install("redstone")
rs = redstone
if http then
  install("http", http)
end

function os.loadAPI(path)
  expect(1, path, "string")
  local name = fs.getName(path):gsub("%.lua$", "")
  local env = setmetatable({}, { __index = _G })
  local fn, reason = loadfile(path, nil, env)
  if not fn then
    printError(reason)
    return false
  end
  local ok, failure = pcall(fn)
  if not ok then
    printError("Failed to load API " .. name .. " due to " .. tostring(failure))
    return false
  end
  local api = {}
  for key, value in pairs(env) do
    api[key] = value
  end
  _G[name] = api
  return true
end

function os.unloadAPI(name)
  expect(1, name, "string")
  if name ~= "_G" and type(_G[name]) == "table" then
    _G[name] = nil
  end
end

-- Settings -----------------------------------------------------------------------------------------------------------

settings.define("shell.allow_startup", { default = true, description = "Run startup files.", type = "boolean" })
settings.define("shell.allow_disk_startup", { default = false, description = "Run startup files of disks.", type = "boolean" })
settings.define("shell.autocomplete", { default = true, description = "Complete commands in the shell.", type = "boolean" })
settings.define("lua.autocomplete", { default = true, description = "Complete code in the Lua prompt.", type = "boolean" })
settings.define("list.show_hidden", { default = false, description = "List files whose names begin with a dot.", type = "boolean" })
settings.define("motd.enable", { default = false, description = "Show a message when the computer starts.", type = "boolean" })

if fs.exists(".settings") then
  settings.load(".settings")
end
if natives.presets then
  for name, value in pairs(natives.presets) do
    settings.set(name, value)
  end
  settings.save(".settings")
end

-- The first program ---------------------------------------------------------------------------------------------------

local ok, failure = pcall(function()
  os.run({}, "rom/programs/shell.lua")
end)

-- The shell has ended, or failed.
pcall(term.redirect, term.native())
if not ok then
  printError(failure)
end
term.setTextColour(colours.yellow)
print("Goodbye")
term.setTextColour(colours.white)
os.shutdown()
