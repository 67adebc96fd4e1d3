-- JSON for the wire: written as pure ASCII by an encoder of our own, read by textutils.
-- textutils.serialiseJSON writes every byte as a code point of its own and NaN as a bare word; neither is fit to send.

local base64 = require("/apis/libbase64")

local find, format, gsub, byte = string.find, string.format, string.gsub, string.byte

-- Deeper values are refused: the reader overflows on deep nesting.
local MAX_DEPTH = 64
-- Everything that must not appear literally inside a string of the wire.
local SPECIAL = '[^ !#-[%]^-~]'

local json = {}

local ARRAY, RAW = {}, {}

--- Marks a table as an array, so that an empty one is written [] and not {}.
function json.array(list)
  return setmetatable(list or {}, ARRAY)
end

--- A piece of ready JSON text, written as it is.
function json.raw(text)
  return setmetatable({ text = text }, RAW)
end

local function unit(code)
  return format("\\u%04x", code)
end

local function escapeByte(c)
  if c == '"' or c == "\\" then
    return "\\" .. c
  elseif c == "\n" then
    return "\\n"
  end
  return unit(byte(c))
end

-- The code point at position i of valid UTF-8 and the position after it; nil when it is not valid there.
local function codePoint(s, i)
  local a, b, c, d = byte(s, i, i + 3)
  local function tail(x)
    return x ~= nil and x >= 128 and x < 192
  end
  if a < 128 then
    return a, i + 1
  elseif a >= 194 and a < 224 and tail(b) then
    return (a - 192) * 64 + b - 128, i + 2
  elseif a >= 224 and a < 240 and tail(b) and tail(c) then
    local code = (a - 224) * 4096 + (b - 128) * 64 + c - 128
    if code >= 2048 and (code < 55296 or code > 57343) then
      return code, i + 3
    end
  elseif a >= 240 and a < 245 and tail(b) and tail(c) and tail(d) then
    local code = (a - 240) * 262144 + (b - 128) * 4096 + (c - 128) * 64 + d - 128
    if code >= 65536 and code < 1114112 then
      return code, i + 4
    end
  end
end

-- Valid UTF-8 keeps its code points; any other byte is taken as the code point of its value (Latin-1, as the game's font).
local function escapeWide(s)
  local out, n, i = {}, 0, 1
  while i <= #s do
    local code, after = codePoint(s, i)
    if not code then
      code, after = byte(s, i), i + 1
    end
    n = n + 1
    if code < 128 then
      out[n] = gsub(s:sub(i, i), SPECIAL, escapeByte)
    elseif code < 65536 then
      out[n] = unit(code)
    else
      local high = (code - 65536 - (code - 65536) % 1024) / 1024
      out[n] = unit(55296 + high) .. unit(56320 + (code - 65536) % 1024)
    end
    i = after
  end
  return table.concat(out)
end

--- One string as a JSON string, quotes included, ASCII only.
function json.string(s)
  if not find(s, SPECIAL) then
    return '"' .. s .. '"'
  elseif find(s, "[\128-\255]") then
    return '"' .. escapeWide(s) .. '"'
  end
  return '"' .. gsub(s, SPECIAL, escapeByte) .. '"'
end

local function number(v)
  if v ~= v or v == math.huge or v == -math.huge then
    error("cannot send " .. tostring(v) .. " as JSON", 0)
  elseif v == math.floor(v) and v > -2 ^ 53 and v < 2 ^ 53 then
    return format("%.0f", v)
  end
  local short = format("%.15g", v)
  return tonumber(short) == v and short or format("%.17g", v)
end

-- The length when the keys are exactly 1..n, else nil.
local function arrayLength(t)
  local n = #t
  local count = 0
  for key in pairs(t) do
    if type(key) ~= "number" or key < 1 or key > n or key % 1 ~= 0 then
      return nil
    end
    count = count + 1
  end
  return count == n and n or nil
end

local write

local function writeArray(t, n, out, depth)
  out[#out + 1] = "["
  for i = 1, n do
    if i > 1 then
      out[#out + 1] = ","
    end
    write(t[i], out, depth)
  end
  out[#out + 1] = "]"
end

local function writeObject(t, out, depth)
  local open = "{"
  for key, value in pairs(t) do
    if type(key) ~= "string" and type(key) ~= "number" then
      error("cannot send a table with a " .. type(key) .. " key as JSON", 0)
    end
    out[#out + 1] = open .. json.string(tostring(key)) .. ":"
    write(value, out, depth)
    open = ","
  end
  out[#out + 1] = open == "{" and "{}" or "}"
end

local function writeTable(t, out, depth)
  if depth >= MAX_DEPTH then
    error("cannot send a table nested deeper than " .. MAX_DEPTH .. " as JSON", 0)
  end
  local mark = getmetatable(t)
  if mark == RAW then
    out[#out + 1] = t.text
    return
  end
  local known = textutils or {}
  if t == known.json_null then
    out[#out + 1] = "null"
    return
  end
  local n = arrayLength(t)
  if n and (n > 0 or mark == ARRAY or t == known.empty_json_array) then
    writeArray(t, n, out, depth + 1)
  else
    writeObject(t, out, depth + 1)
  end
end

function write(value, out, depth)
  local kind = type(value)
  if kind == "string" then
    out[#out + 1] = json.string(value)
  elseif kind == "number" then
    out[#out + 1] = number(value)
  elseif kind == "boolean" then
    out[#out + 1] = tostring(value)
  elseif kind == "nil" then
    out[#out + 1] = "null"
  elseif kind == "table" then
    writeTable(value, out, depth)
  else
    error("cannot send a " .. kind .. " as JSON", 0)
  end
end

--- The ASCII JSON text of a value. Raises on functions, NaN, infinities and nesting deeper than 64.
function json.encode(value)
  local out = {}
  write(value, out, 0)
  return table.concat(out)
end

--- The value of a JSON text, or nil and a message. Ids must be strings: a long integer would lose digits.
function json.decode(text)
  local ok, value, message = pcall(textutils.unserialiseJSON, text)
  if not ok then
    return nil, tostring(value)
  elseif value == nil then
    return nil, message or "not JSON"
  end
  return value
end

--- Whether a string can travel as a plain JSON string (printable ASCII only).
function json.isPlain(s)
  return not find(s, "[^ -~]")
end

--- Puts s into object under `name`, or as base64 under `nameBase64` when it holds other bytes than printable ASCII.
function json.put(object, name, s)
  if json.isPlain(s) then
    object[name] = s
  else
    object[name .. "Base64"] = base64.encode(s)
  end
end

--- Reads what `put` wrote: a string, or nil.
function json.get(object, name)
  local coded = object[name .. "Base64"]
  if type(coded) == "string" then
    return (base64.decode(coded))
  elseif type(object[name]) == "string" then
    return object[name]
  end
end

return json
