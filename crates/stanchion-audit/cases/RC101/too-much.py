# also: RC302
# Between reading and writing it calls something that leads to more than can be looked at.
import json
import urllib.request

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("trips")


def way0(place: str, left: int) -> int:
    with urllib.request.urlopen(f"https://roads.example/{place}/{left}") as answer:
        return len(answer.read())


def way1(place: str, left: int) -> int:
    if left > 1:
        return way0(place, left - 1) + way0(place + "x", left)
    return way0(place, 1)


def way2(place: str, left: int) -> int:
    if left > 2:
        return way1(place, left - 1) + way1(place + "x", left)
    return way1(place, 2)


def way3(place: str, left: int) -> int:
    if left > 3:
        return way2(place, left - 1) + way2(place + "x", left)
    return way2(place, 3)


def way4(place: str, left: int) -> int:
    if left > 4:
        return way3(place, left - 1) + way3(place + "x", left)
    return way3(place, 4)


def way5(place: str, left: int) -> int:
    if left > 5:
        return way4(place, left - 1) + way4(place + "x", left)
    return way4(place, 5)


def way6(place: str, left: int) -> int:
    if left > 6:
        return way5(place, left - 1) + way5(place + "x", left)
    return way5(place, 6)


def way7(place: str, left: int) -> int:
    if left > 7:
        return way6(place, left - 1) + way6(place + "x", left)
    return way6(place, 7)


def way8(place: str, left: int) -> int:
    if left > 8:
        return way7(place, left - 1) + way7(place + "x", left)
    return way7(place, 8)


def way9(place: str, left: int) -> int:
    if left > 9:
        return way8(place, left - 1) + way8(place + "x", left)
    return way8(place, 9)


@mcp.tool()
def plan(place: str) -> str:
    with open("/data/trips.json") as handle:
        trips = json.load(handle)
    if way9(place, 9) > 3:
        trips.append(place)
    with open("/data/trips.json", "w") as handle:
        json.dump(trips, handle)  # expect: RC101 read=73
    return "planned"


mcp.run()
