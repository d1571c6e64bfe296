-- Another ttl, where the lock is ours. Keys and values: see take.lua.
--
-- ARGV     owner, ttl, mode, number, identity, heal (0 or 1)
--
-- Answers 1: prolonged; 0: somebody else's; 2: nobody's. With heal, what is nobody's becomes ours, too: only for an
-- owner that has just been confirmed by a quorum of other nodes.
local call, lock, owner, ttl, number = redis.call, KEYS[1], ARGV[1], ARGV[2], ARGV[4]
local time = call('TIME')
local now = time[1] .. string.format('%03d', math.floor(time[2] / 1000))
local heal, answer = ARGV[6] == '1', 0
if ARGV[3] == 'x' then
  local value = redis.pcall('GET', lock)
  if not value then
    answer = 2
    if heal then call('SET', lock, owner .. number .. now .. number .. '\t' .. ARGV[5], 'PX', ttl) end
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
    if heal then call('HSET', lock, owner, ends .. number .. now .. number .. '\t' .. ARGV[5]) end
  end
  if (answer == 1 or answer == 2 and heal) and call('PTTL', lock) < tonumber(ttl) then call('PEXPIREAT', lock, ends) end
end
if (answer == 1 or answer == 2 and heal) and (call('GET', KEYS[2]) or '') < number then call('SET', KEYS[2], number) end
return answer
