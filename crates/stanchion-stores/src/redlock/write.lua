-- Writes the agreed fence, where the lock is still ours: owner, mode, number, ask. Values: see take.lua.
--
-- An exclusive fence is above all before it, because the quorum that named it shares a node with theirs. Two readers
-- that come together could name the same one: so a node accepts a number for one reader only.
-- Answers 1: written; 0: not ours here; {known}: it has seen a higher number for somebody else meanwhile.
local known = call('GET', fence) or ''
if mode == 'x' then
  local value = redis.pcall('GET', lock)
  if type(value) ~= 'string' or value:sub(1, 32) ~= owner or value:sub(62, 77) ~= ask then return 0 end
  if value:sub(33, 48) ~= number then call('SET', lock, owner .. number .. value:sub(49), 'KEEPTTL') end
else
  local value = redis.pcall('HGET', lock, owner)
  if type(value) ~= 'string' or value:sub(43, 58) ~= ask then return 0 end
  if value:sub(1, 13) <= clock() then return 0 end
  if value:sub(14, 29) ~= number then
    if known >= number then return {tonumber(known)} end
    call('HSET', lock, owner, value:sub(1, 13) .. number .. value:sub(30))
  end
end
if known < number then call('SET', fence, number) end
return 1
