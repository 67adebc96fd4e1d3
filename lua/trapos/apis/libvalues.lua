-- Lua values as data for another machine: typed return values, and text that reads like a Lua literal.

local base64 = require("/apis/libbase64")
local json = require("/apis/libjson")

-- Bounds of one serialised table; what is beyond is marked, not lost without a word.
local MAX_DEPTH = 12
local MAX_ITEMS = 10000
-- Values returned by one chunk.
local MAX_VALUES = 64

local values = {}

local KEYWORDS = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat return then true
  until while]]):gmatch("%a+") do
  KEYWORDS[word] = true
end

local function quote(s)
  local text = string.format("%q", s):gsub("\\\n", "\\n"):gsub("\r", "\\r"):gsub("%z", "\\0")
  return text
end

local function key(k, scalar)
  if type(k) == "string" and k:find("^[%a_][%w_]*$") and not KEYWORDS[k] then
    return k
  end
  return "[" .. scalar(k) .. "]"
end

local function numberText(v)
  if v == math.floor(v) and v > -2 ^ 53 and v < 2 ^ 53 then
    return string.format("%.0f", v)
  elseif v ~= v then
    return "0/0"
  elseif v == math.huge or v == -math.huge then
    return v > 0 and "math.huge" or "-math.huge"
  end
  local short = string.format("%.15g", v)
  return tonumber(short) == v and short or string.format("%.17g", v)
end

local function scalar(v)
  if type(v) == "string" then
    return quote(v)
  elseif type(v) == "number" then
    return numberText(v)
  elseif type(v) == "boolean" or v == nil then
    return tostring(v)
  end
  return quote("<" .. type(v) .. ">")
end

local function sortedKeys(t)
  local list = {}
  for k in next, t do
    list[#list + 1] = k
  end
  table.sort(list, function(a, b)
    local ta, tb = type(a), type(b)
    if ta == tb and (ta == "number" or ta == "string") then
      return a < b
    elseif ta ~= tb then
      return ta < tb
    end
    return tostring(a) < tostring(b)
  end)
  return list
end

--- The text of any value. Cycles, functions and what is nested deeper than 12 appear as "<cycle>", "<function>", "<deep>";
--- at most 10,000 items are written. Returns the text and whether something was left out.
function values.serialise(value)
  local out, items, cut = {}, 0, false
  local open = {}

  local function put(text)
    out[#out + 1] = text
  end

  local write

  local function writeItems(t, indent)
    local inner = indent .. "  "
    for position, k in ipairs(sortedKeys(t)) do
      items = items + 1
      if items > MAX_ITEMS then
        cut = true
        put(inner .. "-- more was left out\n")
        return
      end
      put(inner)
      if k ~= position then
        put(key(k, scalar) .. " = ")
      end
      write(rawget(t, k), inner)
      put(",\n")
    end
  end

  function write(v, indent)
    if type(v) ~= "table" then
      put(scalar(v))
    elseif open[v] then
      put('"<cycle>"')
    elseif #indent >= MAX_DEPTH * 2 then
      cut = true
      put('"<deep>"')
    elseif next(v) == nil then
      put("{}")
    else
      open[v] = true
      put("{\n")
      writeItems(v, indent)
      put(indent .. "}")
      open[v] = nil
    end
  end

  write(value, "")
  return table.concat(out), cut
end

local function finite(v)
  return v == v and v ~= math.huge and v ~= -math.huge
end

-- One value as {type=..., value=... or valueBase64=...}. budget.left is what all values together may still take, in bytes.
local function describe(v, budget, pause)
  local kind = type(v)
  local item = { type = kind }
  if kind == "boolean" or (kind == "number" and finite(v)) then
    item.value = v
  elseif kind ~= "nil" then
    local text, cut
    if kind == "table" then
      text, cut = values.serialise(v)
    else
      text = tostring(v)
    end
    if #text > budget.left then
      text, cut = text:sub(1, budget.left), true
    end
    budget.left = budget.left - #text
    item.valueBase64 = base64.encode(text, pause)
    item.truncated = cut or nil
  end
  return item
end

--- The typed list of packed values ({n=..., ...}), `limit` bytes of text at most; an item that was cut says truncated=true.
--- A number that JSON cannot hold (nan, inf, -inf) has its text in valueBase64.
function values.describe(packed, limit, pause)
  local list, budget = {}, { left = limit }
  for i = 1, math.min(packed.n, MAX_VALUES) do
    list[i] = describe(packed[i], budget, pause)
  end
  return json.array(list)
end

--- A thrown value as text.
function values.errorText(v)
  if type(v) == "string" then
    return v
  elseif type(v) == "table" then
    local mark = getmetatable(v)
    if type(mark) == "table" and mark.__tostring then
      return tostring(v)
    end
    return (values.serialise(v))
  end
  return tostring(v)
end

return values
