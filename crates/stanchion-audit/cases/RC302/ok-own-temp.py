import json
import subprocess
import tempfile


def check(settings: dict) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as f:
        json.dump(settings, f)
    with open(f.name) as again:
        json.load(again)
    return subprocess.check_output(["lint", f.name], text=True)
