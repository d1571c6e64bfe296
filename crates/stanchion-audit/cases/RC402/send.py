# also: RC403
import time
import uuid

import requests

URL = "https://pay.example/invoices"


def send(invoice: dict) -> dict:
    last = None
    for attempt in range(4):
        try:
            answer = requests.post(URL, json=invoice, headers={"Idempotency-Key": str(uuid.uuid4())}, timeout=5)  # expect: RC402
            answer.raise_for_status()
            return answer.json()
        except requests.RequestException as error:
            last = error
            time.sleep(2**attempt)
    raise last
