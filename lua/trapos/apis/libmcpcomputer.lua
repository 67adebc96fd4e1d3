-- What a computer can do for an MCP client, whatever the protocol that carries it: each function takes a request's payload
-- and returns the result's payload. A Lua error or a failed write is a result with ok=false, not an error.
-- Bytes travel as base64 in fields that end in Base64.
--
-- context: pause() (lets others run), host ({shell=, multishell=} for executed code), control (see libexec), screen (the window
-- that shows the shell, or nil).

local base64 = require("/apis/libbase64")
local console = require("/apis/libconsole")
local exec = require("/apis/libexec")
local files = require("/apis/libfiles")
local info = require("/apis/libinfo")
local json = require("/apis/libjson")
local values = require("/apis/libvalues")

local DEFAULT_TIMEOUT_MS = 30000
-- Longest run of one chunk: an hour.
local MAX_TIMEOUT_MS = 3600000
local DEFAULT_OUTPUT = 65536
local MAX_OUTPUT = 1048576
-- Bytes of the texts of all returned values together.
local MAX_RETURNS = 1048576
local MAX_ENTRIES = 2000
-- Bytes that one read-file returns at most.
local MAX_READ = 1048576

local computer = {}

local MODES = { write = true, create = true, append = true }

-- A request that cannot be carried out as it is written; libcloud answers bad_request.
local function badRequest(message)
  return nil, { code = "bad_request", message = message }
end

local function within(value, default, limit)
  if type(value) ~= "number" or value ~= value or value <= 0 then
    return default
  end
  return math.min(math.floor(value), limit)
end

-- Bytes of the field NAMEBase64, or of the plain field.
local function bytes(payload, name, pause)
  if payload[name .. "Base64"] ~= nil then
    return base64.decode(payload[name .. "Base64"], pause)
  elseif type(payload[name]) == "string" then
    return payload[name]
  end
end

local function chunkName(name)
  if type(name) ~= "string" or name == "" or #name > 100 or name:find("[%c:]") then
    return "=exec"
  elseif name:find("^[=@]") then
    return name
  end
  return "=" .. name
end

--- exec-lua: {sourceBase64, timeoutMs?, chunkName?, session?, maxOutputBytes?} -> {ok, returns | kind, errorBase64, line?,
--- tracebackBase64?; outputBase64, outputTruncated, outputBytes}. Second result: "reboot", "shutdown" or nil, to be done
--- after the answer is out.
function computer.executeLua(payload, context)
  local source = bytes(payload, "source", context.pause)
  if not source then
    return badRequest("sourceBase64 is missing or not base64")
  end
  local result = exec.run(source, {
    timeoutMs = within(payload.timeoutMs, DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS),
    chunkName = chunkName(payload.chunkName),
    session = type(payload.session) == "string" and payload.session or nil,
    outputLimit = within(payload.maxOutputBytes, DEFAULT_OUTPUT, MAX_OUTPUT),
    host = context.host,
    control = context.control,
  })
  local answer = {
    ok = result.ok,
    outputBase64 = base64.encode(result.output, context.pause),
    outputTruncated = result.outputTruncated,
    outputBytes = result.outputBytes,
  }
  if result.ok then
    answer.returns = values.describe(result.returns, MAX_RETURNS, context.pause)
  else
    answer.kind, answer.line = result.kind, result.line
    answer.errorBase64 = base64.encode(result.error)
    answer.tracebackBase64 = result.traceback and base64.encode(result.traceback)
  end
  return answer, result.leave
end

local function filesAnswer(result, problem)
  if not result then
    return { ok = false, kind = problem.kind, errorBase64 = base64.encode(problem.message) }
  end
  result.ok = true
  return result
end

-- The path of a payload; paths are bytes too.
local function path(payload, name)
  return bytes(payload, name or "path")
end

-- A path in an answer: plain when it is printable ASCII, else NAMEBase64.
local function withPath(answer, name)
  local text = answer[name]
  if text then
    answer[name] = nil
    json.put(answer, name, text)
  end
  return answer
end

--- write-file: {path, dataBase64, mode? = write|append|create, expectedSha256?} -> {ok, path, bytes, existed | kind,
--- errorBase64}.
function computer.writeFile(payload, context)
  local data = bytes(payload, "data", context.pause)
  local mode = payload.mode or "write"
  if not data then
    return badRequest("dataBase64 is missing or not base64")
  elseif not MODES[mode] then
    return badRequest("mode must be write, append or create")
  end
  local expected = payload.expectedSha256
  if expected ~= nil and (type(expected) ~= "string" or #expected ~= 64) then
    return badRequest("expectedSha256 must be 64 hexadecimal digits")
  end
  return withPath(filesAnswer(files.write(path(payload), data, mode, expected, context.pause)), "path")
end

--- read-file: {path, offset?, length?} -> {ok, path, dataBase64, size, offset, truncated}.
function computer.readFile(payload, context)
  local result, problem = files.read(path(payload), within(payload.offset, 0, 2 ^ 31),
    within(payload.length, MAX_READ, MAX_READ))
  local answer = filesAnswer(result, problem)
  if result then
    answer.truncated = answer.offset + #answer.data < answer.size
    answer.dataBase64, answer.data = base64.encode(answer.data, context.pause), nil
  end
  return withPath(answer, "path")
end

--- list-files: {path?, recursive?, limit?} -> {ok, entries=[{path, directory, size, readOnly}], truncated, free?, capacity?}.
function computer.listFiles(payload, context)
  local answer = filesAnswer(files.list(path(payload), payload.recursive == true,
    within(payload.limit, MAX_ENTRIES, MAX_ENTRIES), context.pause))
  for _, entry in ipairs(answer.entries or {}) do
    withPath(entry, "path")
  end
  if answer.entries then
    json.array(answer.entries)
  end
  return answer
end

--- delete-file: {path, recursive?} -> {ok, path, directory}.
function computer.deleteFile(payload)
  return withPath(filesAnswer(files.delete(path(payload), payload.recursive == true)), "path")
end

--- move-file: {from, to, replace?} -> {ok, from, to, replaced}.
function computer.moveFile(payload)
  local answer = filesAnswer(files.move(path(payload, "from"), path(payload, "to"), payload.replace == true))
  return withPath(withPath(answer, "from"), "to")
end

--- edit-file: {path, oldBase64, newBase64, count? = 1} -> {ok, path, bytes, replaced}.
function computer.editFile(payload, context)
  local old, new = bytes(payload, "old", context.pause), bytes(payload, "new", context.pause)
  if not old or not new then
    return badRequest("oldBase64 and newBase64 are needed, as base64")
  end
  return withPath(filesAnswer(files.edit(path(payload), old, new, within(payload.count, 1, 2 ^ 31))), "path")
end

--- read-screen: {} -> {ok, width, height, cursorX, cursorY, cursorBlink, textBase64, foreground, background, palette}.
function computer.readScreen(_, context)
  local answer = filesAnswer(console.read(context.screen))
  if answer.ok then
    answer.textBase64, answer.text = base64.encode(answer.text), nil
  end
  return answer
end

--- send-keys: {textBase64?, keys?} -> {ok, typed}.
function computer.sendKeys(payload, context)
  local text = ""
  if payload.textBase64 ~= nil then
    text = bytes(payload, "text", context.pause)
  end
  if not text or (payload.keys ~= nil and type(payload.keys) ~= "table") then
    return badRequest("textBase64 must be base64, and keys a list of names")
  end
  return filesAnswer(console.type(text, payload.keys or {}))
end

--- send-event: {event, arguments?} -> {ok}.
function computer.sendEvent(payload)
  if payload.arguments ~= nil and type(payload.arguments) ~= "table" then
    return badRequest("arguments must be a list")
  end
  return filesAnswer(console.event(payload.event, payload.arguments or {}))
end

--- computer-info: {} -> {ok, id, labelBase64?, type, ...} as libinfo says; names of peripherals and items are plain text.
function computer.computerInfo(_, context)
  local answer = filesAnswer(info.describe(context.screen))
  answer.labelBase64, answer.label = answer.label and base64.encode(answer.label), nil
  for _, each in ipairs(json.array(answer.peripherals)) do
    json.array(each.types)
  end
  if answer.turtle then
    json.array(answer.turtle.inventory)
  end
  return answer
end

return computer
