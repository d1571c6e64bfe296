-- Writes the claim and takes the lock: one attempt, no place in the queue.
-- ARGV: ... '' (no ttl), the value if the lock is ours; A key owner ttl mode floor 0 identity; the value if it is taken
-- Answers {1, version, fence} (no fence without a lock), {2, version, refusal}, or what stands.
if lock and not found[2] and ARGV[11] == 'x' and ARGV[12] == '0' and now % 256 ~= 0 then
  -- The common case by itself: nobody has the lock. As locks.lua writes it, in one command with the counter.
  local fence = string.format('%016.0f', number)
  drawn = string.format('%.0f', number + 1)
  call('HSET', locks, '', drawn, lock, 'X' .. owner .. (now + ARGV[10]) .. fence .. now .. 'x\t' .. ARGV[14])
  answer = {1, drawn, number}
else
  drawn = string.format('%.0f', number)
  call('HSET', locks, '', drawn)
  answer = {1, drawn}
  if lock then
    local replies = serve({locks}, {unpack(ARGV, 7, 14)})
    if replies.err then return replies end
    answer[3] = replies[1]
    if type(replies[1]) ~= 'number' then answer[1], value = 2, ARGV[15] end
  end
end
