# deployment: cluster
import redis

r = redis.Redis()

CAS = """
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('set', KEYS[1], ARGV[2])
end
return false
"""


def update(key: str, change) -> None:
    while True:
        old = r.get(key) or b""
        if r.eval(CAS, 1, key, old, change(old)):
            return


def remember(key: str, item: str) -> None:
    r.rpush(key, item)
    r.ltrim(key, -100, -1)
