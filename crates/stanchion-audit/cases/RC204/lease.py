# deployment: cluster; also: RC202
import redis


class Lease:
    def __init__(self, client: redis.Redis, key: str, token: str):
        self.client, self.key, self.token = client, key, token

    def take(self) -> bool:
        return bool(self.client.set(self.key, self.token, nx=True, ex=30))

    def j(self) -> bool:
        if self.client.get(self.key) != self.token.encode():
            return False
        return self.client.expire(self.key, 30)  # expect: RC204 read=13
