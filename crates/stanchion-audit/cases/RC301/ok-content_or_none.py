# also: RC302
import json
from pathlib import Path

SEAL = Path("/data/ledger/seal.json")


def seal():
    if not SEAL.exists():
        return None
    return json.loads(SEAL.read_text())


def close(by: str) -> bool:
    if seal():
        return False
    try:
        with SEAL.open("x") as file:
            file.write(json.dumps({"by": by}))
    except FileExistsError:
        return False
    return True
