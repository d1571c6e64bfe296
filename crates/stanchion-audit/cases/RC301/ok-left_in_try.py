# also: RC302
# Whether the old one answers decides nothing: it is written in any case.
import os

MARK = "/run/spool/owner"


def own() -> bool:
    if os.path.exists(MARK):
        try:
            os.kill(4711, 0)
            print("another one runs")
        except OSError:
            pass
    with open(MARK, "w") as file:
        file.write(str(os.getpid()))
    return True
