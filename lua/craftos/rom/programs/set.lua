-- set [name [value]]
local name, text = ...
if not name then
  for _, known in ipairs(settings.getNames()) do
    print(textutils.serialize(known) .. " is " .. textutils.serialize(settings.get(known)))
  end
elseif not text then
  local details = settings.getDetails(name)
  print(name .. " is " .. textutils.serialize(details.value))
  if details.description then
    print(details.description)
  end
else
  local details = settings.getDetails(name)
  local value
  if text == "true" then
    value = true
  elseif text == "false" then
    value = false
  elseif text == "nil" then
    value = nil
  elseif tonumber(text) then
    value = tonumber(text)
  else
    value = textutils.unserialize(text)
    if value == nil then
      value = text
    end
  end
  if details.type == "string" then
    value = text
  end
  if value == nil then
    settings.unset(name)
    print(name .. " unset")
  else
    if details.type and type(value) ~= details.type then
      printError(("%s is not a valid %s."):format(textutils.serialize(text), details.type))
      return
    end
    settings.set(name, value)
    print(name .. " set to " .. textutils.serialize(value))
  end
  if not settings.save(".settings") then
    printError("Cannot save settings")
  end
end
