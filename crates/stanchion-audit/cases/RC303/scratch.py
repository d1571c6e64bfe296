import os
import subprocess
import tempfile
from pathlib import Path


def render(text):
    path = "/tmp/input.dot"
    with open(path, "w") as f:
        f.write(text)
    out = subprocess.run(["dot", path], capture_output=True)
    os.remove(path)  # expect: RC303 read=10
    return out


def run(text):
    script = Path(tempfile.gettempdir()) / "script.py"
    script.write_text(text)
    try:
        return subprocess.check_output(["python", str(script)])
    finally:
        script.unlink()  # expect: RC303 read=18
