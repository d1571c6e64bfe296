# deployment: cluster
import redis


class Scores:
    def __init__(self, client: redis.Redis):
        self.client = client

    def add(self, player: str, points: int) -> int:
        current = int(self.client.get(player) or 0)
        total = current + points
        self.client.set(player, total)  # expect: RC103 read=10
        return total
