"""A guarded read-modify-write of an S3 object: touch, add one, write. Standard library only.

usage: STANCHION_FENCE=5 STANCHION_LEASE_ID=00000000000000aa guard.py ENDPOINT BUCKET KEY
ENDPOINT is https://s3.REGION.amazonaws.com, or that of another store that knows If-Match and If-None-Match for PUT.
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION are read from the environment.
Ends with 0 if written, 3 if a newer holder has been there.
"""

import datetime
import hashlib
import hmac
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request


def sign(secret, region, method, path, headers):
    """What the Authorization header of AWS's signature version 4 needs; all of `headers` are signed."""
    day = headers["x-amz-date"][:8]
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = f"{method}\n{path}\n\n{lines}\n{names}\n{headers['x-amz-content-sha256']}"
    scope = f"{day}/{region}/s3/aws4_request"
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{headers['x-amz-date']}\n{scope}\n{digest}"
    key = b"AWS4" + secret.encode()
    for part in (day, region, "s3", "aws4_request", text):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return scope, names, key.hex()


def call(method, url, body=b"", condition=None):
    """Status, ETag and content. Never sent twice: a lost answer is an error."""
    place = urllib.parse.urlsplit(url)
    headers = {
        "content-type": "application/json",
        "host": place.netloc,
        "x-amz-content-sha256": hashlib.sha256(body).hexdigest(),
        "x-amz-date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ"),
        **(condition or {}),
    }
    if os.environ.get("AWS_SESSION_TOKEN"):
        headers["x-amz-security-token"] = os.environ["AWS_SESSION_TOKEN"]
    region = os.environ.get("AWS_REGION", "us-east-1")
    scope, names, signature = sign(os.environ["AWS_SECRET_ACCESS_KEY"], region, method, place.path, headers)
    credential = f"{os.environ['AWS_ACCESS_KEY_ID']}/{scope}"
    headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}"
    request = urllib.request.Request(url, body if method == "PUT" else None, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status, answer.headers["ETag"], answer.read()
    except urllib.error.HTTPError as error:
        return error.code, None, error.read()


def put(url, state, condition):
    """The new ETag, or nothing if another one was faster; then nothing was written."""
    status, etag, answer = call("PUT", url, json.dumps(state).encode(), condition)
    if status in (409, 412):
        return None
    if status != 200:
        raise RuntimeError(f"{status} {answer}")
    return etag


def touch(url, fence, lease):
    """Reads, and leaves our token in the object: from here on whoever read before us cannot write. State and ETag, or
    the fence of a newer holder and nothing."""
    status, etag, content = call("GET", url)
    if status == 404:
        state, condition = {"visits": 0}, {"if-none-match": "*"}
    elif status == 200:
        state, condition = json.loads(content), {"if-match": etag}
        if (state["fence"], state["fence_lease"]) != (fence, lease) and int(state["fence"]) >= int(fence):
            return state["fence"], None
    else:
        raise RuntimeError(f"{status} {content}")
    state.update(fence=fence, fence_lease=lease)
    etag = put(url, state, condition)
    return (state if etag else "unknown"), etag


def main():
    endpoint, bucket, key = sys.argv[1:4]
    url = f"{endpoint.rstrip('/')}/{bucket}/{urllib.parse.quote(key, safe='/-_.~')}"
    state, etag = touch(url, os.environ["STANCHION_FENCE"], os.environ["STANCHION_LEASE_ID"])
    if etag is None:
        print(f"refused: a newer holder (fence {state}) has been here")
        return 3
    state["visits"] += 1
    if put(url, state, {"if-match": etag}) is None:
        print("refused: a newer holder came in between")
        return 3
    print(f"count is {state['visits']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
