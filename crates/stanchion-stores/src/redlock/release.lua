-- Gives the lock back where it is ours, and calls those who wait. Keys and values: see take.lua.
--
-- ARGV     owner, mode, channel, key, number, ask. The number is remembered here, too, unless it is empty; with an ask,
--          only what that attempt has taken is given back
-- Answers 1: it was ours until now; 0: it was not.
local call, lock, owner, ask = redis.call, KEYS[1], ARGV[1], ARGV[6]
if ARGV[2] == 'x' then
  local value = redis.pcall('GET', lock)
  if type(value) ~= 'string' or value:sub(1, 32) ~= owner then return 0 end
  if ask ~= '' and value:sub(62, 77) ~= ask then return 0 end
  call('DEL', lock)
else
  local value = redis.pcall('HGET', lock, owner)
  if type(value) ~= 'string' or ask ~= '' and value:sub(43, 58) ~= ask then return 0 end
  call('HDEL', lock, owner)
  local time, last = call('TIME'), ''
  if value:sub(1, 13) <= time[1] .. string.format('%03d', math.floor(time[2] / 1000)) then return 0 end
  for _, other in ipairs(call('HVALS', lock)) do
    if other:sub(1, 13) > last then last = other:sub(1, 13) end
  end
  if last ~= '' then call('PEXPIREAT', lock, last) end
end
if ARGV[5] ~= '' and (call('GET', KEYS[2]) or '') < ARGV[5] then call('SET', KEYS[2], ARGV[5]) end
call('PUBLISH', ARGV[3], ARGV[4])
return 1
