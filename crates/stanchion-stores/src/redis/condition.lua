-- Begins every script that writes a record; put.lua ends it.
-- KEYS record, fences, index, locks (their field '' is the counter)
-- ARGV key, condition, its argument, channel, ttl ('' = none), and what the script needs
--   condition: A absent, V version = argument, F fence = argument
-- What stands against the condition: {-1, fence} for a fence, else {0, version}.
local call, key, stands = redis.call, ARGV[1], nil
local version = call('HGET', KEYS[1], 'n')
if ARGV[2] == 'F' then
  local seen = call('HGET', KEYS[2], key)
  if seen ~= ARGV[3] then stands = {-1, seen} end
elseif (version or '') ~= ARGV[3] then
  stands = {0, version}
end
