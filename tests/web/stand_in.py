"""A stand-in for Parley's server: the page as it is, under the headers it is served with, and answers as told."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

PAGE: Final = Path(__file__).parents[2] / "web"
CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
SECURITY: Final = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
PROBLEM: Final = "application/problem+json"


@dataclass(slots=True, kw_only=True)
class Answer:
    """One answer of the API. A ``body`` of text is sent as it is; ``gate`` holds the answer back until it is set."""

    body: object = None
    status: int = 200
    type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    gate: threading.Event | None = None
    done: threading.Event = field(default_factory=threading.Event)

    def payload(self) -> bytes:
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


def problem(status: int, detail: str, headers: dict[str, str] | None = None, **members: Any) -> Answer:
    body = {"type": "about:blank", "title": "Problem", "status": status, "detail": detail, **members}
    return Answer(status=status, type=PROBLEM, body=body, headers=headers or {})


class Site:
    """Answers per audited URL (the last one again and again), and what was asked."""

    def __init__(self) -> None:
        self.audits: dict[str, list[Answer]] = {}
        self.checks = Answer(body={"checks": []})
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.url = ""

    def answer(self, url: str, *answers: Answer) -> None:
        self.audits[url] = list(answers)

    def asked_for(self, path: str) -> list[dict[str, str]]:
        return [query for asked, query in self.asked if asked == path]

    def next_answer(self, path: str, query: dict[str, str]) -> Answer:
        self.asked.append((path, query))
        if path == "/v1/checks":
            return self.checks
        if path == "/v1/audit":
            queue = self.audits[query["url"]]
            return queue.pop(0) if len(queue) > 1 else queue[0]
        name = "index.html" if path == "/" else path.removeprefix("/")
        if "/" in name or not (file := PAGE / name).is_file():
            return Answer(status=404, body="not here", type="text/plain")
        return Answer(body=file.read_text(encoding="utf-8"), type=TYPES[file.suffix])


@contextmanager
def serving() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
            answer = site.next_answer(parts.path, query)
            if answer.gate:
                answer.gate.wait(20)
            with suppress(OSError):  # a cancelled request: nobody listens any more
                self.send_response(answer.status)
                for name, value in {"Content-Type": answer.type, **SECURITY, **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.payload())
            answer.done.set()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
