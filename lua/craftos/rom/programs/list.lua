-- list [directory]
local target = shell.resolve((...) or ".")
if not fs.isDir(target) then
  printError("Not a directory")
  return
end
local files, dirs = {}, {}
for _, name in ipairs(fs.list(target)) do
  if settings.get("list.show_hidden") or name:sub(1, 1) ~= "." then
    table.insert(fs.isDir(fs.combine(target, name)) and dirs or files, name)
  end
end
table.sort(dirs)
table.sort(files)
textutils.pagedTabulate(colours.green, dirs, colours.white, files)
