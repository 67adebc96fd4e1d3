-- Base64 (RFC 4648, padded) in plain arithmetic, so that any bytes can travel inside ASCII JSON.
-- Works in blocks: `pause`, when given, is called between blocks so that long work can yield to the other programs.

local byte, char, concat = string.byte, string.char, table.concat

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
-- Bytes of input per block; a multiple of 12 (encode) that keeps one block around ten milliseconds on a slow server.
local ENCODE_BLOCK = 24576
local DECODE_BLOCK = 32768

-- Tables instead of arithmetic: division and remainder are slow in every Lua that this runs on.
local PAIR = {} -- twelve bits -> two characters
local HIGH, LOW = {}, {} -- byte -> its upper four bits; its lower four bits, shifted left by eight

for i = 0, 63 do
  local first = ALPHABET:sub(i + 1, i + 1)
  for j = 0, 63 do
    PAIR[i * 64 + j] = first .. ALPHABET:sub(j + 1, j + 1)
  end
end
for b = 0, 255 do
  HIGH[b], LOW[b] = math.floor(b / 16), b % 16 * 256
end

-- Byte of the alphabet -> its six bits, placed where the four characters of a group have them.
local FIRST, SECOND_HIGH, SECOND_LOW, THIRD_HIGH, THIRD_LOW, FOURTH = {}, {}, {}, {}, {}, {}

for v = 0, 63 do
  local b = byte(ALPHABET, v + 1)
  FIRST[b] = v * 4
  SECOND_HIGH[b], SECOND_LOW[b] = math.floor(v / 16), v % 16 * 16
  THIRD_HIGH[b], THIRD_LOW[b] = math.floor(v / 4), v % 4 * 64
  FOURTH[b] = v
end

local base64 = {}

local function encodeBlock(data, from, to)
  local pair, high, low = PAIR, HIGH, LOW
  local parts, n, p = {}, 0, from
  while p + 11 <= to do
    local a, b, c, d, e, f, g, h, i, j, k, l = byte(data, p, p + 11)
    parts[n + 1], parts[n + 2] = pair[a * 16 + high[b]], pair[low[b] + c]
    parts[n + 3], parts[n + 4] = pair[d * 16 + high[e]], pair[low[e] + f]
    parts[n + 5], parts[n + 6] = pair[g * 16 + high[h]], pair[low[h] + i]
    parts[n + 7], parts[n + 8] = pair[j * 16 + high[k]], pair[low[k] + l]
    n, p = n + 8, p + 12
  end
  while p + 2 <= to do
    local a, b, c = byte(data, p, p + 2)
    parts[n + 1], parts[n + 2] = pair[a * 16 + high[b]], pair[low[b] + c]
    n, p = n + 2, p + 3
  end
  return concat(parts, "", 1, n)
end

local function encodeTail(data, from, length)
  if from > length then
    return ""
  end
  local a, b = byte(data, from, length)
  local text = PAIR[a * 16 + HIGH[b or 0]] .. PAIR[LOW[b or 0]]
  return b and text:sub(1, 3) .. "=" or text:sub(1, 2) .. "=="
end

--- The base64 text of any string.
function base64.encode(data, pause)
  local length = #data
  local whole = length - length % 3
  local blocks, n, from = {}, 0, 1
  while from <= whole do
    local to = math.min(from + ENCODE_BLOCK - 1, whole)
    n = n + 1
    blocks[n] = encodeBlock(data, from, to)
    from = to + 1
    if pause and from <= whole then
      pause()
    end
  end
  blocks[n + 1] = encodeTail(data, from, length)
  return concat(blocks)
end

-- A character outside the alphabet makes the arithmetic raise, which decode reports.
local function decodeBlock(text, from, to)
  local first, secondHigh, secondLow = FIRST, SECOND_HIGH, SECOND_LOW
  local thirdHigh, thirdLow, fourth = THIRD_HIGH, THIRD_LOW, FOURTH
  local parts, n, p = {}, 0, from
  while p + 7 <= to do
    local a, b, c, d, e, f, g, h = byte(text, p, p + 7)
    n = n + 1
    parts[n] = char(first[a] + secondHigh[b], secondLow[b] + thirdHigh[c], thirdLow[c] + fourth[d],
      first[e] + secondHigh[f], secondLow[f] + thirdHigh[g], thirdLow[g] + fourth[h])
    p = p + 8
  end
  if p <= to then
    local a, b, c, d = byte(text, p, p + 3)
    parts[n + 1] = char(first[a] + secondHigh[b], secondLow[b] + thirdHigh[c], thirdLow[c] + fourth[d])
  end
  return concat(parts)
end

local function decodeTail(text)
  local a, b, c = byte(text, 1, 3)
  if not a then
    return ""
  end
  local x = FIRST[a] + SECOND_HIGH[b]
  return c and char(x, SECOND_LOW[b] + THIRD_HIGH[c]) or char(x)
end

local function decodeAll(text, pause)
  local length = #text
  while length > 0 and byte(text, length) == 61 do
    length = length - 1
  end
  if #text - length > 2 or length % 4 == 1 then
    error("bad length", 0)
  end
  local whole = length - length % 4
  local blocks, n, from = {}, 0, 1
  while from <= whole do
    local to = math.min(from + DECODE_BLOCK - 1, whole)
    n = n + 1
    blocks[n] = decodeBlock(text, from, to)
    from = to + 1
    if pause and from <= whole then
      pause()
    end
  end
  blocks[n + 1] = decodeTail(text:sub(from, length))
  return concat(blocks)
end

--- The bytes of a base64 text; padding may be missing. Returns nil and a message when it is none.
function base64.decode(text, pause)
  if type(text) ~= "string" then
    return nil, "not base64: a string is needed"
  end
  local ok, result = pcall(decodeAll, text, pause)
  if not ok then
    return nil, "not base64"
  end
  return result
end

return base64
