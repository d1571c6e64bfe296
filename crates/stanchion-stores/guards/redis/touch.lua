-- Stanchion's guard for Redis, first half: touch before you read.
--
-- Raises the fence of a hash to your token and reads the hash, in one step. From then on every lower token is
-- refused, here and in write.lua: a holder that lost its lock cannot write over what you are about to read.
--
-- KEYS[1]  your hash
-- ARGV     fence number ($STANCHION_FENCE), lease id ($STANCHION_LEASE_ID)
-- Returns  {1, field, value, field, value, ...}   touched; these are the fields
--          {0, floor}                             refused; somebody with a newer lock has been here.
--                                                 `floor` is that lock's number
--
-- The hash gets one field of its own, `_fence`. Other fields are yours.
local number, lease = ARGV[1], ARGV[2]
if not number or not number:match('^%d+$') or #number > 20 or not lease or lease == '' then
  return redis.error_reply('ERR touch needs a fence number and a lease id')
end
-- Numbers of equal width compare as text, exactly; Lua's own numbers end at 2^53.
number = string.rep('0', 20 - #number) .. number
local token, seen = number .. '-' .. lease, redis.call('HGET', KEYS[1], '_fence')
if seen and seen ~= token and seen:sub(1, 20) >= number then
  return {0, (seen:sub(1, 20):gsub('^0+(%d)', '%1'))}
end
if seen ~= token then redis.call('HSET', KEYS[1], '_fence', token) end
local out, fields = {1}, redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  if fields[i] ~= '_fence' then
    out[#out + 1] = fields[i]
    out[#out + 1] = fields[i + 1]
  end
end
return out
