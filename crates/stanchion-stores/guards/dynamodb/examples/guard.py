"""A guarded read-modify-write on a DynamoDB item: touch, add one, write. Standard library only.

usage: STANCHION_FENCE=5 STANCHION_LEASE_ID=00000000000000aa guard.py ENDPOINT TABLE KEY
ENDPOINT is https://dynamodb.REGION.amazonaws.com, or an emulator's; the table's key is `id`, a string.
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION are read from the environment.
Ends with 0 if written, 3 if a newer holder has been there.
"""

import datetime
import hashlib
import hmac
import json
import os
import pathlib
import sys
import urllib.error
import urllib.parse
import urllib.request

GUARD = pathlib.Path(__file__).parent.parent


def sign(secret, region, headers, body):
    """The Authorization header of AWS's signature version 4, for a POST to /; all of `headers` are signed."""
    day = headers["x-amz-date"][:8]
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = f"POST\n/\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    scope = f"{day}/{region}/dynamodb/aws4_request"
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{headers['x-amz-date']}\n{scope}\n{digest}"
    key = b"AWS4" + secret.encode()
    for part in (day, region, "dynamodb", "aws4_request", text):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return scope, names, key.hex()


def call(endpoint, operation, request):
    """The answer of DynamoDB, and whether it was a refused condition. Never sent twice: a lost answer is an error."""
    body = json.dumps(request).encode()
    headers = {
        "content-type": "application/x-amz-json-1.0",
        "host": urllib.parse.urlsplit(endpoint).netloc,
        "x-amz-date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ"),
        "x-amz-target": f"DynamoDB_20120810.{operation}",
    }
    if os.environ.get("AWS_SESSION_TOKEN"):
        headers["x-amz-security-token"] = os.environ["AWS_SESSION_TOKEN"]
    region = os.environ.get("AWS_REGION", "us-east-1")
    scope, names, signature = sign(os.environ["AWS_SECRET_ACCESS_KEY"], region, headers, body)
    credential = f"{os.environ['AWS_ACCESS_KEY_ID']}/{scope}"
    headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}"
    try:
        with urllib.request.urlopen(urllib.request.Request(endpoint, body, headers), timeout=5) as answer:
            return json.load(answer), False
    except urllib.error.HTTPError as error:
        answer = json.loads(error.read() or b"{}")
        if answer.get("__type", "").endswith("#ConditionalCheckFailedException"):
            return answer, True
        raise RuntimeError(f"{error.code} {answer}") from error


def main():
    endpoint, table, key = sys.argv[1:4]
    token = {":fence": {"N": os.environ["STANCHION_FENCE"]}, ":lease": {"S": os.environ["STANCHION_LEASE_ID"]}}
    item = {"TableName": table, "Key": {"id": {"S": key}}}
    touch = json.loads((GUARD / "touch.json").read_text())
    write = json.loads((GUARD / "write.json").read_text())

    answer, refused = call(endpoint, "UpdateItem", {**item, **touch, "ExpressionAttributeValues": token})
    if refused:
        floor = answer.get("Item", {}).get("fence", {}).get("N", "unknown")
        print(f"refused: a newer holder (fence {floor}) has been here")
        return 3
    count = int(answer["Attributes"].get("visits", {}).get("N", 0)) + 1

    values = {**token, ":visits": {"N": str(count)}}
    update = {"UpdateExpression": "SET visits = :visits", "ExpressionAttributeValues": values}
    answer, refused = call(endpoint, "UpdateItem", {**item, **write, **update})
    if refused:
        floor = answer.get("Item", {}).get("fence", {}).get("N", "unknown")
        print(f"refused: a newer holder (fence {floor}) came in between")
        return 3
    print(f"count is {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
