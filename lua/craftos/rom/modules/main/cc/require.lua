-- cc.require: makes require and package for one program.
local expect = dofile("rom/modules/main/cc/expect.lua").expect

local defaultPath = table.concat({
  "?", "?.lua", "?/init.lua",
  "/rom/modules/main/?", "/rom/modules/main/?.lua", "/rom/modules/main/?/init.lua",
}, ";")

-- package.searchpath, for paths relative to dir.
local function searcher(dir)
  return function(name, path, sep, rep)
    expect(1, name, "string")
    expect(2, path, "string")
    local file = name:gsub((sep or "."):gsub("%p", "%%%0"), rep or "/")
    local tried = {}
    for pattern in path:gmatch("[^;]+") do
      local candidate = pattern:gsub("%?", (file:gsub("%%", "%%%%")))
      if candidate:sub(1, 1) ~= "/" then
        candidate = fs.combine(dir, candidate)
      end
      if fs.exists(candidate) and not fs.isDir(candidate) then
        return candidate
      end
      tried[#tried + 1] = "no file '" .. candidate .. "'"
    end
    return nil, table.concat(tried, "\n  ")
  end
end

local function preloader(package)
  return function(name)
    if package.preload[name] then
      return package.preload[name]
    end
    return nil, "no field package.preload['" .. name .. "']"
  end
end

local function fileLoader(package, env)
  return function(name)
    local path, reason = package.searchpath(name, package.path)
    if not path then
      return nil, reason
    end
    local fn, failure = loadfile(path, nil, env)
    if not fn then
      error(failure, 0)
    end
    return fn, path
  end
end

local LOADING = {} -- what package.loaded has for a module that is being loaded

local function run(package, name, fn, extra)
  package.loaded[name] = LOADING
  local ok, result = pcall(fn, name, extra)
  if not ok then
    package.loaded[name] = nil
    error(result, 0)
  end
  if result ~= nil then
    package.loaded[name] = result
  elseif package.loaded[name] == LOADING then
    package.loaded[name] = true
  end
  return package.loaded[name]
end

local function requirer(package)
  return function(name)
    expect(1, name, "string")
    local loaded = package.loaded[name]
    if loaded == LOADING then
      error("loop or previous error loading module '" .. name .. "'", 0)
    elseif loaded ~= nil then
      return loaded
    end
    local reasons = {}
    for _, loader in ipairs(package.loaders) do
      local fn, extra = loader(name)
      if fn then
        return run(package, name, fn, extra)
      end
      reasons[#reasons + 1] = extra
    end
    error("module '" .. name .. "' not found:\n  " .. table.concat(reasons, "\n  "), 2)
  end
end

local function make(env, dir)
  expect(1, env, "table")
  expect(2, dir, "string")
  local package = {
    path = defaultPath,
    config = "/\n;\n?\n!\n-",
    preload = {},
    loaded = {
      _G = env, bit32 = bit32, coroutine = coroutine, math = math, string = string, table = table, utf8 = utf8,
    },
    searchpath = searcher(dir),
  }
  package.loaders = { preloader(package), fileLoader(package, env) }
  return requirer(package), package
end

return { make = make }
