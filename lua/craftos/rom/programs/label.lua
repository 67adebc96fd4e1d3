-- label get | set <text> | clear
local command, text = ...
if command == "get" or command == nil then
  local label = os.getComputerLabel()
  if label then
    print('Computer label is "' .. label .. '"')
  else
    print("No Computer label")
  end
elseif command == "set" and text then
  os.setComputerLabel(text)
  print('Computer label set to "' .. os.getComputerLabel() .. '"')
elseif command == "clear" then
  os.setComputerLabel(nil)
  print("Computer label cleared")
else
  print("Usages:")
  print("label get")
  print("label set <text>")
  print("label clear")
end
