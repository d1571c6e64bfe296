import time
import urllib.request


def start() -> bool:
    for _ in range(15):
        time.sleep(1)
        try:
            urllib.request.urlopen("https://api.example.com/health", timeout=1)  # expect: RC403
            return True
        except OSError:
            continue
    return False
