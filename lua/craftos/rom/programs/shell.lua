-- shell: runs startup files, then reads commands. Also the shell API of the programs that it runs.
local expect = dofile("rom/modules/main/cc/expect.lua").expect
local makePackage = dofile("rom/modules/main/cc/require.lua").make

local parent = shell
local shell = {}

local dir = parent and parent.dir() or ""
local path = parent and parent.path() or ".:/rom/programs:/rom/programs/http"
local aliases = parent and parent.aliases() or {
  ls = "list", dir = "list", cp = "copy", mv = "move", rm = "delete", clr = "clear", sh = "shell",
}
local completions = parent and parent.getCompletionInfo() or {}
local running = {}
local leaving = false

local function environment(directory)
  local env = { shell = shell }
  env.require, env.package = makePackage(env, directory)
  return env
end

local function words(...)
  local line = table.concat({ ... }, " ")
  local found, quoted = {}, false
  for part in (line .. '"'):gmatch('(.-)"') do
    if quoted then
      found[#found + 1] = part
    else
      for word in part:gmatch("[^ \t]+") do
        found[#found + 1] = word
      end
    end
    quoted = not quoted
  end
  return found
end

local function executeProgram(command, arguments)
  local resolved = shell.resolveProgram(command)
  if not resolved then
    printError("No such program")
    return false
  end
  running[#running + 1] = resolved
  local env = environment(fs.getDir(resolved))
  env.arg = { [0] = command, table.unpack(arguments, 1, arguments.n) }
  local ok = os.run(env, resolved, table.unpack(arguments, 1, arguments.n))
  running[#running] = nil
  return ok
end

function shell.run(...)
  local parts = words(...)
  local command = table.remove(parts, 1)
  if not command then
    return false
  end
  parts.n = #parts
  return executeProgram(command, parts)
end

function shell.execute(command, ...)
  expect(1, command, "string")
  for i = 1, select("#", ...) do
    expect(i + 1, select(i, ...), "string")
  end
  return executeProgram(command, table.pack(...))
end

function shell.exit()
  leaving = true
end

function shell.dir()
  return dir
end

function shell.setDir(new)
  expect(1, new, "string")
  if not fs.isDir(new) then
    error("Not a directory", 2)
  end
  dir = fs.combine(new, "")
end

function shell.path()
  return path
end

function shell.setPath(new)
  expect(1, new, "string")
  path = new
end

function shell.resolve(name)
  expect(1, name, "string")
  local first = name:sub(1, 1)
  if first == "/" or first == "\\" then
    return fs.combine("", name)
  end
  return fs.combine(dir, name)
end

local function program(candidate)
  if fs.exists(candidate) and not fs.isDir(candidate) then
    return candidate
  end
  local withExtension = candidate .. ".lua"
  if fs.exists(withExtension) and not fs.isDir(withExtension) then
    return withExtension
  end
  return nil
end

function shell.resolveProgram(command)
  expect(1, command, "string")
  command = aliases[command] or command
  if command:find("[/\\]") then
    return program(shell.resolve(command))
  end
  for place in path:gmatch("[^:]+") do
    local found = program(fs.combine(shell.resolve(place), command))
    if found then
      return found
    end
  end
  return nil
end

function shell.programs(hidden)
  local seen, names = {}, {}
  for place in path:gmatch("[^:]+") do
    local directory = shell.resolve(place)
    if fs.isDir(directory) then
      for _, name in ipairs(fs.list(directory)) do
        if not fs.isDir(fs.combine(directory, name)) and (hidden or name:sub(1, 1) ~= ".") then
          name = name:gsub("%.lua$", "")
          if not seen[name] then
            seen[name] = true
            names[#names + 1] = name
          end
        end
      end
    end
  end
  table.sort(names)
  return names
end

function shell.getRunningProgram()
  return running[#running]
end

function shell.setAlias(command, target)
  aliases[command] = target
end

function shell.clearAlias(command)
  aliases[command] = nil
end

function shell.aliases()
  local copy = {}
  for command, target in pairs(aliases) do
    copy[command] = target
  end
  return copy
end

function shell.setCompletionFunction(name, fn)
  expect(1, name, "string")
  expect(2, fn, "function")
  completions[name] = { fnComplete = fn }
end

function shell.getCompletionInfo()
  return completions
end

function shell.complete(line)
  expect(1, line, "string")
  local parts = words(line)
  if #parts == 0 then
    return {}
  end
  local partial = parts[#parts]
  if line:sub(-1) == " " then
    parts[#parts + 1] = ""
    partial = ""
  end
  if #parts == 1 then
    local found = {}
    for _, name in ipairs(shell.programs()) do
      if #name > #partial and name:sub(1, #partial) == partial then
        found[#found + 1] = name:sub(#partial + 1)
      end
    end
    return found
  end
  local resolved = shell.resolveProgram(parts[1])
  local info = resolved and completions[resolved]
  if info then
    local previous = { table.unpack(parts, 1, #parts - 1) }
    return info.fnComplete(shell, #parts - 1, partial, previous)
  end
  return fs.complete(partial, dir)
end

function shell.completeProgram(line)
  return shell.complete(line)
end

-- A shell with arguments runs one command.
local arguments = table.pack(...)
if arguments.n > 0 then
  running[#running + 1] = parent and parent.getRunningProgram() or "rom/programs/shell.lua"
  return shell.run(...)
end

running[#running + 1] = "rom/programs/shell.lua"
term.setTextColour(colours.yellow)
print(os.version())
term.setTextColour(colours.white)

if not parent then
  shell.run("/rom/startup.lua")
end

local history = {}
while not leaving do
  term.redirect(term.current())
  term.setTextColour(colours.yellow)
  write(shell.dir() .. "> ")
  term.setTextColour(colours.white)
  local complete
  if settings.get("shell.autocomplete") then
    complete = shell.complete
  end
  local line = read(nil, history, complete)
  if line:match("%S") then
    if history[#history] ~= line then
      history[#history + 1] = line
    end
    shell.run(line)
  end
end
