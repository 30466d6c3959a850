"""What the tests of the deployment run beside Python: set up once, in versions that are pinned, under ``.cache/infra``.

Nothing here is skipped where it is missing: :class:`SetupError` says what to install.
"""

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import uv

ROOT: Final = Path(__file__).resolve().parents[2]
HERE: Final = Path(__file__).resolve().parent
CACHE: Final = ROOT / ".cache" / "infra"

# The folder is no package: cdk.json runs a script in it.
sys.path.insert(0, str(ROOT / "infra"))

from bundling import PYTHON, Bundle, interpreter  # noqa: E402

OWN_ARCHITECTURE: Final = "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
"""The one that this machine can run: a bundle holds native code."""

# jsii, which runs CDK's JavaScript under Python, has opinions on Node's age, at length and on every start.
os.environ.setdefault("JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION", "1")
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")

A_DAY: Final = 86_400
"""Seconds after which what nobody asked for is removed from the cache."""


class SetupError(Exception):
    """A tool could not be set up; the text says what to install."""


def node() -> Path:
    """Node.js: CDK runs on it."""
    found = shutil.which("node")
    if not found:
        raise SetupError("tests/infra needs Node.js 20 or newer: apt-get install nodejs npm, or from nodejs.org")
    return Path(found)


def cdk() -> Path:
    """The CDK command line."""
    return npm("cdk", HERE / "cdk") / ".bin" / "cdk"


def npm(name: str, pinned: Path) -> Path:
    """The ``node_modules`` that the lock file in ``pinned`` asks for."""
    node()
    command = shutil.which("npm")
    if not command:
        raise SetupError(f"npm is needed, to install {name}: apt-get install npm")

    def install(folder: Path) -> None:
        for file in ("package.json", "package-lock.json"):
            shutil.copy(pinned / file, folder)
        _run("npm", command, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder)

    return _cached(name, (pinned / "package-lock.json").read_bytes(), install) / "node_modules"


def python(name: str) -> Path:
    """An interpreter of the deployed version with what ``NAME-requirements.txt`` pins."""
    requirements = HERE / f"{name}-requirements.txt"
    # Where the machine has none, uv may know where to get one.
    base = str(interpreter() or PYTHON)

    def install(folder: Path) -> None:
        _run(f"Python {PYTHON} (install it, pyenv's will do)", uv.find_uv_bin(), "venv", "-q", "--python", base, folder)
        target = ("--python", folder / "bin" / "python", "--require-hashes", "-r", requirements)
        _run("uv", uv.find_uv_bin(), "pip", "install", "-q", "--compile-bytecode", *target)

    folder = _cached(name, requirements.read_bytes() + base.encode(), install)
    return folder / "bin" / "python"


def bundle(architecture: str = OWN_ARCHITECTURE, functions: Path = ROOT / "functions") -> Path:
    """The function's bundle of the sources as they are now: built once for all who ask."""
    built = Bundle(functions=functions, architecture=architecture)
    return _cached(f"bundle-{architecture}", built.fingerprint().encode(), built.build)


def _cached(name: str, key: bytes, make: Callable[[Path], None]) -> Path:
    """A folder that ``make`` filled for this key: whole or not there, whoever else asks at the same time."""
    folder = CACHE / f"{name}-{hashlib.sha256(key).hexdigest()[:12]}"
    done = folder.with_suffix(".done")
    with _locked(name):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
        done.touch()
        for other in CACHE.glob(f"{name}-*.done"):
            if other.stat().st_mtime < time.time() - A_DAY:
                shutil.rmtree(other.with_suffix(""), ignore_errors=True)
                other.unlink()
    return folder


@contextmanager
def _locked(name: str) -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(needed: str, *command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        said = f"{done.stdout}{done.stderr}".strip()
        raise SetupError(f"tests/infra could not be set up; it needs {needed}, and got from {command[0]}:\n{said}")
