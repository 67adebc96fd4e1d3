-- What to tell a person in the game when the connection fails: what happened, and what to do about it. Pure.

local advice = {}

local CONFIG = "<world>/serverconfig/computercraft-server.toml"
-- Characters of the gateway's words that are shown: some lines of a screen of 51 by 19.
local MAX_WORDS = 160

--- Host of a ws:// or wss:// address, without port and brackets.
function advice.hostOf(url)
  local authority = url:match("^%a+://([^/?#]*)") or ""
  return authority:match("^%[(.-)%]") or authority:match("^([^:]*)") or ""
end

-- The rule that lets this host through. Loopback has many addresses; a name stands for itself.
local function ruleHost(host)
  if host == "localhost" or host:find("^127%.") then
    return "127.0.0.0/8"
  end
  return host
end

local function notPermitted(url)
  local host = ruleHost(advice.hostOf(url))
  return {
    "this world does not let computers reach " .. advice.hostOf(url) .. ".",
    "Its owner stops the game and adds this to " .. CONFIG .. ", before the rule for $private:",
    "  [[http.rules]]",
    '  host = "' .. host .. '"',
    '  action = "allow"',
  }
end

-- Part of the game's message -> lines for a person. The first that fits counts.
local SOCKET = {
  { "domain not permitted", notPermitted },
  { "websocket connections are disabled", function()
    return { "this world has websockets switched off.",
      "Its owner sets http.websocket_enabled = true in " .. CONFIG }
  end },
  { "too many websockets", function()
    return { "this computer has no socket left (the limit is 4).",
      "Stop another program that uses websockets, or reboot; trying again." }
  end },
  { "unknown host", function(url)
    return { "there is no host named " .. advice.hostOf(url) .. ".", "Check the address: cloud url ws://HOST:4444" }
  end },
  { "invalid handshake", function(url)
    return { url .. " answers, but not as a gateway.",
      "The address ends in /gateway, and begins with wss:// if the gateway has a certificate: cloud url ws://HOST:4444" }
  end },
  { "secure connection", function(url)
    return { "no secure connection to " .. advice.hostOf(url) .. ": the game does not trust its certificate.",
      "It must be in that name, and by an authority that the game's Java knows; see the gateway's documents on TLS." }
  end },
  { "malformed", function(url)
    return { url .. " is no address.", "Set it: cloud url ws://HOST:4444" }
  end },
  { "invalid scheme", function(url)
    return { url .. " is no websocket address.", "Set it: cloud url ws://HOST:4444" }
  end },
  { "timed out", function(url)
    return { "no answer from " .. advice.hostOf(url) .. ".", "Is a firewall between it and the game server? Trying again." }
  end },
  { "could not connect", function(url)
    return { "nothing answers at " .. url .. ".",
      "Is traposd running there, and TRAPOS_GATEWAY_ADDR open to this game server? Trying again." }
  end },
}

--- Lines for a failure of the socket to open.
function advice.forSocket(message, url)
  local lower = tostring(message):lower()
  for _, entry in ipairs(SOCKET) do
    if lower:find(entry[1], 1, true) then
      return entry[2](url)
    end
  end
  return { "cannot connect to " .. url .. ": " .. tostring(message) .. ". Trying again." }
end

local REFUSALS = {
  unauthorized = "Set the password of the gateway: cloud password",
  unsupported_protocol = "Install again from this gateway: wget run http://HOST:4444/install.lua",
  duplicate = "Give this world a network of its own: cloud network NAME",
  bad_request = "Check with: cloud status",
}

--- Lines for a gateway that was asked to prove that it knows the password, and did not.
function advice.forImpostor(url)
  return { url .. " did not prove that it knows the password.",
    "Is it your gateway, and of this version? One of long ago takes only the password itself: set cloud.auth password" }
end

--- Words of the gateway as one short line of text.
function advice.quote(words)
  return (words:sub(1, MAX_WORDS):gsub("%c+", " "))
end

--- Lines for a refusal of the gateway; the message may be nil or empty.
function advice.forRefusal(code, message)
  local lines = { "refused: " .. advice.quote(message and message ~= "" and message or code) }
  lines[2] = REFUSALS[code]
  return lines
end

return advice
