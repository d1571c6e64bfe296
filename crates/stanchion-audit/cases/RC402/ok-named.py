# What a program calls its own options says nothing of the error.
import errno

import requests

URL = "https://shop.example/orders"


def order(what: dict, timeout: float, options) -> None:
    try:
        requests.post(URL, json=what, timeout=timeout)
    except Exception as error:
        if timeout > 1 and options.timeout and error.errno == errno.ECONNREFUSED:
            requests.post(URL, json=what, timeout=timeout)
            return
        raise
