-- Base64 (RFC 4648, padded) in plain arithmetic, so that any bytes can travel inside ASCII JSON.
-- Works in blocks: `pause`, when given, is called between blocks so that long work can yield to the other programs.

local byte, char, concat = string.byte, string.char, table.concat

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
-- Bytes of input per block; a multiple of 12 (encode) that keeps one block around ten milliseconds on a slow server.
local ENCODE_BLOCK = 24576
local DECODE_BLOCK = 32768

local PAIR = {} -- twelve bits -> two characters
local BITS = {} -- byte of the alphabet -> six bits

for i = 0, 63 do
  local first = ALPHABET:sub(i + 1, i + 1)
  BITS[byte(first)] = i
  for j = 0, 63 do
    PAIR[i * 64 + j] = first .. ALPHABET:sub(j + 1, j + 1)
  end
end

local base64 = {}

local function encodeBlock(data, from, to)
  local parts, n, p = {}, 0, from
  while p + 11 <= to do
    local a, b, c, d, e, f, g, h, i, j, k, l = byte(data, p, p + 11)
    local v1, v2 = a * 65536 + b * 256 + c, d * 65536 + e * 256 + f
    local v3, v4 = g * 65536 + h * 256 + i, j * 65536 + k * 256 + l
    local r1, r2, r3, r4 = v1 % 4096, v2 % 4096, v3 % 4096, v4 % 4096
    parts[n + 1], parts[n + 2] = PAIR[(v1 - r1) / 4096], PAIR[r1]
    parts[n + 3], parts[n + 4] = PAIR[(v2 - r2) / 4096], PAIR[r2]
    parts[n + 5], parts[n + 6] = PAIR[(v3 - r3) / 4096], PAIR[r3]
    parts[n + 7], parts[n + 8] = PAIR[(v4 - r4) / 4096], PAIR[r4]
    n, p = n + 8, p + 12
  end
  while p + 2 <= to do
    local a, b, c = byte(data, p, p + 2)
    local v = a * 65536 + b * 256 + c
    local r = v % 4096
    parts[n + 1], parts[n + 2] = PAIR[(v - r) / 4096], PAIR[r]
    n, p = n + 2, p + 3
  end
  return concat(parts, "", 1, n)
end

local function encodeTail(data, from, length)
  if from > length then
    return ""
  end
  local a, b = byte(data, from, length)
  local v = a * 65536 + (b or 0) * 256
  local r = v % 4096
  local text = PAIR[(v - r) / 4096] .. PAIR[r]
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

-- Four characters -> three bytes. A character outside the alphabet makes the arithmetic raise, which decode reports.
local function three(a, b, c, d)
  local v = BITS[a] * 262144 + BITS[b] * 4096 + BITS[c] * 64 + BITS[d]
  local z = v % 256
  local yz = v % 65536
  return (v - yz) / 65536, (yz - z) / 256, z
end

local function decodeBlock(text, from, to)
  local parts, n, p = {}, 0, from
  while p + 7 <= to do
    local a, b, c, d, e, f, g, h = byte(text, p, p + 7)
    local v = BITS[a] * 262144 + BITS[b] * 4096 + BITS[c] * 64 + BITS[d]
    local w = BITS[e] * 262144 + BITS[f] * 4096 + BITS[g] * 64 + BITS[h]
    local vz, vyz, wz, wyz = v % 256, v % 65536, w % 256, w % 65536
    n = n + 1
    parts[n] = char((v - vyz) / 65536, (vyz - vz) / 256, vz, (w - wyz) / 65536, (wyz - wz) / 256, wz)
    p = p + 8
  end
  if p <= to then
    parts[n + 1] = char(three(byte(text, p, p + 3)))
  end
  return concat(parts)
end

local function decodeTail(text)
  local a, b, c = byte(text, 1, 3)
  if not a then
    return ""
  end
  local x, y = three(a, b, c or 65, 65)
  return c and char(x, y) or char(x)
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
