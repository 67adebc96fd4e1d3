-- term: calls go to the terminal that is current, at first the computer's own.
local native, check = ...
local expect = check.expect

local term = {}
local current = native

function term.redirect(target)
  expect(1, target, "table")
  if target == term or target == _G.term then
    error("term is not a recommended redirect target, try term.current() instead", 2)
  end
  for name, fn in pairs(native) do
    if type(fn) == "function" and target[name] == nil then
      if name == "nativePaletteColor" or name == "nativePaletteColour" then
        target[name] = fn
      else
        target[name] = function()
          error("Redirect object is missing method " .. name .. ".", 2)
        end
      end
    end
  end
  local previous = current
  current = target
  return previous
end

function term.current()
  return current
end

function term.native()
  return native
end

for name in pairs(native) do
  if name ~= "nativePaletteColor" and name ~= "nativePaletteColour" then
    term[name] = function(...)
      return current[name](...)
    end
  else
    term[name] = native[name]
  end
end

return term
