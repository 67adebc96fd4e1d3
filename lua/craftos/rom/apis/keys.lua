-- keys: the codes of key events, and their names.
local keys = {
  space = 32, apostrophe = 39, comma = 44, minus = 45, period = 46, slash = 47,
  zero = 48, one = 49, two = 50, three = 51, four = 52, five = 53, six = 54, seven = 55, eight = 56, nine = 57,
  semicolon = 59, equals = 61, leftBracket = 91, backslash = 92, rightBracket = 93, grave = 96,
  enter = 257, tab = 258, backspace = 259, insert = 260, delete = 261, right = 262, left = 263, down = 264, up = 265,
  pageUp = 266, pageDown = 267, home = 268, ["end"] = 269, capsLock = 280, scrollLock = 281, numLock = 282,
  printScreen = 283, pause = 284,
  numPadDecimal = 330, numPadDivide = 331, numPadMultiply = 332, numPadSubtract = 333, numPadAdd = 334,
  numPadEnter = 335, numPadEqual = 336,
  leftShift = 340, leftCtrl = 341, leftAlt = 342, leftSuper = 343,
  rightShift = 344, rightCtrl = 345, rightAlt = 346, menu = 348,
}
for c = 97, 122 do
  keys[string.char(c)] = c - 32
end
for i = 1, 25 do
  keys["f" .. i] = 289 + i
end
for i = 0, 9 do
  keys["numPad" .. i] = 320 + i
end

local names = {}
for name, code in pairs(keys) do
  names[code] = name
end
keys["return"] = keys.enter
keys.underscore = keys.minus
keys.scollLock = keys.scrollLock

function keys.getName(code)
  return names[code]
end

return keys
