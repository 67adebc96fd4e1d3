-- Runs the startup files of the computer's disk, one after another.
if not settings.get("shell.allow_startup") then
  return
end

local file = shell.resolveProgram("/startup")
if file then
  shell.execute("/" .. file)
end
if fs.isDir("/startup") then
  for _, name in ipairs(fs.list("/startup")) do
    local path = fs.combine("/startup", name)
    if not fs.isDir(path) then
      shell.execute("/" .. path)
    end
  end
end
