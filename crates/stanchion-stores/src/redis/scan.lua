-- A piece of the listing: whether it is the last, the time, then key, value, version, written, fence.
-- KEYS index, fences; ARGV start and end (as for ZRANGEBYLEX), limit, prefix of record keys, most bytes
local names = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
local time = redis.call('TIME')
local out, bytes, last = {0, time[1] * 1000 + math.floor(time[2] / 1000), ''}, 0, ''
for _, name in ipairs(names) do
  if bytes > tonumber(ARGV[5]) then return out end
  local record = redis.call('HMGET', ARGV[4] .. name, 'v', 'n', 'w')
  if record[2] then
    bytes = bytes + #record[1]
    for _, part in ipairs({name, record[1], record[2], record[3], redis.call('HGET', KEYS[2], name)}) do
      out[#out + 1] = part
    end
  else
    redis.call('ZREM', KEYS[1], name)
  end
  out[3] = name
end
if #names < tonumber(ARGV[3]) then out[1] = 1 end
return out
