"""Powertools for Python as a worker of stanchion-bench: `idempotent_function` around a no-op, on Redis, one task.

Takes a job as JSON, says READY, waits for GO, prints a tally as JSON; see bench/src/job.rs.
"""

import json
import os
import sys
import time
import warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("POWERTOOLS_DEV", "0")

import redis
from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig, idempotent_function
from aws_lambda_powertools.utilities.idempotency.persistence.redis import RedisCachePersistenceLayer

JOB = json.loads(sys.argv[1])
NOW = time.perf_counter_ns


def bucket(ns):
    shift = max(0, ns.bit_length() - 7)
    return shift * 64 + (ns >> shift)


layer = RedisCachePersistenceLayer(client=redis.Redis.from_url(JOB["place"][0], decode_responses=True))
config = IdempotencyConfig(event_key_jmespath="key", expires_after_seconds=86400)


@idempotent_function(data_keyword_argument="asked", persistence_store=layer, config=config)
def send_invoice(asked):
    return {"invoice": 1181, "sent": True}


print("READY", flush=True)
if sys.stdin.readline().strip() != "GO":
    sys.exit("the parent is gone")
start = NOW() + JOB["warm_up_ms"] * 1_000_000
end = start + JOB["measured_ms"] * 1_000_000
operations, number, buckets, max_ns = 0, 0, {}, 0
while (asked := NOW()) < end:
    number += JOB["place"][1] == "fresh"
    send_invoice(asked={"key": f"{JOB['key']}-{number}", "order": 77, "customer": "bob", "amount": 12.5})
    done = NOW()
    if start <= done < end:
        operations += 1
        b = bucket(done - asked)
        buckets[b] = buckets.get(b, 0) + 1
        max_ns = max(max_ns, done - asked)
print(
    json.dumps(
        {
            "tasks": [operations],
            "times": {"counts": sorted(buckets.items()), "max_ns": max_ns},
            "hold_ns": 0,
            "overlaps": 0,
            "rss_kib": None,
        }
    )
)
