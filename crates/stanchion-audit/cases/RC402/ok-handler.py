# Only after an error that says that nothing was done.
import requests


class Shop:
    def __init__(self, url: str):
        self.url = url

    def _order(self, what: dict) -> dict:
        answer = requests.post(f"{self.url}/orders", json=what, timeout=5)
        answer.raise_for_status()
        return answer.json()

    def order(self, what: dict) -> dict:
        try:
            return self._order(what)
        except requests.ConnectTimeout:
            return self._order(what)

    def first(self, what: dict) -> dict:
        try:
            return self._order(what)
        except PermissionError:
            return self._order(what)
