# deployment: cluster
import redis

r = redis.Redis()
RENEW = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0"


def renew(key: str, token: str) -> bool:
    if r.get(key) != token.encode():
        return False
    return bool(r.eval(RENEW, 1, key, token, 30_000))


def take(key: str, token: str) -> bool:
    return bool(r.set(key, token, nx=True, px=30_000))
