-- fs: the natives, and completion of paths.
local fs = ...

function fs.complete(partial, path, includeFiles, includeDirs)
  if type(includeFiles) == "table" then
    includeDirs = includeFiles.include_dirs
    includeFiles = includeFiles.include_files
  end
  includeFiles = includeFiles ~= false
  includeDirs = includeDirs ~= false
  local dir = path
  local slash = partial:find("[/\\][^/\\]*$")
  if slash then
    dir = slash == 1 and "/" or fs.combine(partial:sub(1, 1) == "/" and "" or path, partial:sub(1, slash))
    partial = partial:sub(slash + 1)
  end
  if not fs.isDir(dir) then
    return {}
  end
  local found = {}
  for _, name in ipairs(fs.list(dir)) do
    if #name >= #partial and name:sub(1, #partial) == partial then
      local rest = name:sub(#partial + 1)
      if fs.isDir(fs.combine(dir, name)) then
        found[#found + 1] = rest .. "/"
        if includeDirs and #rest > 0 then
          found[#found + 1] = rest
        end
      elseif includeFiles and #rest > 0 then
        found[#found + 1] = rest
      end
    end
  end
  return found
end

return fs
