-- window: a terminal within another, which remembers its content.
local _, check = ...
local expect = check.expect

local window = {}

-- Tables are never indexed by colours here: 32768 entries would be made for black.
local function exponentOf(colour)
  expect(1, colour, "number")
  if colour < 1 or colour >= 65536 then
    error("Invalid color (got " .. tostring(colour) .. ")", 3)
  end
  local exponent = 0
  while colour >= 2 do
    colour = colour / 2
    exponent = exponent + 1
  end
  return exponent
end

local function colourDigit(colour)
  return ("%x"):format(exponentOf(colour))
end

function window.create(parent, startX, startY, width, height, startVisible)
  expect(1, parent, "table")
  expect(2, startX, "number")
  expect(3, startY, "number")
  expect(4, width, "number")
  expect(5, height, "number")
  expect(6, startVisible, "boolean", "nil")
  if parent == term then
    error("term is not a recommended window parent, try term.current() instead", 2)
  end

  local visible = startVisible ~= false
  local cursorX, cursorY, blink = 1, 1, false
  local fg, bg = "0", "f"
  local fgColour, bgColour = colours.white, colours.black
  local palette = {}
  for i = 0, 15 do
    palette[i + 1] = { parent.getPaletteColour(2 ^ i) }
  end

  local function blankLine()
    return { (" "):rep(width), fg:rep(width), bg:rep(width) }
  end

  local lines = {}
  for y = 1, height do
    lines[y] = blankLine()
  end

  local function restoreCursor()
    if cursorX >= 1 and cursorY >= 1 and cursorX <= width and cursorY <= height then
      parent.setCursorPos(cursorX + startX - 1, cursorY + startY - 1)
    else
      parent.setCursorPos(0, 0)
    end
    parent.setCursorBlink(blink)
    parent.setTextColour(fgColour)
  end

  local function drawLine(y)
    local line = lines[y]
    parent.setCursorPos(startX, startY + y - 1)
    parent.blit(line[1], line[2], line[3])
  end

  local function drawAll()
    for y = 1, height do
      drawLine(y)
    end
  end

  local function coversParent()
    local parentWidth, parentHeight = parent.getSize()
    return startX == 1 and startY == 1 and width == parentWidth and height == parentHeight
  end

  local function put(text, textFg, textBg)
    local from, to = cursorX, cursorX + #text - 1
    if cursorY >= 1 and cursorY <= height and from <= width and to >= 1 then
      local line = lines[cursorY]
      if from < 1 then
        text, textFg, textBg = text:sub(2 - from), textFg:sub(2 - from), textBg:sub(2 - from)
        from = 1
      end
      if to > width then
        local room = width - from + 1
        text, textFg, textBg = text:sub(1, room), textFg:sub(1, room), textBg:sub(1, room)
        to = width
      end
      line[1] = line[1]:sub(1, from - 1) .. text .. line[1]:sub(to + 1)
      line[2] = line[2]:sub(1, from - 1) .. textFg .. line[2]:sub(to + 1)
      line[3] = line[3]:sub(1, from - 1) .. textBg .. line[3]:sub(to + 1)
      if visible then
        drawLine(cursorY)
      end
    end
  end

  local self = {}

  function self.write(text)
    text = tostring(text)
    put(text, fg:rep(#text), bg:rep(#text))
    cursorX = cursorX + #text
    if visible then
      restoreCursor()
    end
  end

  function self.blit(text, textFg, textBg)
    expect(1, text, "string")
    expect(2, textFg, "string")
    expect(3, textBg, "string")
    if #textFg ~= #text or #textBg ~= #text then
      error("Arguments must be the same length", 2)
    end
    put(text, textFg:lower(), textBg:lower())
    cursorX = cursorX + #text
    if visible then
      restoreCursor()
    end
  end

  function self.clear()
    for y = 1, height do
      lines[y] = blankLine()
    end
    if visible then
      drawAll()
      restoreCursor()
    end
  end

  function self.clearLine()
    if cursorY >= 1 and cursorY <= height then
      lines[cursorY] = blankLine()
      if visible then
        drawLine(cursorY)
        restoreCursor()
      end
    end
  end

  function self.getCursorPos()
    return cursorX, cursorY
  end

  function self.setCursorPos(x, y)
    expect(1, x, "number")
    expect(2, y, "number")
    cursorX, cursorY = math.floor(x), math.floor(y)
    if visible then
      restoreCursor()
    end
  end

  function self.setCursorBlink(on)
    blink = on and true or false
    if visible then
      parent.setCursorBlink(blink)
    end
  end

  function self.getCursorBlink()
    return blink
  end

  function self.isColour()
    return parent.isColour()
  end
  self.isColor = self.isColour

  function self.setTextColour(colour)
    fg, fgColour = colourDigit(colour), colour
    if visible then
      parent.setTextColour(colour)
    end
  end
  self.setTextColor = self.setTextColour

  function self.getTextColour()
    return fgColour
  end
  self.getTextColor = self.getTextColour

  function self.setBackgroundColour(colour)
    bg, bgColour = colourDigit(colour), colour
  end
  self.setBackgroundColor = self.setBackgroundColour

  function self.getBackgroundColour()
    return bgColour
  end
  self.getBackgroundColor = self.getBackgroundColour

  function self.setPaletteColour(colour, r, g, b)
    local exponent = exponentOf(colour)
    if g == nil and b == nil then
      r, g, b = colours.unpackRGB(r)
    end
    palette[exponent + 1] = { r, g, b }
    if visible then
      parent.setPaletteColour(colour, r, g, b)
    end
  end
  self.setPaletteColor = self.setPaletteColour

  function self.getPaletteColour(colour)
    return table.unpack(palette[exponentOf(colour) + 1])
  end
  self.getPaletteColor = self.getPaletteColour

  function self.getSize()
    return width, height
  end

  function self.scroll(n)
    expect(1, n, "number")
    if n == 0 then
      return
    end
    local moved = {}
    for y = 1, height do
      moved[y] = lines[y + n] or blankLine()
    end
    lines = moved
    if visible and coversParent() then
      -- Not redrawn row by row: the terminal's copy on the host's output would show every row again.
      parent.scroll(n)
      for y = 1, height do
        if y + n < 1 or y + n > height then
          drawLine(y)
        end
      end
      restoreCursor()
    elseif visible then
      drawAll()
      restoreCursor()
    end
  end

  function self.getLine(y)
    expect(1, y, "number")
    if y < 1 or y > height then
      error("Line is out of range.", 2)
    end
    return lines[y][1], lines[y][2], lines[y][3]
  end

  function self.setVisible(on)
    expect(1, on, "boolean")
    if visible ~= on then
      visible = on
      if visible then
        self.redraw()
      end
    end
  end

  function self.isVisible()
    return visible
  end

  function self.redraw()
    if visible then
      for i, rgb in ipairs(palette) do
        parent.setPaletteColour(2 ^ (i - 1), rgb[1], rgb[2], rgb[3])
      end
      drawAll()
      restoreCursor()
    end
  end

  function self.restoreCursor()
    if visible then
      restoreCursor()
    end
  end

  function self.getPosition()
    return startX, startY
  end

  function self.reposition(x, y, newWidth, newHeight, newParent)
    expect(1, x, "number")
    expect(2, y, "number")
    startX, startY = x, y
    parent = newParent or parent
    if newWidth and newHeight then
      local resized = {}
      local textPad, fgPad, bgPad = (" "):rep(newWidth), fg:rep(newWidth), bg:rep(newWidth)
      for row = 1, newHeight do
        local line = lines[row]
        if line then
          resized[row] = {
            (line[1] .. textPad):sub(1, newWidth), (line[2] .. fgPad):sub(1, newWidth), (line[3] .. bgPad):sub(1, newWidth),
          }
        else
          resized[row] = { textPad, fgPad, bgPad }
        end
      end
      width, height, lines = newWidth, newHeight, resized
    end
    if visible then
      self.redraw()
    end
  end

  if visible then
    self.redraw()
  end
  return self
end

return window
