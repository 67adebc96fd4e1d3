-- redstone: six sides that nothing is connected to. Outputs can be set and read back.
local redstone = {}
local sides = { "top", "bottom", "left", "right", "front", "back" }
local outputs, bundled = {}, {}

local function check(side)
  for _, known in ipairs(sides) do
    if side == known then
      return side
    end
  end
  error("bad argument #1 (unknown option " .. tostring(side) .. ")", 3)
end

function redstone.getSides()
  return { table.unpack(sides) }
end

function redstone.setOutput(side, on)
  outputs[check(side)] = on and 15 or 0
end

function redstone.getOutput(side)
  return (outputs[check(side)] or 0) > 0
end

function redstone.getInput(side)
  check(side)
  return false
end

function redstone.setAnalogOutput(side, value)
  outputs[check(side)] = value
end

function redstone.getAnalogOutput(side)
  return outputs[check(side)] or 0
end

function redstone.getAnalogInput(side)
  check(side)
  return 0
end

function redstone.setBundledOutput(side, set)
  bundled[check(side)] = set
end

function redstone.getBundledOutput(side)
  return bundled[check(side)] or 0
end

function redstone.getBundledInput(side)
  check(side)
  return 0
end

function redstone.testBundledInput(side, set)
  check(side)
  return set == 0
end

redstone.setAnalogueOutput = redstone.setAnalogOutput
redstone.getAnalogueOutput = redstone.getAnalogOutput
redstone.getAnalogueInput = redstone.getAnalogInput

return redstone
