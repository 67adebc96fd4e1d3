-- textutils: text as tables, tables as text. The heavy parts are natives.
local textutils, check = ...
local expect = check.expect

function textutils.unserialize(text)
  expect(1, text, "string")
  local fn = load("return " .. text, "=unserialize", "t", {})
  if fn then
    local ok, result = pcall(fn)
    if ok then
      return result
    end
  end
  return nil
end
textutils.unserialise = textutils.unserialize

function textutils.urlEncode(text)
  expect(1, text, "string")
  text = text:gsub("\n", "\r\n")
  text = text:gsub("[^A-Za-z0-9 %-%_%.]", function(c)
    return ("%%%02X"):format(c:byte())
  end)
  return (text:gsub(" ", "+"))
end

function textutils.formatTime(time, full)
  expect(1, time, "number")
  local suffix = ""
  if not full then
    suffix = time >= 12 and " PM" or " AM"
    if time >= 13 then
      time = time - 12
    end
  end
  local hour = math.floor(time)
  local minute = math.floor((time - hour) * 60)
  if not full and hour == 0 then
    hour = 12
  end
  return ("%d:%02d%s"):format(hour, minute, suffix)
end

function textutils.slowWrite(text, rate)
  expect(2, rate, "number", "nil")
  text = tostring(text)
  for i = 1, #text do
    sleep(1 / (rate or 20))
    write(text:sub(i, i))
  end
end

function textutils.slowPrint(text, rate)
  textutils.slowWrite(text, rate)
  print()
end

function textutils.pagedPrint(text)
  expect(1, text, "string")
  local _, height = term.getSize()
  local shown = 0
  for line in (text .. "\n"):gmatch("(.-)\n") do
    shown = shown + print(line)
    if shown >= height - 2 then
      shown = 0
      write("Press any key to continue")
      os.pullEvent("key")
      local _, y = term.getCursorPos()
      term.clearLine()
      term.setCursorPos(1, y)
    end
  end
end

local function tabulate(...)
  local width = term.getSize()
  local longest = width / 8
  local rows = table.pack(...)
  for i = 1, rows.n do
    if type(rows[i]) == "table" then
      for _, item in pairs(rows[i]) do
        longest = math.max(#tostring(item) + 1, longest)
      end
    end
  end
  local columns = math.max(math.floor(width / longest), 1)
  for i = 1, rows.n do
    local row = rows[i]
    if type(row) == "number" then
      term.setTextColour(row)
    else
      local n = 0
      for _, item in ipairs(row) do
        if n > 0 and n % columns == 0 then
          print()
        end
        local text = tostring(item)
        write(text)
        n = n + 1
        if n % columns ~= 0 then
          write((" "):rep(math.max(math.floor(longest) - #text, 1)))
        end
      end
      if n > 0 then
        print()
      end
    end
  end
end

textutils.tabulate = tabulate
textutils.pagedTabulate = tabulate

function textutils.complete(text, env)
  expect(1, text, "string")
  local scope = env or _G
  local path, partial = text:match("([%w_%.]-)([%w_]*)$")
  for name in path:gmatch("[%w_]+") do
    scope = type(scope) == "table" and scope[name] or nil
  end
  local found = {}
  if type(scope) == "table" then
    for name in pairs(scope) do
      if type(name) == "string" and name:sub(1, #partial) == partial and #name > #partial then
        found[#found + 1] = name:sub(#partial + 1)
      end
    end
  end
  table.sort(found)
  return found
end

return textutils
