"""Which rules a report was made by, in a word: reports of other rules, or of other code of the same, are kept apart."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from parley import __version__
from parley.report import REPORT_VERSION

_JUDGING: Final = ("documents", "probes", "rules", "wire")
"""The packages that decide about a verdict, beside audit.py."""


@cache
def rule_set() -> str:
    """Report version, product version, and a digest of the code that judges. Loads none of that code."""
    here = Path(__file__).parent
    files = sorted({here / "audit.py", *(file for name in _JUDGING for file in (here / name).rglob("*.py"))})
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(here).as_posix()}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return f"{REPORT_VERSION}-{__version__}-{digest.hexdigest()[:12]}"
