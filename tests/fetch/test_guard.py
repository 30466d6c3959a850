import subprocess
import sys
from pathlib import Path

import pytest

FUNCTIONS = Path(__file__).parents[2] / "functions"

GUARDED = """
import socket, sys, urllib.request
from parley.fetch.guard import GuardedError, guard_process
listener = socket.create_server(("127.0.0.1", 0))
port = listener.getsockname()[1]
guard_process()
{code}
"""


def guarded(code: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, since a guard cannot be undone."""
    return subprocess.run(
        [sys.executable, "-c", GUARDED.format(code=code)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(FUNCTIONS)},
    )


@pytest.mark.parametrize(
    "code",
    [
        "socket.create_connection(('127.0.0.1', port))",
        "socket.create_connection(('localhost', port))",
        "socket.socket().connect(('localhost', port))",
        "socket.socket().connect_ex(('127.0.0.1', port))",
        "urllib.request.urlopen(f'http://127.0.0.1:{port}/')",
        "__import__('requests').get(f'http://127.0.0.1:{port}/')",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('169.254.169.254', 53))",
        "socket.socket(socket.AF_INET6).connect(('::ffff:127.0.0.1', port))",
    ],
)
def test_a_guarded_process_reaches_nothing_private(code: str) -> None:
    done = guarded(code)
    assert done.returncode == 1
    assert "parley.fetch.guard.GuardedError: a connection to a" in done.stderr


def test_what_is_not_of_the_internet_is_left_alone() -> None:
    code = "a, b = socket.socketpair(); a.sendall(b'x'); assert b.recv(1) == b'x'; socket.socket(socket.AF_UNIX).connect_ex('/none')"
    assert guarded(code).returncode == 0


def test_a_fetch_past_the_policy_is_a_fault_of_ours() -> None:
    code = """
from parley.evidence import Request
from parley.fetch.client import Fetcher
from parley.fetch.policy import LOCAL
from parley.wire.url import Url
with Fetcher(Url.parse(f'http://127.0.0.1:{port}/'), LOCAL) as fetch:
    print(fetch(Request(purpose='card', url=f'http://127.0.0.1:{port}/')).failure)
"""
    done = guarded(code)
    assert "could not be checked, by a fault of ours (GuardedError)" in done.stdout, done.stderr
