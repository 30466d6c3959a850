"""The engines that the DynamoDB store is tried against: processes on loopback, with nothing in them.

Neither is skipped where it is missing: :class:`infra.tools.SetupError` says what to install.
"""

import select
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from infra import cloud, tools

DYNALITE = Path(__file__).parent / "store" / "dynalite"

ENVIRONMENT = {
    **cloud.CREDENTIALS,
    "AWS_DEFAULT_REGION": cloud.REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
}
"""What a process needs that speaks to an engine; without it, boto3 looks about for somebody's own credentials."""


@contextmanager
def ministack() -> Iterator[str]:
    """The endpoint's URL."""
    with cloud.running() as running:
        yield running.endpoint


@contextmanager
def dynalite() -> Iterator[str]:
    """The endpoint's URL."""
    # Its own command line takes port 0 for no port.
    program = """
        const server = require(process.argv[1])({createTableMs: 0, deleteTableMs: 0})
        server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`))
    """
    process = subprocess.Popen(
        [tools.node(), "--eval", program, _dynalite()],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        try:
            assert process.stdout
            readable, _, _ = select.select([process.stdout], [], [], 60)
            said = process.stdout.readline() if readable else ""
            assert said.startswith("http://"), said or "dynalite said nothing for 60 s"
            yield said.strip()
        finally:
            process.kill()


def create_table(client: Any) -> str:
    """A new table's name; ``infra/`` makes the like."""
    name = f"reports-{uuid.uuid4().hex}"
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in ("origin", "variant")],
        KeySchema=[
            {"AttributeName": "origin", "KeyType": "HASH"},
            {"AttributeName": "variant", "KeyType": "RANGE"},
        ],
    )
    for _ in range(200):  # not boto3's waiter, which sleeps for 20 s if its first look comes too early
        if client.describe_table(TableName=name)["Table"]["TableStatus"] == "ACTIVE":
            return name
    raise AssertionError(f"the table {name} is still not active")


def _dynalite() -> Path:
    npm = shutil.which("npm")
    if not npm:
        raise tools.SetupError("tests/store needs npm, to install dynalite: apt-get install npm")

    def install(folder: Path) -> None:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(DYNALITE / name, folder)
        tools._run("npm", npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder))

    folder = tools._cached("dynalite", (DYNALITE / "package-lock.json").read_bytes(), install)
    return folder / "node_modules" / "dynalite"
