# also: RC301
import os
import time


class Guard:
    def __init__(self, path: str):
        self.path = path

    def lock(self) -> None:
        if os.path.exists(self.path):
            if time.time() - os.stat(self.path).st_mtime > 300:
                os.remove(self.path)  # expect: RC208 read=12
        with open(self.path, "x") as f:
            f.write(str(os.getpid()))

    def unlock(self) -> None:
        os.remove(self.path)
