-- What a computer is and has: type, peripherals, place in the world, disk, and a turtle's fuel and inventory.

-- Seconds that GPS hosts have to answer.
local GPS_TIMEOUT = 1
local MAX_PERIPHERALS = 64
local SLOTS = 16

local info = {}

-- The result of a call that may not exist here, or nil.
local function try(api, name, ...)
  if type(api) ~= "table" or type(api[name]) ~= "function" then
    return nil
  end
  local ok, result = pcall(api[name], ...)
  if ok then
    return result
  end
end

local function computerType()
  if turtle then
    return "turtle"
  elseif pocket then
    return "pocket"
  elseif commands then
    return "command"
  end
  return "computer"
end

local function peripherals()
  local list, wireless = {}, false
  for i, name in ipairs(try(peripheral, "getNames") or {}) do
    local types = { peripheral.getType(name) }
    if i <= MAX_PERIPHERALS then
      list[#list + 1] = { name = name, types = types }
    end
    for _, each in ipairs(types) do
      wireless = wireless or each == "modem" and try(peripheral, "call", name, "isWireless") == true
    end
  end
  return list, wireless
end

-- gps.locate would wait in vain without a wireless modem.
local function position(wireless)
  if not wireless or not gps then
    return nil
  end
  local ok, x, y, z = pcall(gps.locate, GPS_TIMEOUT)
  if ok and x and x == x and y == y and z == z then
    return { x = x, y = y, z = z }
  end
end

local function inventory()
  local list = {}
  for slot = 1, SLOTS do
    local item = try(turtle, "getItemDetail", slot)
    if type(item) == "table" then
      list[#list + 1] = { slot = slot, name = item.name, count = item.count }
    end
  end
  return list
end

local function finite(n)
  return type(n) == "number" and n == n and n < math.huge and n or nil
end

-- A turtle's fuel level is "unlimited" when the world says so.
local function turtleInfo()
  if not turtle then
    return nil
  end
  local level = try(turtle, "getFuelLevel")
  return {
    fuel = finite(level),
    fuelLimit = finite(try(turtle, "getFuelLimit")),
    unlimitedFuel = level == "unlimited",
    selectedSlot = finite(try(turtle, "getSelectedSlot")),
    inventory = inventory(),
  }
end

--- Result: {id, label, type = computer|turtle|pocket|command, advanced, host, uptime (seconds), width, height (of the screen),
--- free, capacity (bytes of the disk), peripherals = {{name, types}}, position? = {x, y, z}, turtle? = {fuel, fuelLimit,
--- unlimitedFuel, selectedSlot, inventory = {{slot, name, count}}}}. Takes up to a second where there is a wireless modem.
function info.describe(screen)
  local list, wireless = peripherals()
  local width, height = (screen or term).getSize()
  return {
    id = os.getComputerID(),
    label = os.getComputerLabel(),
    type = computerType(),
    advanced = term.isColour() == true,
    host = _HOST,
    uptime = os.clock(),
    width = width,
    height = height,
    free = finite(try(fs, "getFreeSpace", "/")),
    capacity = finite(try(fs, "getCapacity", "/")),
    peripherals = list,
    position = position(wireless),
    turtle = turtleInfo(),
  }
end

return info
