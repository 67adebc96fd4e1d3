-- colors: the sixteen colours as powers of two, and sums of them.
local colors = {}

local names = {
  "white", "orange", "magenta", "lightBlue", "yellow", "lime", "pink", "gray",
  "lightGray", "cyan", "purple", "blue", "brown", "green", "red", "black",
}
for i, name in ipairs(names) do
  colors[name] = 2 ^ (i - 1)
end

function colors.combine(...)
  return bit32.bor(...)
end

function colors.subtract(set, ...)
  return bit32.band(set, bit32.bnot(bit32.bor(...)))
end

function colors.test(set, colour)
  return bit32.band(set, colour) == colour
end

function colors.packRGB(r, g, b)
  local function byte(part)
    return bit32.band(math.floor(part * 255), 0xff)
  end
  return byte(r) * 2 ^ 16 + byte(g) * 2 ^ 8 + byte(b)
end

function colors.unpackRGB(rgb)
  return bit32.extract(rgb, 16, 8) / 255, bit32.extract(rgb, 8, 8) / 255, bit32.extract(rgb, 0, 8) / 255
end

function colors.rgb8(r, g, b)
  if g == nil and b == nil then
    return colors.unpackRGB(r)
  end
  return colors.packRGB(r, g, b)
end

function colors.toBlit(colour)
  local exponent = 0
  while colour >= 2 do
    colour = colour / 2
    exponent = exponent + 1
  end
  return ("%x"):format(exponent)
end

function colors.fromBlit(digit)
  if #digit ~= 1 then
    return nil
  end
  local exponent = tonumber(digit, 16)
  return exponent and 2 ^ exponent
end

return colors
