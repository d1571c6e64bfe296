import os
import time


class Guard:
    def __init__(self, path):
        self.path = str(path) + ".lock"

    def __enter__(self):
        for _ in range(50):
            try:
                self.file = open(self.path, "x")
                return self
            except FileExistsError:
                time.sleep(0.1)
        os.unlink(self.path)  # expect: RC208 read=12
        self.file = open(self.path, "x")
        return self

    def __exit__(self, *_):
        self.file.close()
        os.unlink(self.path)
