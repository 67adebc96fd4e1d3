-- io: Lua's files over fs.
local io = {}
local methods = {}
local meta = { __index = methods, __name = "FILE*" }

local function wrap(handle)
  return setmetatable({ handle = handle }, meta)
end

local function isFile(value)
  return type(value) == "table" and getmetatable(value) == meta
end

local function check(file)
  if not isFile(file) then
    error("bad argument #1 (FILE expected, got " .. type(file) .. ")", 3)
  elseif file.closed then
    error("attempt to use a closed file", 3)
  end
  return file.handle
end

local function readOne(handle, format)
  if type(format) == "number" then
    return handle.read(format)
  end
  format = format:gsub("^%*", ""):sub(1, 1)
  if format == "l" then
    return handle.readLine()
  elseif format == "L" then
    return handle.readLine(true)
  elseif format == "a" then
    return handle.readAll() or ""
  elseif format == "n" then
    local text, c = "", nil
    repeat
      c = handle.read(1)
    until not c or not c:find("%s")
    while c and c:find("[%w%.%+%-]") do
      text = text .. c
      c = handle.read(1)
    end
    if c and handle.seek then
      handle.seek("cur", -1)
    end
    return tonumber(text)
  end
  error("bad argument (invalid format)", 3)
end

function methods:read(...)
  local handle = check(self)
  if not handle.readLine then
    return nil, "Not opened for reading"
  end
  local formats = table.pack(...)
  if formats.n == 0 then
    return handle.readLine()
  end
  local results = { n = formats.n }
  for i = 1, formats.n do
    results[i] = readOne(handle, formats[i])
    if results[i] == nil then
      results.n = i
      break
    end
  end
  return table.unpack(results, 1, results.n)
end

function methods:write(...)
  local handle = check(self)
  if not handle.write then
    return nil, "Not opened for writing"
  end
  for i = 1, select("#", ...) do
    local text = select(i, ...)
    handle.write(tostring(text))
  end
  return self
end

function methods:lines(...)
  check(self)
  local formats = table.pack(...)
  return function()
    if self.closed then
      error("file is already closed", 2)
    end
    local results = table.pack(self:read(table.unpack(formats, 1, formats.n)))
    if results[1] == nil and self.autoclose then
      self:close()
    end
    return table.unpack(results, 1, results.n)
  end
end

function methods:seek(whence, offset)
  local handle = check(self)
  return handle.seek(whence, offset)
end

function methods:flush()
  local handle = check(self)
  if handle.flush then
    handle.flush()
  end
  return self
end

function methods:setvbuf()
  return true
end

function methods:close()
  local handle = check(self)
  if handle.close then
    self.closed = true
    handle.close()
  end
  return true
end

function meta:__tostring()
  return self.closed and "file (closed)" or "file"
end

local stdin = wrap({ readLine = function() return read() end, readAll = function() return read() end, read = function() return read() end })
local stdout = wrap({ write = function(text) write(text) end })
local stderr = wrap({
  write = function(text)
    local colour = term.getTextColour()
    term.setTextColour(colours.red)
    write(text)
    term.setTextColour(colour)
  end,
})
io.stdin, io.stdout, io.stderr = stdin, stdout, stderr

local input, output = stdin, stdout

function io.open(path, mode)
  local handle, reason = fs.open(path, mode or "r")
  if not handle then
    return nil, reason
  end
  return wrap(handle)
end

local function select_(file, mode)
  if type(file) == "string" then
    local opened, reason = io.open(file, mode)
    if not opened then
      error(reason, 3)
    end
    return opened
  end
  check(file)
  return file
end

function io.input(file)
  if file ~= nil then
    input = select_(file, "r")
  end
  return input
end

function io.output(file)
  if file ~= nil then
    output = select_(file, "w")
  end
  return output
end

function io.read(...)
  return input:read(...)
end

function io.write(...)
  return output:write(...)
end

function io.lines(path, ...)
  if path == nil then
    return input:lines(...)
  end
  local file, reason = io.open(path, "r")
  if not file then
    error(reason, 2)
  end
  file.autoclose = true
  return file:lines(...)
end

function io.close(file)
  return (file or output):close()
end

function io.type(value)
  if isFile(value) then
    return value.closed and "closed file" or "file"
  end
  return nil
end

return io
