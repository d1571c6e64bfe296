-- Stanchion's guard for Redis, second half: write only if nobody newer has touched.
--
-- KEYS[1]  your hash
-- ARGV     fence number, lease id, field, value, field, value, ...
-- Returns  {1}          written
--          {0, floor}   refused and unchanged. A higher floor than yours: a newer holder has touched; stop.
--                       Floor 0, or one below yours: you have not touched yet; touch.lua comes first
local number, lease = ARGV[1], ARGV[2]
if not number or not number:match('^%d+$') or #number > 20 or not lease or lease == '' or #ARGV < 4 or #ARGV % 2 == 1 then
  return redis.error_reply('ERR write needs a fence number, a lease id, and fields with values')
end
local token = string.rep('0', 20 - #number) .. number .. '-' .. lease
local seen = redis.call('HGET', KEYS[1], '_fence')
if seen ~= token then
  return {0, seen and (seen:sub(1, 20):gsub('^0+(%d)', '%1')) or '0'}
end
for i = 3, #ARGV, 2 do
  if ARGV[i] == '_fence' then return redis.error_reply('ERR the field _fence belongs to the guard') end
end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
return {1}
