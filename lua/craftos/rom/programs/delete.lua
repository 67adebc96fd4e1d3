-- delete <paths>
local paths = table.pack(...)
if paths.n < 1 then
  print("Usage: delete <paths>")
  return
end
for i = 1, paths.n do
  local found = fs.find(shell.resolve(paths[i]))
  if #found == 0 then
    printError(paths[i] .. ": No matching files")
  end
  for _, path in ipairs(found) do
    if fs.isReadOnly(path) then
      printError("Cannot delete read-only file /" .. path)
    else
      local ok, reason = pcall(fs.delete, path)
      if not ok then
        printError((reason:gsub("^pcall: ", "")))
      end
    end
  end
end
