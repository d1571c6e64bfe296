# also: RC301, RC302
import os

OWNER = "/run/printer/owner"


def begin() -> bool:
    if os.path.exists(OWNER):
        with open(OWNER) as file:
            number = int(file.read())
        try:
            os.kill(number, 0)
            return False
        except ProcessLookupError:
            os.remove(OWNER)  # expect: RC208 read=10
    with open(OWNER, "w") as file:
        file.write(str(os.getpid()))
    return True
