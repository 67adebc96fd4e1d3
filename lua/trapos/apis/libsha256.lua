-- SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104) of strings of bytes. Pure.

local band, bxor, rrotate, rshift = bit32.band, bit32.bxor, bit32.rrotate, bit32.rshift
local byte, char, floor = string.byte, string.char, math.floor

local MOD = 2 ^ 32
local BLOCK = 64 -- bytes
-- Blocks between two pauses: some milliseconds.
local STRETCH = 32

-- The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
local K = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

local sha256 = {}

-- The 64 words of the block that begins at a position.
local function schedule(w, data, at)
  for i = 1, 16 do
    local a, b, c, d = byte(data, at, at + 3)
    w[i] = a * 16777216 + b * 65536 + c * 256 + d
    at = at + 4
  end
  for i = 17, 64 do
    local x, y = w[i - 15], w[i - 2]
    w[i] = (w[i - 16] + w[i - 7] + bxor(rrotate(x, 7), rrotate(x, 18), rshift(x, 3))
      + bxor(rrotate(y, 17), rrotate(y, 19), rshift(y, 10))) % MOD
  end
end

local function compress(state, w)
  local a, b, c, d, e, f, g, h = state[1], state[2], state[3], state[4], state[5], state[6], state[7], state[8]
  for i = 1, 64 do
    local t = h + bxor(rrotate(e, 6), rrotate(e, 11), rrotate(e, 25)) + bxor(g, band(e, bxor(f, g))) + K[i] + w[i]
    local u = bxor(rrotate(a, 2), rrotate(a, 13), rrotate(a, 22)) + bxor(band(a, bxor(b, c)), band(b, c))
    h, g, f, e, d, c, b, a = g, f, e, (d + t) % MOD, c, b, a, (t + u) % MOD
  end
  for i, v in ipairs({ a, b, c, d, e, f, g, h }) do
    state[i] = (state[i] + v) % MOD
  end
end

local function bigEndian(n)
  return char(floor(n / 16777216) % 256, floor(n / 65536) % 256, floor(n / 256) % 256, n % 256)
end

-- The eight words of a digest.
local function digest(data, pause)
  local bits = #data * 8
  data = data .. "\128" .. ("\0"):rep((BLOCK - 9 - #data) % BLOCK) .. bigEndian(floor(bits / MOD)) .. bigEndian(bits % MOD)
  local state, w = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
  }, {}
  for at = 1, #data, BLOCK do
    schedule(w, data, at)
    compress(state, w)
    if pause and (at - 1) % (BLOCK * STRETCH) == 0 then
      pause()
    end
  end
  return state
end

local function raw(state)
  local parts = {}
  for i, word in ipairs(state) do
    parts[i] = bigEndian(word)
  end
  return table.concat(parts)
end

local function hex(state)
  return ("%08x"):rep(8):format((table.unpack or unpack)(state))
end

--- The digest, as 64 lower-case hexadecimal digits. pause, if given, is called every few milliseconds of work.
function sha256.hash(data, pause)
  return hex(digest(data, pause))
end

-- The key's block with every byte changed by a mask.
local function padded(key, mask)
  return (key:gsub(".", function(c)
    return char(bxor(byte(c), mask))
  end)) .. char(mask):rep(BLOCK - #key)
end

--- The authentication code of data under a key, as 64 lower-case hexadecimal digits.
function sha256.hmac(key, data)
  if #key > BLOCK then
    key = raw(digest(key))
  end
  return hex(digest(padded(key, 0x5c) .. raw(digest(padded(key, 0x36) .. data))))
end

return sha256
