-- Ends every script that writes a record: writes `value` at `now` with the version `drawn`, tells the watchers, and
-- answers `answer`.
call('HSET', KEYS[1], 'v', value, 'n', drawn, 'w', string.format('%.0f', now))
if ARGV[5] ~= '' then call('PEXPIRE', KEYS[1], ARGV[5]) elseif version then call('PERSIST', KEYS[1]) end
redis.pcall('PUBLISH', ARGV[4], key)

-- Names of expired records that nobody lists are found by sampling, so that they cannot pile up: at most
-- one in 64 writes, and on while a quarter of the sample was garbage.
if now % 64 == 0 then
  local prefix = KEYS[1]:sub(1, #KEYS[1] - #key)
  for _ = 1, 8 do
    local dead = {}
    for _, name in ipairs(redis.pcall('ZRANDMEMBER', KEYS[3], 32)) do
      if call('EXISTS', prefix .. name) == 0 then dead[#dead + 1] = name end
    end
    if dead[1] then call('ZREM', KEYS[3], unpack(dead)) end
    if #dead < 8 then break end
  end
end
return answer
