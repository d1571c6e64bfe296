-- A step changes a record and a lock together. Between condition.lua and begin.lua or finish.lua; before it stands
-- locks.lua, as the function `serve`.
-- ARGV from the sixth on: a value, an operation of locks.lua (none = no lock)
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now < 1e12 then return redis.error_reply('CLOCK the clock of this server is before 2001') end

-- The whole record, where write.lua names its version.
if stands then
  if stands[1] ~= 0 or not version then return stands end
  local record = call('HMGET', KEYS[1], 'v', 'w')
  return {0, record[1], version, record[2], now, call('HGET', KEYS[2], key)}
end

local locks, code, lock, owner = KEYS[4], ARGV[7], ARGV[8], ARGV[9]
local found = lock and call('HMGET', locks, '', lock) or {call('HGET', locks, '')}
local number, value, drawn, answer = math.max(tonumber(found[1] or 0) + 1, now * 1024), ARGV[6], nil, nil
-- A step may need two.
if number >= 9007199254740990 then
  return redis.error_reply('EXHAUSTED the counter has reached the end of exact numbers')
end
-- What can fail comes first: everything is written, or nothing.
if not version then call('ZADD', KEYS[3], 0, key) end
