-- mkdir <paths>
local paths = table.pack(...)
if paths.n < 1 then
  print("Usage: mkdir <paths>")
  return
end
for i = 1, paths.n do
  local path = shell.resolve(paths[i])
  if fs.exists(path) and not fs.isDir(path) then
    printError(paths[i] .. ": Destination exists")
  elseif fs.isReadOnly(path) then
    printError(paths[i] .. ": Access denied")
  else
    fs.makeDir(path)
  end
end
