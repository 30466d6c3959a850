"""The local server: the API's routes and the page, on one machine, with an embedded store.

An ordinary WSGI program under waitress. What runs on loopback is this machine's user's own business, and no web
page's: only requests that the user made may have loopback and private targets audited.
"""

import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from parley.api import Api, ApiRequest, ApiResponse, Audience, TooManyAuditsError
from parley.fetch.policy import DEPLOYED, LOCAL, Policy
from parley.report import Report
from parley.service import audience
from parley.store import Key, ReportStore, StoreError
from parley.store.memory_counter import MemoryCounter
from parley.store.sqlite import SqliteStore

THREADS: Final = 128
"""Requests that are answered at once; those that wait for another's audit hold one each."""

AUDITS: Final = 24
"""Audits that run at once."""

_PAGE: Final = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/app.js": ("app.js", "text/javascript; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
    "/favicon.svg": ("favicon.svg", "image/svg+xml"),
}

_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_EVERYWHERE: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}

_WAITRESS: Final[dict[str, Any]] = {
    "threads": THREADS,
    "connection_limit": 8 * THREADS,
    "max_request_body_size": 65_536,
    "max_request_header_size": 65_536,
    "ident": "parley",
    "clear_untrusted_proxy_headers": True,
}

StartResponse = Callable[[str, list[tuple[str, str]]], object]

log = logging.getLogger(__name__)


class Caller(NamedTuple):
    """Who asks, as far as the server can tell: the socket's peer, and what a browser says of a request's origin."""

    peer: str
    host: str
    origin: str | None
    fetch_site: str | None

    def is_this_machines_user(self, port: int) -> bool:
        """Whether no web page can have made this request.

        It comes over loopback, names the server by a loopback name (else a name could be pointed here, which is DNS
        rebinding), and a browser, if one sent it, says that the server's own page or its user did.
        """
        own = {f"{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]")}
        if port == 80:
            own |= {"127.0.0.1", "localhost", "[::1]"}
        return (
            (self.peer.startswith("127.") or self.peer == "::1")
            and self.host.lower() in own
            and (self.origin is None or self.origin.lower() in {f"http://{host}" for host in own})
            and self.fetch_site in (None, "none", "same-origin")
        )


class Server:
    """The WSGI application. ``web`` is the page's folder."""

    def __init__(self, store: ReportStore, web: Path, *, local: Policy = LOCAL, public: Policy = DEPLOYED) -> None:
        self._api = Api(store, MemoryCounter(), queue=self._refresh_later)
        self._web = web
        self._audits = threading.BoundedSemaphore(AUDITS)
        self._local = self._within_bounds("local", local)
        self._public = self._within_bounds("public", public)
        self.port = 0

    def __call__(self, environ: Mapping[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """PEP 3333."""
        path = environ["PATH_INFO"]
        response = self._page(environ["REQUEST_METHOD"], path) if path in _PAGE else self._answer(environ)
        headers = {**_EVERYWHERE, "Content-Length": str(len(response.body)), **response.headers}
        if response.status in (204, 304):
            headers.pop("Content-Length")
        start_response(f"{response.status} {HTTPStatus(response.status).phrase}", list(headers.items()))
        return [response.body]

    def _answer(self, environ: Mapping[str, Any]) -> ApiResponse:
        caller = Caller(
            peer=environ.get("REMOTE_ADDR", ""),
            host=environ.get("HTTP_HOST", ""),
            origin=environ.get("HTTP_ORIGIN"),
            fetch_site=environ.get("HTTP_SEC_FETCH_SITE"),
        )
        asker = self._local if caller.is_this_machines_user(self.port) else self._public
        response = self._api(_request(environ), asker)
        # The answer depends on who asks, so no cache may hand it to another.
        private = response.headers.get("Cache-Control", "no-store").replace("public", "private")
        vary = ", ".join(filter(None, (response.headers.get("Vary"), "Origin", "Sec-Fetch-Site")))
        return response._replace(headers={**response.headers, "Cache-Control": private, "Vary": vary})

    def _page(self, method: str, path: str) -> ApiResponse:
        if method not in ("GET", "HEAD"):
            return ApiResponse(status=405, headers={"Allow": "GET, HEAD"}, body=b"")
        name, content_type = _PAGE[path]
        body = (self._web / name).read_bytes()
        headers = {
            "Content-Type": content_type,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-cache",
            "Content-Security-Policy": _CSP,
        }
        return ApiResponse(status=200, headers=headers, body=b"" if method == "HEAD" else body)

    def _within_bounds(self, name: str, policy: Policy) -> Audience:
        """What a policy allows, with no more audits at once than this process can carry."""
        unbounded = audience(name, policy)

        def audit(asked: str) -> Report:
            if not self._audits.acquire(blocking=False):
                raise TooManyAuditsError(retry_after=10)
            try:
                return unbounded.audit(asked)
            finally:
                self._audits.release()

        return unbounded._replace(audit=audit)

    def _refresh_later(self, url: str) -> None:
        threading.Thread(target=self._api.refresh, args=(url, self._public), daemon=True).start()


def serve(host: str, port: int, store: Path | None) -> int:
    """Serve until interrupted; returns the exit code. ``store`` is the report file, None for memory only."""
    from waitress.server import create_server

    web = find_web()
    if web is None:
        print("parley: the page's files are missing from this installation", file=sys.stderr)
        return 2
    reports = SqliteStore(store)
    app = Server(reports, web)
    try:
        server: Any = create_server(app, host=host, port=port, **_WAITRESS)
    except (OSError, ValueError) as error:  # waitress says so of a host that has no address
        why = getattr(error, "strerror", None) or error
        print(f"parley: cannot listen on {host}:{port}: {why}. Try --port 0 for a free one.", file=sys.stderr)
        return 2
    app.port = server.effective_port if hasattr(server, "effective_port") else server.effective_listen[0][1]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        reports.read(Key(origin="", path="", rule_set=""))
    except StoreError as error:
        print(f"parley: {error}. Audits are answered, but not kept.", file=sys.stderr, flush=True)
    shown = f"[{host}]" if ":" in host else host
    print(f"Parley is at http://{shown}:{app.port} (Ctrl-C stops it)", flush=True)
    try:
        server.run()
    finally:
        server.close()
        reports.close()
    return 0


def find_web() -> Path | None:
    """The page's folder: in the installed package, or in the checkout."""
    here = Path(__file__).resolve().parent
    return next(
        (folder for folder in (here / "web", here.parents[1] / "web") if (folder / "index.html").is_file()), None
    )


def _request(environ: Mapping[str, Any]) -> ApiRequest:
    query: dict[str, str] = {}
    for name, value in parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True, errors="replace"):
        query.setdefault(name, value)
    headers = {
        name.removeprefix("HTTP_").replace("_", "-").lower(): value
        for name, value in environ.items()
        if name.startswith("HTTP_") or name == "CONTENT_TYPE"
    }
    return ApiRequest(
        method=environ["REQUEST_METHOD"],
        path=environ["PATH_INFO"],
        query=query,
        headers=headers,
        body=environ["wsgi.input"].read(1 << 20) if environ["REQUEST_METHOD"] == "POST" else b"",
    )
