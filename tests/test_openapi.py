"""The API's description against the running server, by schemathesis: what it sends is made from the description."""

import subprocess
import sys
from pathlib import Path

from servers import parley_serve

# Whether a text is a URL that may be audited is more than a schema can say: a valid request may well be a 400.
EXCLUDED = "positive_data_acceptance"


def test_served_as_described(tmp_path: Path) -> None:
    with parley_serve(store=tmp_path / "reports.sqlite3") as url:
        ended = subprocess.run(
            [
                Path(sys.executable).with_name("schemathesis"), "run", f"{url}/openapi.json",
                "--max-examples", "40", "--request-timeout", "60", "--seed", "20261130", "--exclude-checks", EXCLUDED,
            ],
            cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
    assert ended.returncode == 0, ended.stdout
    assert "Tested: 6" in ended.stdout
