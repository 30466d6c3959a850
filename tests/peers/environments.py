"""Where real peers run: an environment for each generation of an SDK, pinned, made once under ``.cache``.

Nothing here is skipped where it is missing: :class:`infra.tools.SetupError` says what to install.
"""

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import uv

from infra import tools

HERE = Path(__file__).resolve().parent

_ENVIRONMENT = os.environ | {"PYTHONPATH": str(HERE)}  # for listening.py


def python(name: str) -> Path:
    """An interpreter, of this one's version, with what ``NAME/requirements.txt`` pins."""
    requirements = HERE / name / "requirements.txt"

    def install(folder: Path) -> None:
        command = uv.find_uv_bin()
        tools._run("uv", command, "venv", "-q", "--python", sys.executable, folder)
        interpreter = folder / "bin" / "python"
        tools._run("uv", command, "pip", "install", "-q", "--compile-bytecode", "--python", interpreter, "--require-hashes", "-r", requirements)  # fmt: skip

    key = requirements.read_bytes() + sys.version.encode()
    return tools._cached(f"peer-{name}", key, install) / "bin" / "python"


def node_modules(name: str) -> Path:
    """The modules that ``NAME/package-lock.json`` pins."""
    return tools.npm(f"peer-{name}", HERE / name)


@contextmanager
def running(*command: str | Path) -> Iterator[Mapping[str, str]]:
    """A process of servers, which says where they listen by a line of JSON; ended at the end."""
    # What they complain about goes to a file: a pipe that nobody reads stops them once it is full.
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(
            [str(part) for part in command], env=_ENVIRONMENT, stdout=subprocess.PIPE, stderr=complaints
        ) as process,
    ):
        try:
            assert process.stdout is not None
            ready, _, _ = select.select([process.stdout], [], [], 60)
            line = process.stdout.readline() if ready else b""
            if not line:
                process.kill()
                complaints.seek(0)
                raise AssertionError(f"no server listens: {complaints.read().decode(errors='replace')[-2000:]}")
            yield json.loads(line)
        finally:
            process.kill()
