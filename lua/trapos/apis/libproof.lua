-- How a computer and its gateway show each other that they know the password, without sending it (gateway protocol 1, section
-- 3): each sends a code that only the password makes of both sides' nonces and of who the computer is. Pure, but for the clock
-- and chance in nonce().

local sha256 = require("/apis/libsha256")

local proof = {}

local count = 0

--- What no other connection has had. It need not be secret: chance, the clock and a count are enough.
function proof.nonce()
  count = count + 1
  return ("%x-%x-%x-%06x%06x"):format(os.getComputerID() % 2 ^ 31, math.floor(os.epoch("utc") / 1000) % 2 ^ 31, count,
    math.random(0, 2 ^ 24 - 1), math.random(0, 2 ^ 24 - 1))
end

--- The proof of `who` ("computer" or "gateway"): 64 hexadecimal digits. hello is the computer's hello frame, challenge the
--- gateway's nonce.
function proof.make(who, password, hello, challenge)
  return sha256.hmac(password, table.concat({
    "traposd-" .. who .. "-1", challenge, hello.nonce, hello.networkId, ("%.0f"):format(hello.computerId), hello.boot,
  }, "\n"))
end

return proof
