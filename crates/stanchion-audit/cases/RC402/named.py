# also: RC403
# What the error says of itself, and what a library calls its errors.
import errno

import requests

URL = "https://shop.example/orders"


def order(what: dict) -> None:
    try:
        requests.post(URL, json=what, timeout=5)
    except Exception as error:
        if not isinstance(error, (requests.Timeout, requests.ConnectionError)):
            raise
        requests.post(URL, json=what, timeout=5)  # expect: RC402


def again(what: dict) -> None:
    try:
        requests.post(URL, json=what, timeout=5)
    except Exception as error:
        if error.errno == errno.ETIMEDOUT:
            requests.post(URL, json=what, timeout=5)  # expect: RC402
            return
        raise
