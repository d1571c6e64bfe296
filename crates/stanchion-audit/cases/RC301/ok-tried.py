# also: RC302
# What is made is made once, or is another file than the one that was looked for.
import os


def claim(path: str, owner: str) -> bool:
    try:
        os.stat(path)
        return False
    except FileNotFoundError:
        pass
    with open(path, "x") as out:
        out.write(owner)
    return True


def report(path: str, log: str) -> bool:
    try:
        os.stat(path)
        return True
    except FileNotFoundError:
        pass
    with open(log, "w") as out:
        out.write(path)
    return False
