"""Real servers on loopback: a site made of a table, and the product's own server as a process."""

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from sites import NOTHING, Answer

ROOT = Path(__file__).resolve().parents[1]
FUNCTIONS = ROOT / "functions"


@dataclass
class RealSite:
    """A site that answers from a table by path; ``delay`` seconds before every answer, kept-alive connections."""

    url: str
    answers: dict[str, Answer]
    delay: float = 0.0
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    connections: int = 0


@contextlib.contextmanager
def real_site(answers: Mapping[str, Answer] | None = None, *, delay: float = 0.0) -> Iterator[RealSite]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            site.connections += 1

        def do_GET(self) -> None:
            site.requests.append((self.command, self.path, dict(self.headers.items())))
            answer = site.answers.get(self.path, NOTHING) if self.command == "GET" else NOTHING
            body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            time.sleep(site.delay)  # the site's latency, which is what is measured
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_: object) -> None:
            """A client that went away is no news."""

    with Server(("127.0.0.1", 0), Handler) as server:
        site = RealSite(url=f"http://127.0.0.1:{server.server_port}", answers=dict(answers or {}), delay=delay)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join(5)


def environment() -> dict[str, str]:
    """The environment of a process of the product's, from this checkout."""
    return os.environ | {"PYTHONPATH": str(FUNCTIONS), "PYTHONWARNINGS": "error", "COLUMNS": "100"}


@contextlib.contextmanager
def parley_serve(*arguments: str, store: Path, stderr: Path | None = None) -> Iterator[str]:
    """``parley serve`` on a free port; its URL, once it says that it listens."""
    command = [sys.executable, "-m", "parley", "serve", "--port", "0", "--store", str(store), *arguments]
    with (
        contextlib.nullcontext() if stderr is None else stderr.open("w") as log,
        subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"http://[^ ]+", line)
            assert found, f"the server did not start: {line!r}"
            yield found[0]
        finally:
            process.terminate()
            process.wait(10)
