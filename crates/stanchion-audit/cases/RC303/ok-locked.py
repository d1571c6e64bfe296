import os

from filelock import FileLock


def save(path: str, text: str) -> None:
    with FileLock(path + ".lock"):
        with open(path + ".tmp", "w") as f:
            f.write(text)
        os.replace(path + ".tmp", path)


def save_by_pid(path: str, text: str) -> None:
    temp = f"{path}.{os.getpid()}"
    with open(temp, "w") as f:
        f.write(text)
    os.replace(temp, path)
