# also: RC302
import os

MARK = "/run/spool/owner"


def own() -> bool:
    if os.path.exists(MARK):
        try:
            os.kill(4711, 0)
            return False
        except OSError:
            pass
    with open(MARK, "w") as file:
        file.write(str(os.getpid()))  # expect: RC301 read=8
    return True
