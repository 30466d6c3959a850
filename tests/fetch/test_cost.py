"""What a fetch may cost: memory that a target cannot drive up."""

import subprocess
import sys
from pathlib import Path

import pytest

from hostile import serve

TESTS = Path(__file__).parents[1]

FETCH = """
import sys
from parley.evidence import Request
from parley.fetch.client import Fetcher
from parley.fetch.policy import LOCAL
from parley.wire.url import Url
def peak():  # not ru_maxrss, which a process inherits from the one that started it
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
before = peak()
with Fetcher(Url.parse(sys.argv[1]), LOCAL) as fetch:
    for _ in range(3):
        print(fetch(Request(purpose="card", url=sys.argv[1])).outcome)
print(peak() >> 10, (peak() - before) >> 10)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize(
    "name",
    [
        "big-endless",
        "big-chunked",
        "gzip-bomb",
        "gzip-bomb-small",
        "gzip-nothing",
        "br-bomb",
        "headers-6mb",
        "tiny-chunks",
    ],
)
def test_memory_is_bounded_whatever_is_sent(name: str) -> None:
    with serve(name) as server:
        done = subprocess.run(
            [sys.executable, "-c", FETCH, server.url],
            capture_output=True, text=True, check=True, env={"PYTHONPATH": str(TESTS.parent / "functions")},
        )  # fmt: skip
    *outcomes, measured = done.stdout.splitlines()
    assert set(outcomes) <= {"too-large", "bad-encoding", "timeout"}
    peak, grown = (int(number) for number in measured.split())
    assert peak < 64, f"{peak} MiB, {grown} MiB of them by fetching"
    assert grown < 16
