# also: RC302
import os


def claim(path: str, owner: str) -> bool:
    try:
        os.stat(path)
        return False
    except FileNotFoundError:
        pass
    with open(path, "w") as out:
        out.write(owner)  # expect: RC301 read=7
    return True
