-- Writes or deletes a record if its condition holds, and tells the watchers.
-- KEYS record, fences, index, locks (their field '' is the counter)
-- ARGV key, condition, its argument, channel, and for a write: ttl ('' = none), value
--   condition: A absent, V version = argument, F fence = argument
local key, cond, want, ttl, value = ARGV[1], ARGV[2], ARGV[3], ARGV[5], ARGV[6]
local version = redis.call('HGET', KEYS[1], 'n')
if cond == 'F' then
  local seen = redis.call('HGET', KEYS[2], key)
  if seen ~= want then return {-1, seen} end
elseif (version or '') ~= want then
  return {0, version}
end

if not value then
  if not version then return {0, version} end
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[3], key)
  redis.pcall('PUBLISH', ARGV[4], key)
  return {1}
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local number = math.max(tonumber(redis.call('HGET', KEYS[4], '') or 0) + 1, now * 1024)
if number >= 9007199254740991 then
  return redis.error_reply('EXHAUSTED the counter has reached the end of exact numbers')
end
local drawn = string.format('%.0f', number)
redis.call('HSET', KEYS[4], '', drawn)
redis.call('HSET', KEYS[1], 'v', value, 'n', drawn, 'w', string.format('%.0f', now))
if ttl ~= '' then redis.call('PEXPIRE', KEYS[1], ttl) elseif version then redis.call('PERSIST', KEYS[1]) end
if not version then redis.call('ZADD', KEYS[3], 0, key) end
redis.pcall('PUBLISH', ARGV[4], key)

-- Names of expired records that nobody lists are found by sampling, so that they cannot pile up: at most
-- one in 64 writes, and on while a quarter of the sample was garbage.
if now % 64 == 0 then
  local prefix = KEYS[1]:sub(1, #KEYS[1] - #key)
  for _ = 1, 8 do
    local dead = {}
    for _, name in ipairs(redis.pcall('ZRANDMEMBER', KEYS[3], 32)) do
      if redis.call('EXISTS', prefix .. name) == 0 then dead[#dead + 1] = name end
    end
    if dead[1] then redis.call('ZREM', KEYS[3], unpack(dead)) end
    if #dead < 8 then break end
  end
end
return {1, drawn}
