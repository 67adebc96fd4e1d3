-- What a piece of code prints, as text: a bounded buffer, and a terminal that fills it.

-- Rows that the cursor may jump down and still count as so many line breaks; a longer jump counts as one.
local MAX_JUMP = 3
-- Of the limit, the part kept from the end of the output once it overflows: errors are usually explained there.
local TAIL_PART = 4

local capture = {}

-- Drops whole pieces from the front of the tail while the rest still fills it.
local function trim(tail, quantity)
  while tail.size - #tail[tail.first] >= quantity do
    tail.size = tail.size - #tail[tail.first]
    tail[tail.first] = nil
    tail.first = tail.first + 1
  end
end

--- A buffer that keeps `limit` bytes: the beginning and, once it overflows, the end.
--- put(text) adds; result() returns text, truncated, and the bytes put in all.
function capture.buffer(limit)
  local tailLimit = (limit - limit % TAIL_PART) / TAIL_PART
  local headLimit = limit - tailLimit
  local head, headSize, total = {}, 0, 0
  local tail = { first = 1, last = 0, size = 0 }
  local buffer = {}

  function buffer.put(text)
    total = total + #text
    if headSize < headLimit then
      local piece = text:sub(1, headLimit - headSize)
      head[#head + 1] = piece
      headSize = headSize + #piece
      text = text:sub(#piece + 1)
    end
    if text ~= "" then
      if #text > tailLimit then
        text = text:sub(-tailLimit)
      end
      tail.last = tail.last + 1
      tail[tail.last] = text
      tail.size = tail.size + #text
      trim(tail, tailLimit)
    end
  end

  function buffer.result()
    local ending = table.concat(tail, "", tail.first, tail.last)
    local truncated = total > limit
    if truncated then
      ending = ending:sub(-tailLimit)
      local omitted = total - headSize - #ending
      ending = "\n[" .. omitted .. " bytes of output left out]\n" .. ending
    end
    return table.concat(head) .. ending, truncated, total
  end

  return buffer
end

--- An invisible terminal of the size of the current one, to be passed to term.redirect. What is written to it goes to
--- buffer as a stream of lines. terminal.flow(text) is print's way: the text goes to buffer as it is, not wrapped, and the
--- cursor moves as if it had been written; it returns the lines that it took.
function capture.terminal(buffer)
  local width, height = term.getSize()
  local terminal = window.create(term.current(), 1, 1, width, height, false)
  local nativeWrite, nativeBlit, nativeScroll = terminal.write, terminal.blit, terminal.scroll
  local row, column = 1, 1

  local function breaks(y)
    local jump = y - row
    return jump >= 1 and jump <= MAX_JUMP and jump or 1
  end

  local function stream(text)
    if text == "" then
      return
    end
    local x, y = terminal.getCursorPos()
    if y ~= row or x < column then
      buffer.put(("\n"):rep(breaks(y)))
      column = 1
    end
    if x > column and x <= width then
      buffer.put((" "):rep(x - column))
    end
    buffer.put(text)
    row, column = y, x + #text
  end

  function terminal.write(text)
    text = tostring(text)
    stream(text)
    nativeWrite(text)
  end

  function terminal.blit(text, ...)
    stream(text)
    nativeBlit(text, ...)
  end

  function terminal.scroll(n)
    row = row - n
    nativeScroll(n)
  end

  -- Nothing is drawn: nobody sees this terminal, and drawing is most of the cost of printing.
  function terminal.flow(text)
    buffer.put(text)
    local x, y = terminal.getCursorPos()
    local lines, from = 0, 1
    repeat
      local at = text:find("\n", from, true)
      local last = x - 1 + (at or #text + 1) - from
      local wraps = last > width and math.floor((last - 1) / width) or 0
      lines, x = lines + wraps + (at and 1 or 0), at and 1 or last - wraps * width + 1
      from = at and at + 1
    until not at
    terminal.setCursorPos(x, math.min(height, y + lines))
    column, row = terminal.getCursorPos()
    return lines
  end

  return terminal
end

return capture
