-- One step through the locks: a cursor, the time, then key, living holders and living waiters of those whose
-- key has the prefix, as the lines that locks.lua wrote.
-- KEYS[1] the locks, ARGV cursor, prefix
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local step = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', 500)
local out, entries = {step[1], now}, step[2]
for i = 1, #entries, 2 do
  local key, value = entries[i], entries[i + 1]
  if key ~= '' and key:sub(1, #ARGV[2]) == ARGV[2] then
    local cut, holders, waiters = value:find('\f', 2, true), {}, {}
    for line in value:sub(2, (cut or 0) - 1):gmatch('[^\n]+') do
      if line:sub(33, 45) > now then holders[#holders + 1] = line end
    end
    for line in (cut and value:sub(cut + 1) or ''):gmatch('[^\n]+') do
      if line:sub(33, 45) > now then waiters[#waiters + 1] = line end
    end
    if holders[1] or waiters[1] then
      out[#out + 1] = key
      out[#out + 1] = holders
      out[#out + 1] = waiters
    end
  end
end
return out
