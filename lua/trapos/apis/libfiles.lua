-- Files, changed so that nothing is lost: there is never a half-written file at a path, and the old content stays until the
-- new one is complete on the disk. (Opening with "w" truncates at once, and fs.move does not replace.)
--
-- A write goes to PATH.trapos-part, is renamed to PATH.trapos-new when complete, and takes the place of PATH. After a crash,
-- recover() finds the leftovers: a part is dropped; a new file whose target is gone is the file. A move over an existing file
-- sets that one aside as PATH.trapos-old meanwhile.
--
-- Functions return a result, or nil and {kind=..., message=...}; kinds: exists, no_space, read_only, is_directory, bad_path,
-- not_found, mismatch, io.

local sha256 = require("/apis/libsha256")

local PART, NEW, OLD = ".trapos-part", ".trapos-new", ".trapos-old"
-- The least that a file is charged for on the disk, whatever its size.
local MIN_CHARGE = 500
-- Directory entries looked at in one recovery.
local MAX_ENTRIES = 20000

local files = {}

local function failure(kind, message)
  return nil, { kind = kind, message = message }
end

--- The canonical form of a path, without a leading slash.
function files.resolve(path)
  if type(path) ~= "string" or path == "" then
    return failure("bad_path", "a path is needed")
  elseif path:find('[%c":<>?*|]') then
    return failure("bad_path", 'the path holds one of " : < > ? * | or a control character, which file names cannot have')
  elseif #path > 1024 then
    return failure("bad_path", "the path is longer than 1024 bytes")
  end
  local clean = fs.combine(path, "")
  if clean == ".." or clean:sub(1, 3) == "../" then
    return failure("bad_path", "the path leads out of the disk")
  elseif clean == "" then
    return failure("is_directory", "the path is the root directory")
  end
  return clean
end

-- The parent that is in the way: a file where a directory is needed.
local function blockingParent(path)
  local parent = fs.getDir(path)
  while parent ~= "" and parent ~= ".." do
    if fs.exists(parent) then
      return not fs.isDir(parent) and parent or nil
    end
    parent = fs.getDir(parent)
  end
end

-- What may be written at a path, before anything is touched.
local function check(path, mode)
  if fs.isDir(path) then
    return failure("is_directory", "/" .. path .. " is a directory")
  elseif fs.isReadOnly(path) then
    return failure("read_only", "/" .. path .. " is read-only")
  elseif mode == "create" and fs.exists(path) then
    return failure("exists", "/" .. path .. " exists already")
  end
  local blocking = blockingParent(path)
  if blocking then
    return failure("bad_path", "/" .. blocking .. " is a file, not a directory")
  end
  return true
end

-- Bytes free for files beside this one; math.huge when the drive does not say.
local function freeSpace(path)
  local dir = fs.getDir(path)
  while dir ~= "" and not fs.exists(dir) do
    dir = fs.getDir(dir)
  end
  local ok, free = pcall(fs.getFreeSpace, dir)
  return ok and type(free) == "number" and free or math.huge
end

-- The charge for the directories that must be made first.
local function parentCharge(path)
  local charge, dir = 0, fs.getDir(path)
  while dir ~= "" and dir ~= ".." and not fs.exists(dir) do
    charge = charge + MIN_CHARGE
    dir = fs.getDir(dir)
  end
  return charge
end

local function spaceNeeded(path, size)
  return math.max(size, MIN_CHARGE) + parentCharge(path)
end

local function remove(path)
  if fs.exists(path) then
    pcall(fs.delete, path)
  end
end

-- Errors of fs carry the position of the line that called it, and name the temporary file.
local function ioError(message, path)
  message = tostring(message):gsub("^[^%s:]*:%d+: ", ""):gsub("%.trapos%-%a+", "")
  if message:lower():find("out of space", 1, true) then
    return failure("no_space", "the disk ran full while writing /" .. path .. "; nothing was changed")
  end
  return failure("io", message)
end

-- Writes data to a file of its own and verifies its size; whatever happens, the file is closed.
local function fill(path, mode, data)
  local handle, message = fs.open(path, mode)
  if not handle then
    return false, message or "cannot open it"
  end
  local ok, problem = pcall(handle.write, data)
  local closed, closeProblem = pcall(handle.close)
  if not ok or not closed then
    return false, problem or closeProblem
  end
  return true
end

local function replace(path, data)
  local part, new = path .. PART, path .. NEW
  remove(part)
  remove(new)
  local ok, message = fill(part, "wb", data)
  if ok and fs.getSize(part) ~= #data then
    ok, message = false, "out of space"
  end
  if ok then
    ok, message = pcall(function()
      fs.move(part, new)
      if fs.exists(path) then
        fs.delete(path)
      end
      fs.move(new, path)
    end)
  end
  if not ok then
    remove(part)
    if fs.exists(path) then
      remove(new)
    end
    return ioError(message, path)
  end
  return true
end

local function noSpace(path, needed, free)
  return failure("no_space", ("no room to write /%s safely: it needs %d bytes beside the old file and %d are free; "
    .. "nothing was changed. delete something (or the old file) first"):format(path, needed, free))
end

local function append(path, data)
  local old = fs.getSize(path)
  local free = freeSpace(path)
  local growth = math.max(old + #data, MIN_CHARGE) - math.max(old, MIN_CHARGE)
  if free < growth then
    return failure("no_space", ("no room to append %d bytes to /%s: %d are free; nothing was changed")
      :format(#data, path, free))
  end
  local ok, message = fill(path, "ab", data)
  if not ok then
    return ioError(message, path)
  end
  return true
end

-- The file must hold what has that SHA-256. Hashing takes a while, in which others run: what was hashed is compared once more.
local function holds(path, expected, pause)
  local before, problem = files.read(path)
  if not before then
    return nil, problem
  end
  local found = sha256.hash(before.data, pause)
  local now = files.read(path)
  if found ~= expected:lower() or not now or now.data ~= before.data then
    return failure("mismatch", "/" .. before.path .. " holds something else than expected; nothing was changed. read it again")
  end
  return true
end

--- Writes data at path. mode: "write" (create or replace), "create" (only when absent) or "append". With expected, the file
--- must be there and hold what has that SHA-256 (64 hexadecimal digits); pause lets others run meanwhile.
--- Result: {path, bytes (written by this call), existed}. Missing parents are made.
function files.write(path, data, mode, expected, pause)
  local clean, problem = files.resolve(path)
  if not clean then
    return nil, problem
  end
  if expected then
    local same, changed = holds(clean, expected, pause)
    if not same then
      return nil, changed
    end
  end
  local fine, why = check(clean, mode)
  if not fine then
    return nil, why
  end
  local existed = fs.exists(clean)
  local done
  if mode == "append" and existed then
    done, why = append(clean, data)
  else
    local needed, free = spaceNeeded(clean, #data), freeSpace(clean)
    if free < needed then
      return noSpace(clean, needed, free)
    end
    done, why = replace(clean, data)
  end
  if not done then
    return nil, why
  end
  return { path = clean, bytes = #data, existed = existed }
end

local function existing(path)
  local clean, problem = files.resolve(path)
  if not clean then
    return nil, problem
  elseif not fs.exists(clean) then
    return failure("not_found", "/" .. clean .. " does not exist")
  end
  return clean
end

--- Reads a file: `length` bytes from `offset` (0 is the first), all of it by default.
--- Result: {path, data, size, offset}.
function files.read(path, offset, length)
  local clean, problem = existing(path)
  if not clean then
    return nil, problem
  elseif fs.isDir(clean) then
    return failure("is_directory", "/" .. clean .. " is a directory")
  end
  local handle, message = fs.open(clean, "rb")
  if not handle then
    return failure("io", message or "cannot open /" .. clean)
  end
  local ok, data = pcall(handle.readAll)
  pcall(handle.close)
  if not ok then
    return failure("io", tostring(data))
  end
  data = data or ""
  offset = offset or 0
  local last = length and offset + length or #data
  return { path = clean, size = #data, offset = offset, data = data:sub(offset + 1, last) }
end

--- Deletes a file, or a directory with `recursive` (or when it is empty). Result: {path, directory}.
function files.delete(path, recursive)
  local clean, problem = existing(path)
  if not clean then
    return nil, problem
  elseif fs.isReadOnly(clean) then
    return failure("read_only", "/" .. clean .. " is read-only")
  end
  local directory = fs.isDir(clean)
  if directory and not recursive and #fs.list(clean) > 0 then
    return failure("is_directory", "/" .. clean .. " is a directory that is not empty; say recursive to delete it all")
  end
  local ok, message = pcall(fs.delete, clean)
  if not ok then
    return ioError(message, clean)
  end
  return { path = clean, directory = directory }
end

--- Moves a file or directory; with `replaceFile` an existing file at the target gives way.
--- Result: {from, to, replaced}.
function files.move(from, to, replaceFile)
  local source, problem = existing(from)
  if not source then
    return nil, problem
  end
  local target, why = files.resolve(to)
  if not target then
    return nil, why
  elseif source == target or target:sub(1, #source + 1) == source .. "/" then
    return failure("bad_path", "cannot move /" .. source .. " into itself")
  elseif fs.isReadOnly(source) or fs.isReadOnly(target) then
    return failure("read_only", "/" .. (fs.isReadOnly(source) and source or target) .. " is read-only")
  elseif fs.isDir(target) then
    return failure("is_directory", "/" .. target .. " is a directory")
  end
  local replaced = fs.exists(target)
  if replaced and not replaceFile then
    return failure("exists", "/" .. target .. " exists already")
  elseif replaced and fs.isDir(source) then
    return failure("exists", "/" .. target .. " is a file; a directory cannot replace it")
  end
  local ok, message = pcall(function()
    if replaced then
      remove(target .. OLD)
      fs.move(target, target .. OLD)
      fs.move(source, target)
      fs.delete(target .. OLD)
    else
      fs.move(source, target)
    end
  end)
  if not ok then
    if replaced and not fs.exists(target) then
      pcall(fs.move, target .. OLD, target)
    end
    return ioError(message, target)
  end
  return { from = source, to = target, replaced = replaced }
end

local function describe(path)
  local directory = fs.isDir(path)
  return {
    path = path,
    directory = directory,
    size = directory and 0 or fs.getSize(path),
    readOnly = fs.isReadOnly(path),
  }
end

--- Lists a directory, everything below it with `recursive`, at most `limit` entries, rom left out unless asked for itself.
--- Result: {entries, truncated, free, capacity}; free and capacity are absent when the drive does not say.
function files.list(path, recursive, limit, pause)
  local clean = ""
  if path and fs.combine(path, "") ~= "" then
    local found, problem = existing(path)
    if not found then
      return nil, problem
    elseif not fs.isDir(found) then
      return failure("bad_path", "/" .. found .. " is a file")
    end
    clean = found
  end
  local entries, truncated, waiting = {}, false, { clean }
  while waiting[1] and not truncated do
    local dir = table.remove(waiting, 1)
    for _, name in ipairs(fs.list(dir)) do
      if #entries >= limit then
        truncated = true
        break
      end
      local entry = describe(fs.combine(dir, name))
      entries[#entries + 1] = entry
      if recursive and entry.directory and entry.path ~= "rom" then
        waiting[#waiting + 1] = entry.path
      end
    end
    if pause then
      pause()
    end
  end
  local free = freeSpace(fs.combine(clean, "x"))
  local ok, capacity = pcall(fs.getCapacity, clean)
  return {
    entries = entries,
    truncated = truncated,
    free = free ~= math.huge and free or nil,
    capacity = ok and type(capacity) == "number" and capacity or nil,
  }
end

--- Replaces old by new (plain text, no patterns) in a file, which must hold it exactly `count` times (default 1).
--- Result: {path, bytes (of the file now), replaced}.
function files.edit(path, old, new, count)
  if old == "" then
    return failure("bad_path", "the text to replace is empty")
  end
  local current, problem = files.read(path)
  if not current then
    return nil, problem
  end
  local parts, found, from = {}, 0, 1
  while true do
    local first, last = current.data:find(old, from, true)
    if not first then
      break
    end
    found = found + 1
    parts[#parts + 1] = current.data:sub(from, first - 1)
    from = last + 1
  end
  if found ~= (count or 1) then
    return failure("mismatch", ("/%s holds the text %d times, not %d; nothing was changed")
      :format(current.path, found, count or 1))
  end
  parts[#parts + 1] = current.data:sub(from)
  local data = table.concat(parts, new)
  local done, why = files.write(path, data, "write")
  if not done then
    return nil, why
  end
  return { path = current.path, bytes = #data, replaced = found }
end

local function recoverFile(path)
  if path:sub(-#PART) == PART then
    remove(path)
    return true
  elseif path:sub(-#NEW) == NEW or path:sub(-#OLD) == OLD then
    local target = path:sub(1, -#NEW - 1) -- both are of one length
    if fs.exists(target) then
      remove(path)
    else
      pcall(fs.move, path, target)
    end
    return true
  end
end

--- Settles what a crash left behind, on every writable drive. Returns how many leftovers there were.
function files.recover(pause)
  local settled, looked, waiting = 0, 0, { "" }
  while waiting[1] and looked < MAX_ENTRIES do
    local dir = table.remove(waiting)
    local ok, names = pcall(fs.list, dir)
    for _, name in ipairs(ok and names or {}) do
      looked = looked + 1
      local path = fs.combine(dir, name)
      local writable = not fs.isReadOnly(path)
      if writable and fs.isDir(path) then
        waiting[#waiting + 1] = path
      elseif writable and recoverFile(path) then
        settled = settled + 1
      end
    end
    if pause then
      pause()
    end
  end
  return settled
end

return files
