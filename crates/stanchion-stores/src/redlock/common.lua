local call = redis.call

-- The time of this server in milliseconds, once for all operations of a call.
local time
local function clock()
  if not time then
    local told = call('TIME')
    time = told[1] .. string.format('%03d', math.floor(told[2] / 1000))
  end
  return time
end

