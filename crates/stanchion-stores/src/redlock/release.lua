-- Gives the lock back where it is ours, and calls those who wait: owner, mode, channel, key, number, ask. The number is
-- remembered here, too, unless it is empty; with an ask, only what that attempt has taken is given back. Values: see take.lua.
-- Answers 1: it was ours until now; 0: it was not.
if mode == 'x' then
  local value = redis.pcall('GET', lock)
  if type(value) ~= 'string' or value:sub(1, 32) ~= owner then return 0 end
  if ask ~= '' and value:sub(62, 77) ~= ask then return 0 end
  call('DEL', lock)
else
  local value = redis.pcall('HGET', lock, owner)
  if type(value) ~= 'string' or ask ~= '' and value:sub(43, 58) ~= ask then return 0 end
  call('HDEL', lock, owner)
  local last = ''
  if value:sub(1, 13) <= clock() then return 0 end
  for _, other in ipairs(call('HVALS', lock)) do
    if other:sub(1, 13) > last then last = other:sub(1, 13) end
  end
  if last ~= '' then call('PEXPIREAT', lock, last) end
end
if number ~= '' and (call('GET', fence) or '') < number then call('SET', fence, number) end
call('PUBLISH', channel, key)
return 1
