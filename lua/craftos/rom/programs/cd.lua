-- cd <directory>
local name = ...
if not name then
  print("Usage: cd <path>")
  return
end
local target = shell.resolve(name)
if fs.isDir(target) then
  shell.setDir(target)
else
  printError("Not a directory")
end
