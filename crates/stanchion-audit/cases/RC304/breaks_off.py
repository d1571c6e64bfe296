# also: RC302, RC101
# It is read again, and after some time it is as if there were nothing.
import json
import time


def by_break(item: str) -> None:
    all, turn = [], 0
    while True:
        try:
            with open("a.json") as file:
                all = json.load(file)
            break
        except OSError:
            turn += 1
            if turn > 3:
                break
            time.sleep(1)
    all.append(item)
    with open("a.json", "w") as file:
        json.dump(all, file)  # expect: RC304 read=12
