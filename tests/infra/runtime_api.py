"""Lambda's Runtime API, and a function under it: AWS's own runtime client runs the bundle, without Lambda.

For tests and benchmarks: hand it an event, get the answer and the time from the process's start to it.
"""

import json
import os
import queue
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qs

ARN: Final = "arn:aws:lambda:us-east-1:000000000000:function:parley"
PREFIX: Final = "/2018-06-01/runtime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the function answered to one event. Times are in seconds."""

    payload: Any
    failed: bool
    """Whether the handler raised; the payload then says what."""
    since_start: float
    """From the start of the process to the answer."""
    took: float
    """From the event to the answer: of the first event, the start is part."""

    @property
    def body(self) -> str:
        return str(self.payload.get("body", ""))


def http_event(
    method: str, path: str, *, query: str = "", headers: Mapping[str, str] | None = None, body: str | None = None
) -> dict[str, Any]:
    """An event as an HTTP API sends it (payload format 2.0)."""
    event = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "headers": {"host": "api.test", "accept": "*/*", **(headers or {})},
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "api",
            "domainName": "api.test",
            "domainPrefix": "api",
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.1",
                "userAgent": "parley-test",
            },
            "requestId": str(uuid.uuid4()),
            "routeKey": "$default",
            "stage": "$default",
            "time": "01/Jan/2026:00:00:00 +0000",
            "timeEpoch": int(time.time() * 1000),
        },
        "isBase64Encoded": False,
    }
    if query:
        values = parse_qs(query, keep_blank_values=True)
        event["queryStringParameters"] = {name: ",".join(given) for name, given in values.items()}
    if body is not None:
        event["body"] = body
    return event


class Function:
    """A folder run as Lambda runs it. The process starts with the first event, or with :meth:`start`.

    ``python`` has awslambdaric and what the managed runtime brings; ``folder`` is the bundle.
    """

    def __init__(
        self,
        python: Path,
        folder: Path,
        *,
        handler: str = "parley.handler.handler",
        environment: Mapping[str, str] | None = None,
        options: tuple[str, ...] = (),
        timeout: float = 28,
    ) -> None:
        self._command = [str(python), *options, "-m", "awslambdaric", handler]
        self._folder = folder
        self._environment = dict(environment or {})
        self._timeout = timeout
        self._server = _Server()
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._started = 0.0

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
        self._server.shutdown()
        self._server.server_close()
        self._log.close()

    @property
    def log(self) -> str:
        """All that the function has written."""
        self._log.seek(0)
        return self._log.read().decode("utf-8", "backslashreplace")

    def start(self) -> None:
        """Start the process."""
        environment = {
            "PATH": os.environ["PATH"],
            "LANG": "en_US.UTF-8",
            "TZ": ":UTC",
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._server.server_port}",
            "AWS_LAMBDA_FUNCTION_NAME": "parley",
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
            "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/parley",
            "AWS_LAMBDA_LOG_STREAM_NAME": "test",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "LAMBDA_TASK_ROOT": str(self._folder),
            "_HANDLER": self._command[-1],
            "PYTHONDONTWRITEBYTECODE": "1",  # /var/task is read-only
            "POWERTOOLS_SERVICE_NAME": "parley",
            "POWERTOOLS_METRICS_NAMESPACE": "Parley",
            **self._environment,
        }
        self._started = time.perf_counter()
        # The runtime client puts the working directory first in the path, where Lambda has the task's folder.
        self._process = subprocess.Popen(
            self._command, cwd=self._folder, env=environment, stdout=self._log, stderr=subprocess.STDOUT
        )

    def invoke(self, event: object) -> Answer:
        """Hand it an event and wait for the answer. Raises :class:`RuntimeError`, with the log, if none comes."""
        asked = time.perf_counter()
        self._server.events.put((json.dumps(event).encode(), self._timeout))
        if self._process is None:
            self.start()
        assert self._process
        ends = time.monotonic() + self._timeout + 5
        while True:
            try:
                kind, payload, at = self._server.answers.get(timeout=0.1)
                break
            except queue.Empty:
                if self._process.poll() is not None or time.monotonic() > ends:
                    raise RuntimeError(f"no answer; exit code {self._process.poll()}, log:\n{self.log}") from None
        if kind == "init":
            raise RuntimeError(f"the function could not start: {payload!r}\n{self.log}")
        return Answer(
            payload=json.loads(payload or b"null"),
            failed=kind == "error",
            since_start=at - self._started,
            took=at - asked,
        )


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A function that was stopped is no news."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.events: queue.Queue[tuple[bytes, float]] = queue.Queue()
        self.answers: queue.Queue[tuple[str, bytes, float]] = queue.Queue()


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else an answer of two packets waits 40 ms for the client's delayed ACK
    wbufsize = -1  # one packet for head and body

    def do_GET(self) -> None:
        assert self.path == f"{PREFIX}/invocation/next", self.path
        event, timeout = self.server.events.get()
        deadline = int((time.time() + timeout) * 1000)
        self.send_response(200)
        for name, value in (
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(event))),
            ("Lambda-Runtime-Aws-Request-Id", str(uuid.uuid4())),
            ("Lambda-Runtime-Deadline-Ms", str(deadline)),
            ("Lambda-Runtime-Invoked-Function-Arn", ARN),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(event)

    def do_POST(self) -> None:
        at = time.perf_counter()
        payload = self._body()
        kind = "init" if self.path == f"{PREFIX}/init/error" else self.path.rpartition("/")[2]
        assert kind in ("init", "response", "error"), self.path
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.wfile.flush()
        self.server.answers.put((kind, payload, at))

    def log_message(self, *_: object) -> None:
        """Silent."""

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers["Content-Length"]))
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)
