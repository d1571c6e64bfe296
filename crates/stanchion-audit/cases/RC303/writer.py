import json
import os


class K:
    def __init__(self, p: str):
        self.p = p

    def d(self, obj: dict) -> None:
        t = self.p + ".tmp"
        with open(t, "w") as f:
            json.dump(obj, f)
        os.rename(t, self.p)  # expect: RC303 read=12
