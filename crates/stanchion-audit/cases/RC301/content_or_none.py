# also: RC302
import json
from pathlib import Path

SEAL = Path("/data/ledger/seal.json")


def seal():
    if not SEAL.exists():
        return None
    return json.loads(SEAL.read_text())


def close(by: str) -> bool:
    found = seal()
    if found:
        return False
    SEAL.write_text(json.dumps({"by": by}))  # expect: RC301 read=9
    return True
