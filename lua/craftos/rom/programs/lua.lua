-- lua: a prompt that runs code.
if select("#", ...) > 0 then
  print("This is an interactive Lua prompt.")
  print("To run a lua program, just type its name.")
  return
end

local running = true
local env = setmetatable({ exit = function() running = false end }, { __index = getfenv(1) })
local history = {}

print("Interactive Lua prompt.")
print("Call exit() to exit.")
while running do
  write("lua> ")
  local line = read(nil, history, function(text)
    if settings.get("lua.autocomplete") then
      return textutils.complete(text:match("[%w_%.]*$"), env)
    end
    return nil
  end)
  if line:match("%S") and history[#history] ~= line then
    history[#history + 1] = line
  end
  local fn, reason = load("return " .. line, "=lua", "t", env)
  if not fn then
    fn, reason = load(line, "=lua", "t", env)
  end
  if not fn then
    printError(reason)
  else
    local results = table.pack(pcall(fn))
    if not results[1] then
      printError(results[2])
    else
      for i = 2, results.n do
        local value = results[i]
        local ok, text = pcall(textutils.serialize, value)
        print(ok and text or tostring(value))
      end
    end
  end
end
