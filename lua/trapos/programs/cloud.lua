-- cloud: shows and sets the connection of this computer to its gateway.

local cloud = require("/apis/libcloud")

local arguments = { ... }

local function colour(c)
  if term.isColour() then
    term.setTextColour(c)
  end
end

local function line(label, value, c)
  if value == nil or value == "" then
    return
  end
  colour(colours.lightGrey)
  write((label .. ":          "):sub(1, 10))
  colour(c or colours.white)
  print(tostring(value))
  colour(colours.white)
end

local function save(name, value)
  settings.set(name, value)
  settings.save(".settings")
end

--- The gateway's address, from whatever a person may write: HOST, HOST:PORT, http://..., with or without /gateway.
local function address(text)
  local scheme, rest = text:match("^(%a+)://(.+)$")
  if not scheme then
    scheme, rest = "ws", text
  end
  scheme = scheme:lower():gsub("^http", "ws")
  if scheme ~= "ws" and scheme ~= "wss" then
    return nil
  end
  local authority, path = rest:match("^([^/?#]+)(.*)$")
  if not authority or authority:find("[%s@]") then
    return nil
  end
  if scheme == "ws" and not authority:find(":%d+$") then
    authority = authority .. ":4444"
  end
  if path == "" or path == "/" then
    path = "/gateway"
  end
  return scheme .. "://" .. authority .. path
end

local STATES = {
  off = "off; start it: cloud connect",
  connecting = "connecting",
  greeting = "connecting",
  waiting = "trying again soon",
  ready = "connected",
}

local function showSettings()
  line("url", settings.get("cloud.url") or "not set; set it: cloud url ws://HOST:4444")
  line("network", settings.get("cloud.network") or "default")
  line("password", settings.get("cloud.password") and "set" or "not set; set it: cloud password")
end

local commands = {}

function commands.status()
  local status, problem = cloud.status()
  if not status then
    line("state", problem, colours.red)
    showSettings()
    return
  end
  line("state", STATES[status.state] or status.state, status.state == "ready" and colours.lime or colours.orange)
  line("problem", status.problem, colours.red)
  line("computer", status.state == "ready" and status.traposId or nil)
  showSettings()
  line("serves", table.concat(status.serves, " "))
end

function commands.connect()
  if not settings.get("cloud.url") then
    printError("set the address first: cloud url ws://HOST:4444")
    return
  end
  cloud.connect()
  print("connecting; see: cloud status")
end

function commands.disconnect()
  cloud.disconnect()
  print("disconnected until: cloud connect (or a reboot)")
end

function commands.url(text)
  local url = text and address(text)
  if not url then
    printError("usage: cloud url ws://HOST:4444")
    return
  end
  save("cloud.url", url)
  print("the gateway is " .. url)
  cloud.connect()
end

function commands.password()
  write("Password of the gateway: ")
  local password = read("*")
  if password == "" then
    print("unchanged")
    return
  end
  save("cloud.password", password)
  print("saved")
  cloud.connect()
end

function commands.network(name)
  if not name or not name:find("^[%w._-]+$") or #name > 64 then
    printError("usage: cloud network NAME (letters, digits, . _ -)")
    return
  end
  save("cloud.network", name)
  print("the network is " .. name)
  cloud.connect()
end

local command = commands[arguments[1] or "status"]
if not command then
  print("usage: cloud [status | connect | disconnect | url ADDRESS | password | network NAME]")
  return
end
command(arguments[2])
