-- The computer's screen and keyboard, as seen from outside: what is on the screen, and keys and events as if somebody in the
-- game had typed them. Functions return a result, or nil and {kind=, message=}.

local console = {}

-- Characters and keys of one request.
local MAX_TYPED = 4096
-- Events between two waits for the computer to have taken them; it drops what exceeds 256 waiting ones.
local BATCH = 48
-- Seconds after which a sign that they were taken is no longer waited for.
local PATIENCE = 2
local MAX_ARGUMENTS = 32

local SHIFTED = '~!@#$%^&*()_+{}|:"<>?'
local PLAIN = "`1234567890-=[]\\;',./"
local NAMES = {
  [" "] = "space", ["'"] = "apostrophe", [","] = "comma", ["-"] = "minus", ["."] = "period", ["/"] = "slash",
  [";"] = "semicolon", ["="] = "equals", ["["] = "leftBracket", ["\\"] = "backslash", ["]"] = "rightBracket", ["`"] = "grave",
  ["0"] = "zero", ["1"] = "one", ["2"] = "two", ["3"] = "three", ["4"] = "four", ["5"] = "five", ["6"] = "six", ["7"] = "seven",
  ["8"] = "eight", ["9"] = "nine",
}

local function failure(kind, message)
  return nil, { kind = kind, message = message }
end

local function packRGB(r, g, b)
  local function byte(x)
    return math.max(0, math.min(255, math.floor(x * 255 + 0.5)))
  end
  return byte(r) * 65536 + byte(g) * 256 + byte(b)
end

--- What a screen shows. screen: a window of the window API, which remembers its content; a computer's native terminal
--- does not. Result: {width, height, cursorX, cursorY (from 1), cursorBlink, text, foreground, background (all rows one after
--- another; colours as digits 0 (white) to f (black)), palette (16 times 0xRRGGBB)}.
function console.read(screen)
  if type(screen) ~= "table" or not screen.getLine then
    return failure("unavailable", "the screen is not recorded; reboot the computer, so that /startup/00_trapos.lua starts "
      .. "the servers")
  end
  local width, height = screen.getSize()
  local text, foreground, background, palette = {}, {}, {}, {}
  for y = 1, height do
    text[y], foreground[y], background[y] = screen.getLine(y)
  end
  for i = 1, 16 do
    palette[i] = packRGB(screen.getPaletteColour(2 ^ (i - 1)))
  end
  local x, y = screen.getCursorPos()
  return {
    width = width, height = height, cursorX = x, cursorY = y, cursorBlink = screen.getCursorBlink() == true,
    text = table.concat(text), foreground = table.concat(foreground), background = table.concat(background), palette = palette,
  }
end

-- Waits until the computer has taken all events queued so far: they are handled in order.
local function settle()
  local timer = os.startTimer(PATIENCE)
  local limit = os.clock() + PATIENCE
  os.queueEvent("trapos_typed", timer)
  repeat
    local event, id = os.pullEventRaw()
  until (event == "trapos_typed" or event == "timer") and id == timer or os.clock() > limit
  os.cancelTimer(timer)
end

-- The key that makes a character, and whether shift is held for it.
local function keyFor(c)
  if c:find("[A-Za-z]") then
    return keys[c:lower()], c:lower() ~= c
  end
  local at = SHIFTED:find(c, 1, true)
  local name = NAMES[at and PLAIN:sub(at, at) or c]
  return name and keys[name], at ~= nil
end

local function press(code, char)
  os.queueEvent("key", code, false)
  if char then
    os.queueEvent("char", char)
  end
  os.queueEvent("key_up", code)
end

local function typeCharacter(c)
  if c == "\n" then
    return press(keys.enter)
  elseif c == "\t" then
    return press(keys.tab)
  end
  local code, shift = keyFor(c)
  if not code then
    os.queueEvent("char", c)
  elseif shift then
    os.queueEvent("key", keys.leftShift, false)
    press(code, c)
    os.queueEvent("key_up", keys.leftShift)
  else
    press(code, c)
  end
end

-- Codes of keys held together, of a name like "leftCtrl+a"; "terminate" is what holding Ctrl+T does.
local function codesOf(name)
  if type(name) ~= "string" then
    return nil
  end
  local codes = {}
  for part in name:gmatch("[^+]+") do
    if type(keys[part]) ~= "number" then
      return nil
    end
    codes[#codes + 1] = keys[part]
  end
  return codes[1] and codes
end

local function pressTogether(codes)
  for i = 1, #codes do
    os.queueEvent("key", codes[i], false)
  end
  for i = #codes, 1, -1 do
    os.queueEvent("key_up", codes[i])
  end
end

local function pressNamed(name)
  if name == "terminate" then
    os.queueEvent("terminate")
  else
    pressTogether(codesOf(name))
  end
end

--- Types text (newline: the enter key), then presses the named keys, and waits until the programs have had them. Nothing is
--- typed when a name is unknown. Only from a task of an event loop. Result: {typed = how many characters and keys}.
function console.type(text, names)
  if #text + #names > MAX_TYPED then
    return failure("too_many", "more than " .. MAX_TYPED .. " characters and keys at once")
  end
  for _, name in ipairs(names) do
    if name ~= "terminate" and not codesOf(name) then
      return failure("unknown_key", "there is no key " .. tostring(name) .. "; names are those of the keys API (enter, up, "
        .. "leftCtrl, a, one, f1), joined by + when held together, or terminate")
    end
  end
  local batch = 0
  local function rest(events)
    batch = batch + events
    if batch >= BATCH then
      batch = 0
      settle()
    end
  end
  for c in text:gmatch("[^%z]") do
    typeCharacter(c)
    rest(5)
  end
  for _, name in ipairs(names) do
    pressNamed(name)
    rest(6)
  end
  settle()
  return { typed = #text + #names }
end

--- Queues an event with those arguments and waits until the programs have had it.
function console.event(name, arguments)
  if type(name) ~= "string" or name == "" or #name > 64 or name:find("^trapos_") then
    return failure("bad_event", "an event's name is 1 to 64 characters and does not begin with trapos_")
  elseif #arguments > MAX_ARGUMENTS then
    return failure("bad_event", "an event has at most " .. MAX_ARGUMENTS .. " arguments")
  end
  os.queueEvent(name, (table.unpack or unpack)(arguments, 1, #arguments))
  settle()
  return {}
end

return console
