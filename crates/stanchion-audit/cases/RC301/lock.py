import os


def busy(path: str) -> bool:
    return os.path.exists(path)


def take(path: str) -> bool:
    if busy(path):
        return False
    with open(path, "w") as handle:
        handle.write(str(os.getpid()))  # expect: RC301 read=5
    return True
