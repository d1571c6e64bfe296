-- Writes the agreed fence, where the lock is still ours. Keys and values: see take.lua.
--
-- ARGV     owner, mode, number, ask
--
-- An exclusive fence is above all before it, because the quorum that named it shares a node with theirs. Two readers
-- that come together could name the same one: so a node accepts a number for one reader only.
-- Answers 1: written; 0: not ours here; {known}: it has seen a higher number for somebody else meanwhile.
local call, lock, owner, number = redis.call, KEYS[1], ARGV[1], ARGV[3]
local known = call('GET', KEYS[2]) or ''
if ARGV[2] == 'x' then
  local value = redis.pcall('GET', lock)
  if type(value) ~= 'string' or value:sub(1, 32) ~= owner or value:sub(62, 77) ~= ARGV[4] then return 0 end
  if value:sub(33, 48) ~= number then call('SET', lock, owner .. number .. value:sub(49), 'KEEPTTL') end
else
  local value = redis.pcall('HGET', lock, owner)
  if type(value) ~= 'string' or value:sub(43, 58) ~= ARGV[4] then return 0 end
  local time = call('TIME')
  if value:sub(1, 13) <= time[1] .. string.format('%03d', math.floor(time[2] / 1000)) then return 0 end
  if value:sub(14, 29) ~= number then
    if known >= number then return {tonumber(known)} end
    call('HSET', lock, owner, value:sub(1, 13) .. number .. value:sub(30))
  end
end
if known < number then call('SET', KEYS[2], number) end
return 1
