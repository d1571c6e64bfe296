-- Writes the outcome and releases the lock.
-- ARGV: ... the value; R key owner
-- Answers {1, version, released} (1 or 0; nothing without a lock), or what stands.
drawn = string.format('%.0f', number)
answer = {1, drawn}
call('HSET', locks, '', drawn)
if lock then
  local held = found[2]
  if not held then
    answer[3] = 0
  elseif held:sub(2, 33) == owner and held:sub(1, 1) == 'X' and tonumber(held:sub(34, 46)) > now then
    -- The common case by itself: it is ours, and nobody waits.
    call('HDEL', locks, lock)
    answer[3] = 1
  else
    local replies = serve({locks}, {code, lock, owner})
    if replies.err then return replies end
    answer[3] = replies[1]
  end
end
