"""A site on loopback with an MCP server of :mod:`mcp_servers`, over real HTTP; its latency is ours to set."""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from parley.documents.mcp_plan import PLAN, STEPS, TOOL_PAGES, Purpose
from parley.evidence import Request
from sites import Answer

_BY_ID = {step.request_id(index): step.purpose for step in PLAN for index in range(TOOL_PAGES)}


@dataclass
class McpSite:
    """``endpoint`` is its URL. ``most`` is how many connections were open at one time."""

    endpoint: str
    requests: list[str] = field(default_factory=list)
    connections: int = 0
    open: int = 0
    most: int = 0


def purpose(method: str, body: bytes) -> Purpose:
    """Which step of the plan a request is."""
    if method != "POST":
        return {"GET": Purpose.STREAM, "OPTIONS": Purpose.PREFLIGHT, "DELETE": Purpose.DELETE}[method]
    message = json.loads(body)
    message = message[0] if isinstance(message, list) else message
    if "id" in message:
        return _BY_ID[message["id"]]
    is_legacy = message["method"] == STEPS[Purpose.INITIALIZED].call
    return Purpose.INITIALIZED if is_legacy else Purpose.NOTIFICATION


Raw = Callable[[Request, Callable[[bytes], None]], bool]
"""Answers a request by writing bytes; False if it leaves that to the server."""


@contextlib.contextmanager
def mcp_site(server: Callable[[Request], Answer], *, delay: float = 0.0, raw: Raw | None = None) -> Iterator[McpSite]:
    """``delay`` is in seconds, before every answer. What is not at ``/mcp``, with whatever query, is 404."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            with lock:
                site.connections += 1
                site.open += 1
                site.most = max(site.most, site.open)

        def finish(self) -> None:
            with lock:
                site.open -= 1
            with contextlib.suppress(OSError):
                super().finish()

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            time.sleep(delay)  # the site's latency, which is what is measured
            if self.path.partition("?")[0] != "/mcp":
                self.reply(Answer(status=404))
                return
            request = Request(
                purpose=purpose(self.command, body),
                url=site.endpoint,
                method=self.command,
                headers=dict(self.headers.items()),
                body=body,
            )
            with lock:
                site.requests.append(request.purpose)
            if raw is not None and raw(request, self.write):
                self.close_connection = True
                return
            with lock:
                made = server(request)
            self.reply(made)

        do_GET = do_POST = do_OPTIONS = do_DELETE = answer  # noqa: N815  # http.server's names

        def write(self, data: bytes) -> None:
            self.wfile.write(data)
            self.wfile.flush()

        def reply(self, answer: Answer) -> None:
            body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if answer.status not in (202, 204) or body:
                self.send_header("Content-Length", str(len(body)))
            elif answer.status == 202:
                self.send_header("Content-Length", "0")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_: object) -> None:
            pass  # a client that has heard enough hangs up

    with Server(("127.0.0.1", 0), Handler) as listening:
        site = McpSite(endpoint=f"http://127.0.0.1:{listening.server_port}/mcp")
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            listening.shutdown()
            thread.join(5)
