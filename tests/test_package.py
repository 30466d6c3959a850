"""What `pip install .` brings: the command, and the page it serves."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_wheel_is_whole(tmp_path: Path) -> None:
    pip = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(tmp_path),
        str(ROOT),
    ]
    subprocess.run(pip, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
        names = archive.namelist()
    assert {f"parley/web/{name}" for name in ("index.html", "app.js", "style.css", "favicon.svg")} <= set(names)
    assert not [name for name in names if name.startswith(("tests/", "infra/"))]
    (entry_points,) = (tmp_path / "site").glob("*.dist-info/entry_points.txt")
    assert "parley = parley.cli:main" in entry_points.read_text()
    script = "from parley.serve import find_web; from parley import cli; print(find_web()); cli.main(['--version'])"
    ended = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": str(tmp_path / "site")}, cwd=tmp_path,
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert str(tmp_path / "site" / "parley" / "web") in ended.stdout
    assert "parley 0." in ended.stdout
