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

-- Where a stream of lines stands that a terminal's writes are turned into.
local function newStream(buffer, terminal, width)
  local stream = { row = 1, column = 1 }

  local function breaks(y)
    local jump = y - stream.row
    return jump >= 1 and jump <= MAX_JUMP and jump or 1
  end

  --- Adds a text that is written at the terminal's cursor, with the line breaks and blanks that lead there.
  function stream.put(text)
    if text == "" then
      return
    end
    local x, y = terminal.getCursorPos()
    if y ~= stream.row or x < stream.column then
      buffer.put(("\n"):rep(breaks(y)))
      stream.column = 1
    end
    if x > stream.column and x <= width then
      buffer.put((" "):rep(x - stream.column))
    end
    buffer.put(text)
    stream.row, stream.column = y, x + #text
  end

  return stream
end

-- Where the cursor stands after a text is printed from column x on, wrapped at width: the lines that it took, and the column.
local function advance(text, x, width)
  local lines, from = 0, 1
  repeat
    local at = text:find("\n", from, true)
    local last = x - 1 + (at or #text + 1) - from
    local wraps = last > width and math.floor((last - 1) / width) or 0
    lines, x = lines + wraps + (at and 1 or 0), at and 1 or last - wraps * width + 1
    from = at and at + 1
  until not at
  return lines, x
end

--- An invisible terminal of the size of the current one, to be passed to term.redirect. What is written to it goes to
--- buffer as a stream of lines. terminal.flow(text) is print's way: the text goes to buffer as it is, not wrapped, and the
--- cursor moves as if it had been written; it returns the lines that it took.
function capture.terminal(buffer)
  local width, height = term.getSize()
  local terminal = window.create(term.current(), 1, 1, width, height, false)
  local nativeWrite, nativeBlit, nativeScroll = terminal.write, terminal.blit, terminal.scroll
  local stream = newStream(buffer, terminal, width)

  function terminal.write(text)
    text = tostring(text)
    stream.put(text)
    nativeWrite(text)
  end

  function terminal.blit(text, ...)
    stream.put(text)
    nativeBlit(text, ...)
  end

  function terminal.scroll(n)
    stream.row = stream.row - n
    nativeScroll(n)
  end

  -- Nothing is drawn: nobody sees this terminal, and drawing is most of the cost of printing.
  function terminal.flow(text)
    buffer.put(text)
    local x, y = terminal.getCursorPos()
    local lines, column = advance(text, x, width)
    terminal.setCursorPos(column, math.min(height, y + lines))
    stream.column, stream.row = terminal.getCursorPos()
    return lines
  end

  return terminal
end

return capture
