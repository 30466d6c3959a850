"""The bundle: the same bytes each time, small, compiled, nothing in it that the function does not run."""

import hashlib
import io
import json
import re
import struct
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import bundling
import pytest
from bundling import Bundle, BundleError

from infra import tools

FUNCTIONS = tools.ROOT / "functions"
UNCHECKED_HASH = 0b01
SIZE_NOTE = re.compile(r"(# )?(?P<name>[a-z][a-z0-9-]*)[ >=<.0-9]* .*; (?P<size>\d+) kB$")
MACHINES = {"x86_64": 0x3E, "arm64": 0xB7}  # ELF's e_machine


@pytest.fixture(scope="module", params=sorted(bundling.PLATFORMS))
def folder(request: pytest.FixtureRequest) -> Path:
    return tools.bundle(request.param)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A product of three lines, for what is true of any."""
    functions = tmp_path / "functions"
    package = functions / "parley"
    (package / "__pycache__").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__pycache__" / "__init__.cpython-311.pyc").write_bytes(b"stale")
    (package / "handler.py").write_text("def handler(event, context):\n    return 1\n")
    (functions / "requirements.txt").write_text("")
    (functions / "requirements.in").write_text("requests\n")
    return functions


# --- what is in it ---


def test_two_builds_give_the_same_bytes(tmp_path: Path) -> None:
    built = tools.bundle("arm64")
    Bundle(functions=FUNCTIONS, architecture="arm64").build(tmp_path / "again")
    assert _contents(tmp_path / "again") == _contents(built)


def test_zip_is_small(folder: Path) -> None:
    size = len(_zipped(folder))
    assert size < 12_000_000, f"{size} bytes"


def test_each_dependencys_size_is_known() -> None:
    """``functions/requirements.in`` names each, those that come with another too, and its size to a quarter."""
    said = {
        noted["name"]: int(noted["size"])
        for line in (FUNCTIONS / "requirements.in").read_text().splitlines()
        if (noted := SIZE_NOTE.match(line))
    }
    found = {name: round(size / 1000) for name, size in _shares(tools.bundle("arm64")).items()}
    assert set(said) == set(found) - {"parley"}
    assert said == pytest.approx({name: found[name] for name in said}, rel=0.25)


def test_every_source_has_its_bytecode(folder: Path) -> None:
    sources = set(folder.rglob("*.py"))
    assert len(sources) > 300
    for source in sources:
        compiled = source.parent / "__pycache__" / f"{source.stem}.cpython-313.pyc"
        (flags,) = struct.unpack("<I", compiled.read_bytes()[4:8])
        assert flags == UNCHECKED_HASH, f"{compiled}: valid only for one time of its source"
    assert len(list(folder.rglob("*.pyc"))) == len(sources), "of another version, or of a source that is not there"


def test_nothing_names_this_machine(folder: Path) -> None:
    """Tracebacks name where Lambda has the bundle."""
    here = str(tools.ROOT).encode()
    assert [path for path in _files(folder) if here in path.read_bytes()] == []
    compiled = folder / "parley" / "__pycache__" / "handler.cpython-313.pyc"
    assert b"/var/task/parley/handler.py" in compiled.read_bytes()


def test_only_what_the_function_runs_is_in_it(folder: Path) -> None:
    names = {path.relative_to(folder).as_posix() for path in _files(folder)}
    assert {name for name in names if name.startswith("parley/") and not name.endswith(".pyc")} == {
        path.relative_to(FUNCTIONS).as_posix()
        for path in (FUNCTIONS / "parley").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    top = {name.partition("/")[0] for name in names}
    assert not top & {"bin", "tests", "web", "infra", "boto3", "botocore", ".lock"}
    assert not [name for name in top if name.startswith("requirements")]
    assert not [name for name in names if name.startswith("parley/") and "test" in name]
    installed = {name.partition("-")[0] for name in top if name.endswith(".dist-info")}
    assert not installed & {"boto3", "botocore", "pydantic", "pydantic_core", "rich"}


def test_native_code_is_for_the_right_machine() -> None:
    for architecture, machine in MACHINES.items():
        for library in tools.bundle(architecture).rglob("*.so"):
            head = library.read_bytes()[:20]
            assert head[:4] == b"\x7fELF"
            assert struct.unpack("<H", head[18:20]) == (machine,), library
            assert "313" in library.name or "abi3" in library.name, library


def test_lambda_may_read_all_of_it(folder: Path) -> None:
    for path in folder.rglob("*"):
        assert not path.is_symlink()
        assert path.stat().st_mode & 0o777 == (0o755 if path.is_dir() else 0o644), path


def test_it_imports_on_the_deployed_version() -> None:
    """Each module of ours and each dependency, with nothing beside the bundle but the managed runtime."""
    script = """
import importlib, json, pkgutil, sys
sys.path.insert(0, sys.argv[1])
optional = {"parley.__main__", "parley.cli", "parley.serve", "parley.render.terminal"}
import parley
names = [module.name for module in pkgutil.walk_packages(parley.__path__, "parley.")]
for name in [name for name in names if name not in optional] + ["requests", "aws_lambda_powertools", "joserfc.jws", "rfc8785"]:
    importlib.import_module(name)
from joserfc import jws
from joserfc.jwk import ECKey
key = ECKey.generate_key("P-256")
signed = jws.serialize_compact({"alg": "ES256"}, b"a card", key, algorithms=["ES256"])
assert jws.deserialize_compact(signed, key, algorithms=["ES256"]).payload == b"a card"
print(json.dumps({"version": sys.version_info[:2], "imported": len(names),
                  "outside": [m.__file__ for n, m in sys.modules.items() if n.partition(".")[0] in
                              {"parley", "requests", "urllib3", "idna", "certifi", "aws_lambda_powertools", "joserfc"}
                              and not (m.__file__ or "").startswith(sys.argv[1])]}))
"""
    done = subprocess.run(
        [tools.python("runtime"), "-I", "-W", "error", "-c", script, tools.bundle()],
        env={"AWS_DEFAULT_REGION": "us-east-1", "POWERTOOLS_METRICS_NAMESPACE": "Parley"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["version"] == [3, 13]
    assert said["imported"] > 20
    assert said["outside"] == []


# --- what its hash covers ---


def _nothing(functions: Path) -> None: ...


def _other_source(functions: Path) -> None:
    (functions / "parley" / "handler.py").write_text("def handler(event, context):\n    return 2\n")


def _new_source(functions: Path) -> None:
    (functions / "parley" / "new.py").write_text("")


def _moved_source(functions: Path) -> None:
    (functions / "parley" / "handler.py").rename(functions / "parley" / "other.py")


def _other_lock(functions: Path) -> None:
    (functions / "requirements.txt").write_text("requests==2.34.2 --hash=sha256:00\n")


def _bytecode_here(functions: Path) -> None:
    (functions / "parley" / "__pycache__" / "handler.cpython-311.pyc").write_bytes(b"")


def _wish_list(functions: Path) -> None:
    (functions / "requirements.in").write_text("requests\nidna\n")


@pytest.mark.parametrize("change", [_other_source, _new_source, _moved_source, _other_lock])
def test_hash_changes_with_what_decides(small: Path, change: Callable[[Path], None]) -> None:
    before = _fingerprint(small)
    change(small)
    assert _fingerprint(small) != before


@pytest.mark.parametrize("change", [_nothing, _bytecode_here, _wish_list])
def test_hash_stays_with_what_does_not(small: Path, change: Callable[[Path], None]) -> None:
    before = _fingerprint(small)
    change(small)
    assert _fingerprint(small) == before


def test_hash_knows_platform_builder_and_bytecode(small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    prints = [_fingerprint(small), _fingerprint(small, "x86_64")]
    monkeypatch.setattr(bundling, "interpreter", lambda: None)
    prints.append(_fingerprint(small))
    monkeypatch.undo()
    builder = tmp_path / "bundling.py"
    builder.write_bytes(Path(bundling.__file__).read_bytes() + b"#")
    monkeypatch.setattr(bundling, "__file__", str(builder))
    prints.append(_fingerprint(small))
    assert len(set(prints)) == 4


# --- how it fails ---


def test_without_the_deployed_python_it_says_so_loudly(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bundling, "interpreter", lambda: None)
    Bundle(functions=small, architecture="arm64").build(tmp_path / "out")
    assert {path.name for path in _files(tmp_path / "out")} == {"__init__.py", "handler.py"}
    assert "no Python 3.13 was found" in capsys.readouterr().err


def test_a_dependency_that_is_not_the_locked_one_is_refused(small: Path, tmp_path: Path) -> None:
    (small / "requirements.txt").write_text(f"idna==3.10 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(BundleError, match=r"(?i)hash mismatch"):
        Bundle(functions=small, architecture="arm64").build(tmp_path / "out")


def test_a_source_that_does_not_compile_is_refused(small: Path, tmp_path: Path) -> None:
    (small / "parley" / "handler.py").write_text("def handler(:\n")
    with pytest.raises(BundleError, match=r"handler\.py"):
        Bundle(functions=small, architecture="arm64").build(tmp_path / "out")


@pytest.fixture
def pythons() -> Iterator[tuple[Path, Path]]:
    """One of the deployed version, and what is none; nothing of either is remembered."""
    yield tools.python("runtime"), Path("/bin/sh")
    bundling.interpreter.cache_clear()


def test_the_operator_may_name_the_python(pythons: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong = pythons
    bundling.interpreter.cache_clear()
    monkeypatch.setenv("PARLEY_BUNDLE_PYTHON", str(right))
    assert bundling.interpreter() == right
    bundling.interpreter.cache_clear()
    monkeypatch.setenv("PARLEY_BUNDLE_PYTHON", str(wrong))
    with pytest.raises(BundleError, match=r"no Python 3\.13"):
        bundling.interpreter()


def _fingerprint(functions: Path, architecture: str = "arm64") -> str:
    return Bundle(functions=functions, architecture=architecture).fingerprint()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _contents(folder: Path) -> dict[str, tuple[int, str]]:
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_mode, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in _files(folder)
    }


def _zipped(folder: Path) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in _files(folder):
            archive.writestr(
                zipfile.ZipInfo(path.relative_to(folder).as_posix()), path.read_bytes(), zipfile.ZIP_DEFLATED
            )
    return written.getvalue()


def _shares(folder: Path) -> dict[str, int]:
    """Zipped bytes by distribution, ``parley`` among them."""
    owners = {}
    for record in folder.glob("*.dist-info/RECORD"):
        distribution = record.parent.name.partition("-")[0].replace("_", "-")
        for line in record.read_text().splitlines():
            owners[line.partition(",")[0]] = distribution
    shares: dict[str, int] = {}
    with zipfile.ZipFile(io.BytesIO(_zipped(folder))) as archive:
        for entry in archive.infolist():
            source = entry.filename
            if source.endswith(".pyc"):
                parent, _, name = source.rpartition("__pycache__/")
                source = f"{parent}{name.partition('.')[0]}.py"
            owner = "parley" if source.startswith("parley/") else owners[source]
            shares[owner] = shares.get(owner, 0) + entry.compress_size + len(entry.filename) * 2 + 76
    return shares
