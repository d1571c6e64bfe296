-- Takes the lock away from whoever holds it here, and calls those who wait.
--
-- KEYS[1]  the lock
-- ARGV     channel, key
if redis.call('DEL', KEYS[1]) == 0 then return 0 end
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1
