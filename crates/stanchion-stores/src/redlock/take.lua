-- Takes the lock on this node, if it is free here.
--
-- lock   text for one exclusive holder, a hash with a field per shared one; it ends by itself
-- fence  the highest fence that this node knows of
-- and    owner (32 hex digits), ttl in ms, mode (x or s), number, rest, timed (0 or 1)
--
-- The number is the fence that the caller would like. If this node knows a higher one, the next is drawn here and the
-- caller sees by the answer that it has to agree with the others first. Numbers have 16 digits, times 13, so they are
-- compared as text. The rest is since(13) ask(16) \t identity, where since is the caller's idea of this node's clock, for
-- people to read.
--   exclusive  owner(32) number(16) since(13) ask(16) \t identity
--   shared     owner = expires(13) number(16) since(13) ask(16) \t identity
-- ask is the number that the attempt came with: an owner may try several times, and what is left of an earlier attempt,
-- on its way here or to be cleaned up, must not touch what a later one has.
-- Answers a number: ours. Or {now, free in ms, kind .. holder}: somebody else's. Or {}: a later attempt was here before.
local ask = number

-- The fence after one that is not below the caller's; nothing if there is none.
local function above(known)
  local next = tonumber(known) + 1
  if timed == '1' then next = math.max(next, tonumber(clock()) * 64) end
  if next < 9007199254740991 then return string.format('%016.0f', next) end
end

local exhausted = 'EXHAUSTED the counter has reached the end of exact numbers'

local function exclusive()
  if not call('SET', lock, owner .. number .. rest, 'NX', 'PX', ttl) then return nil end
  local known = redis.pcall('SET', fence, number, 'GET')
  if type(known) == 'table' then
    call('DEL', lock)
    return known
  end
  if not known or known < number then return tonumber(number) end
  number = above(known)
  call('SET', fence, number or known)
  if not number then
    call('DEL', lock)
    return redis.error_reply(exhausted)
  end
  call('SET', lock, owner .. number .. rest, 'PX', ttl)
  return tonumber(number)
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
  return {clock(), call('PTTL', lock), 'x' .. value}
end

local now, others, mine = clock(), nil, nil
local last, readers = now, call('HGETALL', lock)
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
  local known = call('GET', fence)
  if known and known >= number then number = above(known) end
  if not number then return redis.error_reply(exhausted) end
  call('HSET', lock, owner, ends .. number .. rest)
  call('SET', fence, number)
end
call('PEXPIREAT', lock, ends > last and ends or last)
return tonumber(number)
