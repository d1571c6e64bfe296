-- Raises the key's fence, if a token is given, and reads: one step.
-- KEYS record, fences; ARGV key, token ('' only reads)
-- A token is number(20, zero-padded) '-' nonce(16): equal widths, so text order is number order, exactly.
local seen, token = redis.call('HGET', KEYS[2], ARGV[1]), ARGV[2]
if token ~= '' then
  if seen and token ~= seen and token:sub(1, 20) <= seen:sub(1, 20) then return {-1, seen} end
  if token ~= seen then redis.call('HSET', KEYS[2], ARGV[1], token) end
  seen = token
end
local record = redis.call('HMGET', KEYS[1], 'v', 'n', 'w')
if not record[2] then return {0} end
local time = redis.call('TIME')
return {1, record[1], record[2], record[3], time[1] * 1000 + math.floor(time[2] / 1000), seen}
