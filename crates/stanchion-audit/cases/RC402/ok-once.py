# also: RC403
import time
import uuid

import requests


def ready(url: str) -> bool:
    for attempt in range(5):
        try:
            requests.get(url, timeout=2).raise_for_status()
            return True
        except requests.RequestException:
            time.sleep(2**attempt)
    return False


def send(url: str, invoice: dict) -> None:
    if not ready(url):
        raise RuntimeError("not ready")
    requests.post(url, json=invoice, timeout=5)


def send_with_key(url: str, invoice: dict) -> None:
    key = str(uuid.uuid4())
    for attempt in range(3):
        try:
            requests.post(url, json=invoice, headers={"Idempotency-Key": key}, timeout=5)
            return
        except requests.RequestException:
            time.sleep(2**attempt)


def send_all(url: str, invoices: list[dict]) -> int:
    failed = 0
    for invoice in invoices:
        try:
            requests.post(url, json=invoice, timeout=5)
        except requests.RequestException:
            failed += 1
    return failed
