-- Takes the lock on this node, if it is free here.
--
-- KEYS[1]  the lock: text for one exclusive holder, a hash with a field per shared one; it ends by itself
-- KEYS[2]  the highest fence that this node knows of
-- ARGV     owner (32 hex digits), ttl in ms, mode (x or s), number, identity, timed (0 or 1)
--
-- The number is the fence that the caller would like. If this node knows a higher one, the next is drawn here and the
-- caller sees by the answer that it has to agree with the others first. Numbers have 16 digits, times 13, so they are
-- compared as text.
--   exclusive  owner(32) number(16) since(13) ask(16) \t identity
--   shared     owner = expires(13) number(16) since(13) ask(16) \t identity
-- ask is the number that the attempt came with: an owner may try several times, and what is left of an earlier attempt,
-- on its way here or to be cleaned up, must not touch what a later one has.
-- Answers a number: ours. Or {now, free in ms, kind .. holder}: somebody else's. Or {}: a later attempt was here before.
local call, lock = redis.call, KEYS[1]
local owner, ttl, mode, number, ask = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[4]
local time = call('TIME')
local now = time[1] .. string.format('%03d', math.floor(time[2] / 1000))
local known = call('GET', KEYS[2]) or ''
if known >= number then
  local next = tonumber(known) + 1
  if ARGV[6] == '1' then next = math.max(next, tonumber(now) * 64) end
  if next >= 9007199254740991 then
    return redis.error_reply('EXHAUSTED the counter has reached the end of exact numbers')
  end
  number = string.format('%016.0f', next)
end

local function exclusive()
  if call('SET', lock, owner .. number .. now .. ask .. '\t' .. ARGV[5], 'NX', 'PX', ttl) then
    call('SET', KEYS[2], number)
    return tonumber(number)
  end
end

if mode == 'x' then
  local taken = exclusive()
  if taken then return taken end
end

local kind = call('TYPE', lock).ok
if kind == 'string' then
  local value = call('GET', lock)
  if mode == 'x' and value:sub(1, 32) == owner then
    if value:sub(62, 77) > ask then return {} end
    call('SET', lock, value:sub(1, 61) .. ask .. value:sub(78), 'PX', ttl)
    return tonumber(value:sub(33, 48))
  end
  return {now, call('PTTL', lock), 'x' .. value}
end

local last, others, mine = now, nil, nil
local readers = call('HGETALL', lock)
for i = 1, #readers, 2 do
  local reader, value = readers[i], readers[i + 1]
  if value:sub(1, 13) <= now then
    call('HDEL', lock, reader)
  else
    if value:sub(1, 13) > last then last = value:sub(1, 13) end
    if reader == owner then mine = value else others = reader .. value:sub(14) end
  end
end
if mode == 'x' then
  if others or mine then return {now, last - now, 's' .. (others or owner .. mine:sub(14))} end
  return exclusive()
end
local ends = string.format('%.0f', tonumber(now) + ttl)
if mine then
  if mine:sub(43, 58) > ask then return {} end
  number = mine:sub(14, 29)
  call('HSET', lock, owner, ends .. mine:sub(14, 42) .. ask .. mine:sub(59))
else
  call('HSET', lock, owner, ends .. number .. now .. ask .. '\t' .. ARGV[5])
  call('SET', KEYS[2], number)
end
call('PEXPIREAT', lock, ends > last and ends or last)
return tonumber(number)
