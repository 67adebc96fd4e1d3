-- Installs, upgrades or uninstalls the traposd programs on this computer:
--   wget run http://HOST:4444/install.lua [uninstall | --no-reboot]
-- The address below is put in by the server that served this file.

local BASE = "@BASE@"

local STATE = "/.trapos/installed"
local USER_STARTUP = "/startup.user.lua"
local PART = ".trapos-part" -- as apis/libfiles names unfinished files, so that a crash here is tidied up there
local MIN_CHARGE = 500 -- bytes that the smallest file takes on a computer's disk
local SETTINGS = { "cloud.url", "cloud.password", "cloud.network", "cloud.auth" }
-- Seconds in which a key press prevents the reboot.
local GRACE = 3

local arguments = {}
for _, argument in ipairs({ ... }) do
  arguments[argument] = true
end

local function colour(c)
  if term.isColour() then
    term.setTextColour(c)
  end
end

local function good(text)
  colour(colours.lime)
  print(text)
  colour(colours.white)
end

local function stop(text)
  error("install: " .. text, 0)
end

-- CRC-32 as in zip, four bytes at a step: CRC[k][b] is what byte b does to the sum when k more bytes follow it in the step.
local CRC = { [0] = {}, {}, {}, {} }
for b = 0, 255 do
  local c = b
  for _ = 1, 8 do
    local half = math.floor(c / 2)
    c = c % 2 == 1 and bit32.bxor(half, 0xEDB88320) or half
  end
  CRC[0][b] = c
end
for k = 1, 3 do
  for b = 0, 255 do
    local c = CRC[k - 1][b]
    CRC[k][b] = bit32.bxor(CRC[0][c % 256], math.floor(c / 256))
  end
end

local function crc32(data)
  local bxor, byte = bit32.bxor, string.byte
  local last, third, second, first = CRC[0], CRC[1], CRC[2], CRC[3]
  local c, whole = 0xFFFFFFFF, #data - #data % 4
  for i = 1, whole, 4 do
    local p, q, r, s = byte(data, i, i + 3)
    c = bxor(c, p + q * 256 + r * 65536 + s * 16777216)
    local low = c % 65536
    local high = (c - low) / 65536
    local a, d = low % 256, high % 256
    c = bxor(first[a], second[(low - a) / 256], third[d], last[(high - d) / 256])
  end
  for i = whole + 1, #data do
    local low = c % 256
    c = bxor(last[bxor(low, byte(data, i))], (c - low) / 256)
  end
  return ("%08x"):format(bxor(c, 0xFFFFFFFF))
end

local function readFile(path)
  local handle = not fs.isDir(path) and fs.open(path, "rb")
  if not handle then
    return nil
  end
  local data = handle.readAll()
  handle.close()
  return data or ""
end

-- The old file stays until the new one is complete.
local function writeFile(path, data)
  local part = path .. PART
  local handle, message = fs.open(part, "wb")
  if not handle then
    stop("cannot write " .. path .. ": " .. tostring(message))
  end
  local ok, problem = pcall(handle.write, data)
  pcall(handle.close)
  if not ok or fs.getSize(part) ~= #data then
    fs.delete(part)
    stop("the disk is full; free some room and run this again. " .. tostring(problem or ""))
  end
  if fs.exists(path) then
    fs.delete(path)
  end
  fs.move(part, path)
end

local function fetch(path)
  local response, message = http.get(BASE .. path, nil, true)
  if not response then
    stop("cannot fetch " .. BASE .. path .. ": " .. tostring(message) .. ". Nothing was changed.")
  end
  local data = response.readAll()
  response.close()
  return data or ""
end

local function fetchManifest()
  local manifest = textutils.unserialiseJSON(fetch("/lua/manifest.json"))
  if type(manifest) ~= "table" or type(manifest.files) ~= "table" then
    stop(BASE .. " sent no list of files; is it a traposd gateway?")
  end
  return manifest
end

local function loadState()
  local data = readFile(STATE)
  local state = data and textutils.unserialise(data)
  return type(state) == "table" and state or { files = {} }
end

local function isSame(file, data)
  return data ~= nil and #data == file.size and crc32(data) == file.crc32
end

-- The files of the manifest that the disk does not have as they are.
local function differing(manifest)
  local list = {}
  for _, file in ipairs(manifest.files) do
    if not isSame(file, readFile("/" .. file.path)) then
      list[#list + 1] = file
    end
  end
  return list
end

local function checkRoom(list)
  local needed, largest = 0, 0
  for _, file in ipairs(list) do
    local path, charge = "/" .. file.path, math.max(file.size, MIN_CHARGE)
    needed, largest = needed + charge - (fs.exists(path) and fs.getSize(path) or 0), math.max(largest, charge)
  end
  local free = fs.getFreeSpace("/")
  if type(free) == "number" and free < needed + largest then
    stop(("needs %d bytes and %d are free. Nothing was changed."):format(needed + largest, free))
  end
end

-- Fetches all of the list before anything is written.
local function download(list)
  local changed = {}
  for i, file in ipairs(list) do
    local data = fetch("/lua/" .. file.path)
    if not isSame(file, data) then
      stop(file.path .. " arrived damaged; run this again. Nothing was changed.")
    end
    changed[i] = { path = "/" .. file.path, data = data }
  end
  return changed
end

-- The player's own startup file, if there is one.
local function ownStartup()
  local file = fs.exists("/startup") and not fs.isDir("/startup")
  local script = fs.exists("/startup.lua")
  if file and script then
    stop("there are both startup and startup.lua; delete the one you do not use and run this again")
  end
  return file and "/startup" or script and "/startup.lua" or nil
end

-- A startup file that never returns would keep ours from running, so it becomes one that runs beside the servers.
local function adoptStartup(path, state)
  if not path then
    return
  elseif fs.exists(USER_STARTUP) then
    print("Note: " .. path .. " runs before the cloud; if it never returns, the cloud does not start.")
    return
  end
  fs.move(path, USER_STARTUP)
  state.startup = path
  print("Your " .. path:sub(2) .. " is now " .. USER_STARTUP:sub(2) .. "; it runs beside the cloud.")
end

local function removeEmpty(dir)
  if dir ~= "" and fs.isDir(dir) and not fs.isReadOnly(dir) and #fs.list(dir) == 0 then
    fs.delete(dir)
    removeEmpty(fs.getDir(dir))
  end
end

local function removeFiles(paths, keep)
  for _, path in ipairs(paths) do
    if not keep[path] and fs.exists(path) and not fs.isReadOnly(path) then
      fs.delete(path)
      removeEmpty(fs.getDir(path))
    end
  end
end

local function configure()
  settings.set("cloud.url", (BASE:gsub("^http", "ws")) .. "/gateway")
  if not settings.get("cloud.password") then
    write("Password of the gateway: ")
    local password = read("*")
    if password ~= "" then
      settings.set("cloud.password", password)
    else
      print("Set it later: cloud password")
    end
  end
  settings.save(".settings")
end

local function reboot()
  if arguments["--no-reboot"] then
    print("It starts at the next reboot.")
    return
  end
  print("Rebooting in " .. GRACE .. " seconds; press a key to stay.")
  local timer = os.startTimer(GRACE)
  while true do
    local event, id = os.pullEvent()
    if event == "key" then
      print("It starts at the next reboot.")
      return
    elseif event == "timer" and id == timer then
      os.reboot()
    end
  end
end

local function install()
  print("Installing from " .. BASE)
  local startup = ownStartup()
  local manifest = fetchManifest()
  local list = differing(manifest)
  checkRoom(list)
  local changed = download(list)
  local state = loadState()
  adoptStartup(startup, state)
  local paths, keep = {}, {}
  for i, file in ipairs(manifest.files) do
    paths[i] = "/" .. file.path
    keep[paths[i]] = true
  end
  for _, file in ipairs(changed) do
    writeFile(file.path, file.data)
  end
  removeFiles(state.files, keep)
  state.files, state.version, state.base = paths, manifest.version, BASE
  writeFile(STATE, textutils.serialise(state))
  configure()
  good(("traposd %s: %d files, %d new or changed."):format(tostring(manifest.version), #paths, #changed))
  reboot()
end

local function uninstall()
  local state = loadState()
  if #state.files == 0 then
    stop("nothing is installed here")
  end
  removeFiles(state.files, {})
  if state.startup and fs.exists(USER_STARTUP) and not fs.exists(state.startup) then
    fs.move(USER_STARTUP, state.startup)
  end
  for _, name in ipairs(SETTINGS) do
    settings.unset(name)
  end
  settings.save(".settings")
  fs.delete(STATE)
  removeEmpty(fs.getDir(STATE))
  good("Uninstalled. What runs now stops at the next reboot.")
end

if arguments.uninstall then
  uninstall()
elseif not BASE:find("^https?://") then
  stop("run it from the gateway: wget run http://HOST:4444/install.lua")
else
  install()
end
