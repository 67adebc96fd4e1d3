-- http: requests and WebSockets. The natives report by events, which carry the URL that was asked for.
local native, check = ...
local expect = check.expect

local http = {}

local methods = { GET = true, POST = true, HEAD = true, OPTIONS = true, PUT = true, DELETE = true, PATCH = true, TRACE = true }

local function checkOptions(options, hasBody)
  expect(1, options, "table")
  if type(options.url) ~= "string" then
    error("bad field 'url' (string expected, got " .. type(options.url) .. ")", 4)
  end
  if options.body ~= nil and type(options.body) ~= "string" then
    error("bad field 'body' (string expected, got " .. type(options.body) .. ")", 4)
  end
  if hasBody and options.body == nil then
    error("bad field 'body' (string expected, got nil)", 4)
  end
  if options.method and not methods[options.method] then
    error("Unsupported HTTP method", 4)
  end
  return options
end

local function wait(options)
  local ok, reason = native.request(options)
  if not ok then
    return nil, reason
  end
  while true do
    local event, url, first, second = os.pullEvent()
    if url == options.url then
      if event == "http_success" then
        return first
      elseif event == "http_failure" then
        return nil, first, second
      end
    end
  end
end

function http.get(url, headers, binary)
  if type(url) == "table" then
    return wait(checkOptions(url, false))
  end
  expect(1, url, "string")
  expect(2, headers, "table", "nil")
  return wait({ url = url, headers = headers, binary = binary })
end

function http.post(url, body, headers, binary)
  if type(url) == "table" then
    return wait(checkOptions(url, true))
  end
  expect(1, url, "string")
  expect(2, body, "string")
  expect(3, headers, "table", "nil")
  return wait({ url = url, body = body, headers = headers, binary = binary })
end

function http.request(url, body, headers, binary)
  local options
  if type(url) == "table" then
    options = checkOptions(url, false)
  else
    expect(1, url, "string")
    expect(2, body, "string", "nil")
    expect(3, headers, "table", "nil")
    options = { url = url, body = body, headers = headers, binary = binary }
  end
  local ok, reason = native.request(options)
  if not ok then
    os.queueEvent("http_failure", options.url, reason)
  end
  return ok, reason
end

http.checkURLAsync = native.checkURL

function http.checkURL(url)
  expect(1, url, "string")
  local ok, reason = native.checkURL(url)
  if not ok then
    return ok, reason
  end
  while true do
    local _, checked, result, failure = os.pullEvent("http_check")
    if checked == url then
      return result, failure
    end
  end
end

local function socketArguments(url, headers)
  if type(url) == "table" then
    if type(url.url) ~= "string" then
      error("bad field 'url' (string expected, got " .. type(url.url) .. ")", 3)
    end
    return url.url, url.headers, url.timeout
  end
  expect(1, url, "string")
  expect(2, headers, "table", "nil")
  return url, headers
end

function http.websocketAsync(url, headers)
  local address, extra, timeout = socketArguments(url, headers)
  local ok, reason = native.websocket(address, extra, timeout)
  if not ok then
    os.queueEvent("websocket_failure", address, reason)
  end
  return ok, reason
end

function http.websocket(url, headers)
  local address, extra, timeout = socketArguments(url, headers)
  local ok, reason = native.websocket(address, extra, timeout)
  if not ok then
    return ok, reason
  end
  while true do
    local event, opened, result = os.pullEvent()
    if opened == address then
      if event == "websocket_success" then
        return result
      elseif event == "websocket_failure" then
        return false, result
      end
    end
  end
end

return http
