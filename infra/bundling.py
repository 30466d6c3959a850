"""The function's code as Lambda wants it: one folder with the product, its dependencies, and bytecode of both.

No Docker: uv fetches the wheels of the function's platform, whatever this machine is. Two builds give the same bytes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import uv

PYTHON: Final = "3.13"
"""The deployed minor version. Bytecode is of use to no other."""

PLATFORMS: Final = {"arm64": "aarch64-manylinux2014", "x86_64": "x86_64-manylinux2014"}
"""Lambda's name of an architecture, and uv's of its platform."""

TASK_ROOT: Final = "/var/task"
"""Where Lambda unpacks the bundle: the folder that tracebacks name."""

_UNUSED: Final = ("cffi", "pycparser", "pycparser-*.dist-info")
"""What wraps C code at build time; cryptography loads nothing of cffi but its compiled part, which stands beside."""

_OWN: Final = "import sys; print(f'{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}')"


class BundleError(Exception):
    """The bundle could not be built; the text says what the tool said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """What the function runs: ``functions`` is the folder of ``parley/`` and its ``requirements.txt``."""

    functions: Path
    architecture: str

    def fingerprint(self) -> str:
        """A hash of all that decides about the bundle: sources, lock, platform, bytecode or none, this builder."""
        digest = hashlib.sha256()
        parts = [f"{PYTHON} {PLATFORMS[self.architecture]} {'compiled' if interpreter() else 'not compiled'}".encode()]
        parts += [Path(__file__).read_bytes(), self._requirements.read_bytes()]
        for path in self._sources():
            parts += [path.relative_to(self.functions).as_posix().encode(), path.read_bytes()]
        for part in parts:
            digest.update(len(part).to_bytes(8, "big") + part)
        return digest.hexdigest()

    def build(self, out: Path) -> None:
        """Build into a folder that is empty or not there yet. Raises :class:`BundleError`."""
        out.mkdir(parents=True, exist_ok=True)
        self._install(out)
        for path in self._sources():
            target = out / path.relative_to(self.functions)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        if python := interpreter():
            _compile(python, out)
        else:
            sys.stderr.write(f"parley: {WARNING}\n")
        for path in out.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)  # Lambda's user is not this one, nor is the umask

    @property
    def _requirements(self) -> Path:
        return self.functions / "requirements.txt"

    def _sources(self) -> Iterator[Path]:
        for path in sorted((self.functions / "parley").rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                yield path

    def _install(self, out: Path) -> None:
        command = [uv.find_uv_bin(), "pip", "install", "--quiet", "--require-hashes", "--no-deps"]
        command += ["--requirements", str(self._requirements), "--target", str(out), "--python", sys.executable]
        command += ["--python-platform", PLATFORMS[self.architecture], "--python-version", PYTHON]
        command += ["--only-binary", ":all:", "--link-mode", "copy", "--no-compile-bytecode"]
        _run(command)
        # uv's own, and scripts with this machine's paths in their first lines.
        shutil.rmtree(out / "bin", ignore_errors=True)
        (out / ".lock").unlink(missing_ok=True)
        for unused in [path for name in _UNUSED for path in out.glob(name)]:
            shutil.rmtree(unused)


WARNING: Final = (
    f"no Python {PYTHON} was found here, so the bundle has no bytecode and every cold start takes twice as long. "
    f"Install Python {PYTHON}, or name one in PARLEY_BUNDLE_PYTHON, and deploy again."
)


@cache
def interpreter() -> Path | None:
    """A CPython of the deployed minor version on this machine, None if there is none.

    ``PARLEY_BUNDLE_PYTHON`` names one; else this process's own, ``python3.13`` in PATH, pyenv's and uv's are tried.
    """
    if named := os.environ.get("PARLEY_BUNDLE_PYTHON"):
        if not _is_deployed(Path(named)):
            raise BundleError(f"PARLEY_BUNDLE_PYTHON is no Python {PYTHON}: {named}")
        return Path(named)
    return next(filter(_is_deployed, _candidates()), None)


def _candidates() -> Iterator[Path]:
    yield Path(sys.executable)
    if found := shutil.which(f"python{PYTHON}"):
        yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(pyenv.glob(f"versions/{PYTHON}.*/bin/python{PYTHON}"))
    # After these, since its answer takes longest.
    command = [uv.find_uv_bin(), "python", "find", "--no-project", "--no-python-downloads", PYTHON]
    found_by_uv = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if found_by_uv.returncode == 0:
        yield Path(found_by_uv.stdout.strip())


def _is_deployed(python: Path) -> bool:
    """Whether it runs (pyenv's shims may not) and is the deployed version."""
    try:
        said = subprocess.run([python, "-I", "-c", _OWN], capture_output=True, text=True, check=False)  # noqa: S603
    except OSError:
        return False
    return said.stdout.strip() == f"cpython {PYTHON}"


def _compile(python: Path, out: Path) -> None:
    """Bytecode beside every source, valid whatever the sources' times are: zip files and Lambda do not keep them."""
    command = [str(python), "-P", "-s", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    _run([*command, "-s", str(out), "-p", TASK_ROOT, str(out)], PYTHONHASHSEED="0")


def _run(command: list[str], **environment: str) -> None:
    everything = {**os.environ, **environment}
    done = subprocess.run(command, env=everything, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise BundleError(f"{Path(command[0]).name} failed ({done.returncode}):\n{done.stdout}{done.stderr}".rstrip())
