import subprocess
import time
import urllib.request


def start() -> bool:
    subprocess.Popen(["engine", "--port", "9321"])
    for _ in range(15):
        time.sleep(1)
        try:
            urllib.request.urlopen("http://localhost:9321/health", timeout=1)
            return True
        except OSError:
            continue
    return False
