-- Writes or deletes a record if its condition holds: everything, or nothing, so what can fail comes first.
-- ARGV from the sixth on: value (none = delete)
if stands then return stands end
if not ARGV[6] then
  if not version then return {0, version} end
  call('ZREM', KEYS[3], key)
  call('DEL', KEYS[1])
  redis.pcall('PUBLISH', ARGV[4], key)
  return {1}
end

local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local number = math.max(tonumber(call('HGET', KEYS[4], '') or 0) + 1, now * 1024)
if number >= 9007199254740991 then
  return redis.error_reply('EXHAUSTED the counter has reached the end of exact numbers')
end
if not version then call('ZADD', KEYS[3], 0, key) end
local value, drawn = ARGV[6], string.format('%.0f', number)
local answer = {1, drawn}
call('HSET', KEYS[4], '', drawn)
