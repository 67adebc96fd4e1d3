-- wget <url> [file] | wget run <url> [arguments]
local arguments = table.pack(...)

local function usage()
  print("Usage:")
  print("wget <url> [filename]")
  print("wget run <url>")
end

local run = arguments[1] == "run"
if run then
  table.remove(arguments, 1)
end
local url = arguments[1]
if not url then
  usage()
  return
end
if not http then
  printError("wget requires the http API, but it is not enabled")
  return
end

local function fetch()
  local ok, reason = http.checkURL(url)
  if not ok then
    printError(reason or "Invalid URL.")
    return nil
  end
  write("Connecting to " .. url .. "... ")
  local response, failure = http.get(url, nil, true)
  if not response then
    print("Failed.")
    printError(failure)
    return nil
  end
  print("Success.")
  local content = response.readAll()
  response.close()
  return content or ""
end

if run then
  local source = fetch()
  if not source then
    return
  end
  local fn, reason = load(source, url:match("([^/]+)$") or url, "t", _ENV or getfenv(1))
  if not fn then
    printError(reason)
    return
  end
  local ok, failure = pcall(fn, table.unpack(arguments, 2))
  if not ok then
    printError(failure)
  end
else
  local name = arguments[2] or url:gsub("[#?].*", ""):gsub("/+$", ""):match("/([^/]+)$") or url
  local path = shell.resolve(name)
  if fs.exists(path) then
    print("File already exists")
    return
  end
  local content = fetch()
  if not content then
    return
  end
  local file, reason = fs.open(path, "wb")
  if not file then
    printError("Cannot save file: " .. tostring(reason))
    return
  end
  file.write(content)
  file.close()
  print("Downloaded as " .. name)
end
