-- copy <source> <destination>
local source, target = ...
if not target then
  print("Usage: copy <source> <destination>")
  return
end
local found = fs.find(shell.resolve(source))
if #found == 0 then
  printError("No matching files")
  return
end
local destination = shell.resolve(target)
for _, path in ipairs(found) do
  local to = destination
  if fs.isDir(destination) then
    to = fs.combine(destination, fs.getName(path))
  elseif #found > 1 then
    printError("Cannot overwrite file multiple times")
    return
  end
  if fs.exists(to) then
    printError("Destination exists")
  elseif fs.isReadOnly(to) then
    printError("Destination is read-only")
  else
    fs.copy(path, to)
  end
end
