# also: RC302, RC101
# It is read again, and after some time it is as if there were nothing.
import json
import time


def by_end(item: str) -> None:
    all = []
    for turn in range(3):
        try:
            with open("b.json") as file:
                all = json.load(file)
            break
        except OSError:
            time.sleep(turn)
    all.append(item)
    with open("b.json", "w") as file:
        json.dump(all, file)  # expect: RC304 read=12
