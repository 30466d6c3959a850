"""A cloud on this machine (ministack), and the real ``cdk deploy`` to it.

Where it falls short of AWS, the template's tests stand in: it applies neither the table's TTL nor CORS or throttles.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import requests

from infra import tools

ACCOUNT: Final = "000000000000"
REGION: Final = "us-east-1"
CREDENTIALS: Final = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A deployed stack. ``seconds`` is what ``cdk deploy`` took, bundling and synthesis included."""

    outputs: Mapping[str, str]
    api: str
    changed: bool
    """Whether CloudFormation had anything to do."""
    seconds: float


class Cloud:
    """A running ministack. ``endpoint`` is its URL, for ``AWS_ENDPOINT_URL``."""

    def __init__(self, endpoint: str, log: Path) -> None:
        self.endpoint = endpoint
        self._log = log

    @property
    def log(self) -> str:
        """All that the cloud and the functions in it have written."""
        return self._log.read_text("utf-8", "backslashreplace")

    def deploy(self, folder: Path, **context: str) -> Deployment:
        """Synthesize and deploy the checkout's stack; ``folder`` takes what CDK writes."""
        outputs = folder / "outputs.json"
        values = {"architecture": tools.OWN_ARCHITECTURE, "page": "false", **context}
        command: list[str | Path] = [tools.node(), tools.cdk(), "deploy", "--app", f"{sys.executable} infra/app.py"]
        command += ["--output", folder / "cdk.out", "--outputs-file", outputs, "--require-approval", "never"]
        command += ["--no-notices", "--ci", "--method", "direct"]
        for name, value in values.items():
            command += ["--context", f"{name}={value}"]
        environment = {
            **os.environ,
            **CREDENTIALS,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": REGION,
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "CDK_VALIDATION": "false",  # test_template.py has it validated
            "HOME": str(folder),  # CDK's caches, and whatever credentials are in the real one
            "PYENV_ROOT": os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv")),
        }
        started = time.monotonic()
        done = subprocess.run(command, cwd=tools.ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(f"cdk deploy failed:\n{done.stdout}{done.stderr}\n{self.log[-8000:]}")
        said: dict[str, str] = json.loads(outputs.read_text())["ParleyStack"]
        api_id = said["ApiUrl"].partition("://")[2].partition(".")[0]
        return Deployment(
            outputs=said,
            api=f"{self.endpoint}/_aws/execute-api/{api_id}/$default",
            changed="(no changes)" not in f"{done.stdout}{done.stderr}",
            seconds=time.monotonic() - started,
        )

    def call(self, service: str, action: str, **parameters: Any) -> dict[str, Any]:
        """A call of an AWS API that speaks JSON, such as ``call("DynamoDB_20120810", "Scan", TableName=...)``."""
        answer = requests.post(
            self.endpoint,
            headers={"X-Amz-Target": f"{service}.{action}", "Content-Type": "application/x-amz-json-1.1"},
            json=parameters,
            timeout=30,
        )
        assert answer.ok, f"{service}.{action}: {answer.status_code} {answer.text}"
        result: dict[str, Any] = answer.json()
        return result

    def _bootstrap(self) -> None:
        """What ``cdk bootstrap`` would make, as far as a deployment needs it."""
        bucket = requests.put(f"{self.endpoint}/cdk-hnb659fds-assets-{ACCOUNT}-{REGION}", timeout=30)
        assert bucket.ok, bucket.text
        self.call("AmazonSSM", "PutParameter", Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String")


@contextmanager
def running() -> Iterator[Cloud]:
    """A cloud with nothing in it, gone afterwards with all it started."""
    python = tools.python("ministack")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="parley-cloud-"))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        **CREDENTIALS,
    }
    log = folder / "cloud.log"
    with log.open("wb") as written:
        # A session of its own, so that its workers end with it.
        process = subprocess.Popen(
            [python, "-m", "ministack"],
            cwd=folder,
            env=environment,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        cloud = Cloud(f"http://127.0.0.1:{port}", log)
        _wait_for(cloud, process)
        cloud._bootstrap()
        yield cloud
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(cloud: Cloud, process: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + 60
    while time.monotonic() < ends and process.poll() is None:
        try:
            if requests.get(f"{cloud.endpoint}/_ministack/health", timeout=5).ok:
                return
        except requests.ConnectionError:
            time.sleep(0.1)
    raise AssertionError(f"ministack did not start (exit code {process.poll()}):\n{cloud.log}")
