# also: RC302
from pathlib import Path

from google.auth.transport.requests import Request
from google.oauth2.credentials import Credentials

TOKEN = Path("/data/token.json")


def credentials() -> Credentials:
    held = Credentials.from_authorized_user_file(str(TOKEN), ["mail"])
    if held.expired:
        held.refresh(Request())
        TOKEN.write_text(held.to_json())  # expect: RC101 read=11
    return held
