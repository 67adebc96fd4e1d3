-- settings: named values that programs define, and the player sets.
local _, expect = ...

local settings = {}
local details, values = {}, {}

local function copy(value)
  if type(value) ~= "table" then
    return value
  end
  local result = {}
  for k, v in pairs(value) do
    result[k] = copy(v)
  end
  return result
end

local types = { number = true, string = true, boolean = true, table = true }

function settings.define(name, options)
  expect(1, name, "string")
  expect(2, options, "table", "nil")
  options = options or {}
  if options.type and not types[options.type] then
    error(("Unknown type %q. Expected one of number, string, boolean or table."):format(options.type), 2)
  end
  details[name] = { default = copy(options.default), description = options.description, type = options.type }
end

function settings.undefine(name)
  expect(1, name, "string")
  details[name] = nil
end

local function changed(name, old)
  os.queueEvent("setting_changed", name, settings.get(name), old)
end

function settings.set(name, value)
  expect(1, name, "string")
  expect(2, value, "number", "string", "boolean", "table")
  local detail = details[name]
  if detail and detail.type then
    expect(2, value, detail.type)
  end
  if type(value) == "table" then
    value = textutils.unserialize(textutils.serialize(value))
  end
  local old = settings.get(name)
  values[name] = value
  changed(name, old)
end

function settings.get(name, default)
  expect(1, name, "string")
  local value = values[name]
  if value ~= nil then
    return copy(value)
  elseif default ~= nil then
    return default
  end
  local detail = details[name]
  return detail and copy(detail.default)
end

function settings.getDetails(name)
  expect(1, name, "string")
  local detail = copy(details[name]) or {}
  detail.value = values[name]
  detail.changed = detail.value ~= nil
  if detail.value == nil then
    detail.value = detail.default
  end
  return detail
end

function settings.unset(name)
  expect(1, name, "string")
  local old = settings.get(name)
  values[name] = nil
  changed(name, old)
end

function settings.clear()
  local names = {}
  for name in pairs(values) do
    names[#names + 1] = name
  end
  for _, name in ipairs(names) do
    settings.unset(name)
  end
end

function settings.getNames()
  local seen, names = {}, {}
  for _, source in ipairs({ details, values }) do
    for name in pairs(source) do
      if not seen[name] then
        seen[name] = true
        names[#names + 1] = name
      end
    end
  end
  table.sort(names)
  return names
end

function settings.load(path)
  expect(1, path, "string", "nil")
  local file = fs.open(path or ".settings", "r")
  if not file then
    return false
  end
  local loaded = textutils.unserialize(file.readAll())
  file.close()
  if type(loaded) ~= "table" then
    return false
  end
  for name, value in pairs(loaded) do
    if type(name) == "string" and types[type(value)] then
      local detail = details[name]
      if not detail or detail.type == nil or detail.type == type(value) then
        local old = settings.get(name)
        values[name] = copy(value)
        changed(name, old)
      end
    end
  end
  return true
end

function settings.save(path)
  expect(1, path, "string", "nil")
  local file = fs.open(path or ".settings", "w")
  if not file then
    return false
  end
  file.write(textutils.serialize(values))
  file.close()
  return true
end

return settings
