"""What the Python workers of stanchion-bench share: the job, the counts, the report; see bench/src/job.rs and worker.rs."""

import json
import os
import sys
import time

JOB = json.loads(sys.argv[1])
NOW = time.perf_counter_ns
LEASE_S = 30


def bucket(ns):
    shift = max(0, ns.bit_length() - 7)
    return shift * 64 + (ns >> shift)


class Count:
    """One task's count; the rules are those of bench/src/worker.rs."""

    def __init__(self, task):
        self.operations = self.hold_ns = self.overlaps = self.max_ns = 0
        self.buckets = {}
        self.id = (JOB["process"] * JOB["tasks"] + task + 1).to_bytes(8, "little")
        self.cell = os.open(JOB["cell"], os.O_RDWR) if JOB["cell"] else None

    def record(self, ns):
        b = bucket(ns)
        self.buckets[b] = self.buckets.get(b, 0) + 1
        self.max_ns = max(self.max_ns, ns)

    def enter(self):
        self.overlaps += os.pread(self.cell, 8, 0) != bytes(8)
        os.pwrite(self.cell, self.id, 0)

    def leave(self):
        self.overlaps += os.pread(self.cell, 8, 0) != self.id
        os.pwrite(self.cell, bytes(8), 0)

    def operation(self, window, asked):
        done = NOW()
        if window[0] <= done < window[1]:
            self.operations += 1
            self.record(done - asked)

    def hold(self, window, asked, got, left):
        if got >= window[0]:
            self.record(got - asked)
        if window[0] <= got < window[1]:
            self.operations += 1
        self.hold_ns += max(0, min(left, window[1]) - max(got, window[0]))


def key(task):
    return JOB["key"] if JOB["cell"] else f"{JOB['key']}-{JOB['process']}-{task}"


def window():
    print("READY", flush=True)
    if sys.stdin.readline().strip() != "GO":
        sys.exit("the parent is gone")
    start = NOW() + JOB["warm_up_ms"] * 1_000_000
    return start, start + JOB["measured_ms"] * 1_000_000


def report(counts):
    buckets = {}
    for count in counts:
        for b, n in count.buckets.items():
            buckets[b] = buckets.get(b, 0) + n
    print(
        json.dumps(
            {
                "tasks": [count.operations for count in counts],
                "times": {"counts": sorted(buckets.items()), "max_ns": max(count.max_ns for count in counts)},
                "hold_ns": sum(count.hold_ns for count in counts),
                "overlaps": sum(count.overlaps for count in counts),
                "rss_kib": None,
            }
        )
    )
