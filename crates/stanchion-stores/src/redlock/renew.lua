-- Another ttl, where the lock is ours: owner, ttl, mode, number, identity, heal (0 or 1). Values: see take.lua.
--
-- Answers 1: prolonged; 0: somebody else's; 2: nobody's. With heal, what is nobody's becomes ours, too: only for an
-- owner that has just been confirmed by a quorum of other nodes.
local now, answer = clock(), 0
heal = heal == '1'
if mode == 'x' then
  local value = redis.pcall('GET', lock)
  if not value then
    answer = 2
    if heal then call('SET', lock, owner .. number .. now .. number .. '\t' .. identity, 'PX', ttl) end
  elseif type(value) == 'string' and value:sub(1, 32) == owner then
    answer = 1
    call('PEXPIRE', lock, ttl)
  end
else
  local value = redis.pcall('HGET', lock, owner)
  local ends = string.format('%.0f', tonumber(now) + ttl)
  if type(value) == 'string' and value:sub(1, 13) > now then
    answer = 1
    call('HSET', lock, owner, ends .. value:sub(14))
  elseif not value or type(value) == 'string' then
    answer = 2
    if heal then call('HSET', lock, owner, ends .. number .. now .. number .. '\t' .. identity) end
  end
  if (answer == 1 or answer == 2 and heal) and call('PTTL', lock) < tonumber(ttl) then call('PEXPIREAT', lock, ends) end
end
if (answer == 1 or answer == 2 and heal) and (call('GET', fence) or '') < number then call('SET', fence, number) end
return answer
