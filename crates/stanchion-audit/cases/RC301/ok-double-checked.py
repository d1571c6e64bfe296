import os

from filelock import FileLock

PATH = "/srv/model.bin"


def ensure(download) -> str:
    if os.path.exists(PATH):
        return PATH
    with FileLock(PATH + ".lock"):
        if not os.path.exists(PATH):
            data = download()
            with open(PATH, "wb") as f:
                f.write(data)
    return PATH
