-- read(mask, history, complete, default): one line of input.
local expect, mask, history, complete, default = ...

expect(1, mask, "string", "nil")
expect(2, history, "table", "nil")
expect(3, complete, "function", "nil")
expect(4, default, "string", "nil")

local line = default or ""
local position, first = #line, 0
local entry
local startX = term.getCursorPos()
local width = term.getSize()
mask = mask and mask:sub(1, 1)

local function draw(clear)
  local room = width - startX
  if position - first > room then
    first = position - room
  elseif position < first then
    first = position
  end
  local shown = line:sub(first + 1, first + room + 1)
  if mask then
    shown = mask:rep(#shown)
  end
  if clear then
    shown = (" "):rep(#shown)
  end
  local _, y = term.getCursorPos() -- another program may have written below meanwhile
  term.setCursorPos(startX, y)
  term.write(shown .. " ")
  term.setCursorPos(startX + position - first, y)
end

local function replace(text)
  draw(true)
  line, position, first = text, #text, 0
  draw()
end

local function insert(text)
  line = line:sub(1, position) .. text .. line:sub(position + 1)
  position = position + #text
  draw()
end

local function recall(step)
  if not history or #history == 0 then
    return
  end
  if not entry then
    if step > 0 then
      return
    end
    entry = #history
  else
    entry = entry + step
  end
  if entry < 1 then
    entry = 1
  end
  if entry > #history then
    entry = nil
    replace("")
  else
    replace(history[entry])
  end
end

local function completeWord()
  if not complete then
    return
  end
  local choices = complete(line)
  if choices and choices[1] then
    insert(choices[1])
  end
end

term.setCursorBlink(true)
draw()
while true do
  local event, value = os.pullEvent()
  if event == "char" or event == "paste" then
    insert(value)
  elseif event == "key" then
    if value == keys.enter or value == keys.numPadEnter then
      break
    elseif value == keys.backspace and position > 0 then
      draw(true)
      line = line:sub(1, position - 1) .. line:sub(position + 1)
      position = position - 1
      draw()
    elseif value == keys.delete and position < #line then
      draw(true)
      line = line:sub(1, position) .. line:sub(position + 2)
      draw()
    elseif value == keys.left and position > 0 then
      position = position - 1
      draw()
    elseif value == keys.right and position < #line then
      position = position + 1
      draw()
    elseif value == keys.home then
      position = 0
      draw()
    elseif value == keys["end"] then
      position = #line
      draw()
    elseif value == keys.up then
      recall(-1)
    elseif value == keys.down then
      recall(1)
    elseif value == keys.tab then
      completeWord()
    end
  elseif event == "term_resize" then
    width = term.getSize()
    draw()
  end
end
term.setCursorBlink(false)
local _, y = term.getCursorPos()
term.setCursorPos(width + 1, y)
print()
return line
