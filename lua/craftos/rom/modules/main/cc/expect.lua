-- cc.expect: checks of arguments.

local function typeList(types)
  if #types <= 1 then
    return types[1] or ""
  end
  return table.concat(types, ", ", 1, #types - 1) .. " or " .. types[#types]
end

local function isOneOf(value, ...)
  local actual = type(value)
  for i = 1, select("#", ...) do
    if select(i, ...) == actual then
      return true
    end
  end
  return false
end

local function wanted(...)
  local types = {}
  for i = 1, select("#", ...) do
    local name = select(i, ...)
    if name ~= "nil" then
      types[#types + 1] = name
    end
  end
  return typeList(types)
end

local function callerName()
  local info = debug and debug.getinfo and debug.getinfo(3, "n")
  local name = info and info.name
  if name and name ~= "" and name ~= "?" and name ~= "<unknown>" then
    return " to '" .. name .. "'"
  end
  return ""
end

local function expect(index, value, ...)
  if isOneOf(value, ...) then
    return value
  end
  local message = "bad argument #%d%s (%s expected, got %s)"
  return error(message:format(index, callerName(), wanted(...), type(value)), 3)
end

local function field(tbl, index, ...)
  expect(1, tbl, "table")
  expect(2, index, "string")
  local value = tbl[index]
  if isOneOf(value, ...) then
    return value
  end
  if value == nil then
    return error(("field '%s' missing from table"):format(index), 3)
  end
  return error(("bad field '%s' (%s expected, got %s)"):format(index, wanted(...), type(value)), 3)
end

local function range(number, min, max)
  expect(1, number, "number")
  min, max = min or -math.huge, max or math.huge
  if number ~= number or number < min or number > max then
    error(("number outside of range (expected %s to be within %s and %s)"):format(number, min, max), 3)
  end
  return number
end

return setmetatable({ expect = expect, field = field, range = range }, {
  __call = function(_, ...)
    return expect(...)
  end,
})
