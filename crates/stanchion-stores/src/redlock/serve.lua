-- Serves a run of operations, each by itself: what fails for one is its own answer. What they do: take.lua, write.lua,
-- renew.lua, release.lua.
--
-- KEYS     for each operation the lock, and the fence of its shard
-- ARGV     for each operation its letter, and six values
local serve, answers = {T = take, W = write, N = renew, R = release}, {}
for i = 1, #KEYS / 2 do
  local at = i * 7 - 6
  local done, answer = pcall(serve[ARGV[at]], KEYS[i * 2 - 1], KEYS[i * 2], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3],
    ARGV[at + 4], ARGV[at + 5], ARGV[at + 6])
  -- Before version 7 an error is text that begins with the place.
  if not done and type(answer) == 'string' then answer = {err = answer:gsub('^@?user_script:%s*%d+:%s*', '')} end
  answers[i] = answer or false
end
return answers
