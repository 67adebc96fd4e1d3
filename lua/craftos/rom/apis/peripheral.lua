-- peripheral: nothing is attached to this computer.
local peripheral = {}

function peripheral.getNames()
  return {}
end

function peripheral.isPresent()
  return false
end

function peripheral.getType()
  return nil
end

function peripheral.hasType()
  return nil
end

function peripheral.getMethods()
  return nil
end

function peripheral.getName()
  error("bad argument #1 (table is not a peripheral)", 2)
end

function peripheral.call(name)
  error("No peripheral attached", 2)
end

function peripheral.wrap()
  return nil
end

function peripheral.find()
  return nil
end

return peripheral
