-- One step of a walk over the locks of this node. Values: see take.lua.
--
-- ARGV     cursor, pattern
-- Answers {cursor, now, then for each holder: the lock's name, kind .. holder, ends in ms}.
local call = redis.call
local time = call('TIME')
local now = time[1] .. string.format('%03d', math.floor(time[2] / 1000))
local page = call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', 500)
local found = {page[1], now}
local function add(name, holder, left)
  found[#found + 1], found[#found + 2], found[#found + 3] = name, holder, left
end
for _, name in ipairs(page[2]) do
  local kind = call('TYPE', name).ok
  if kind == 'string' then
    add(name, 'x' .. call('GET', name), call('PTTL', name))
  elseif kind == 'hash' then
    local readers = call('HGETALL', name)
    for i = 1, #readers, 2 do
      local ends = readers[i + 1]:sub(1, 13)
      if ends > now then add(name, 's' .. readers[i] .. readers[i + 1]:sub(14), ends - now) end
    end
  end
end
return found
