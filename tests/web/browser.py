"""The browser that the page's tests drive: finds one, or (``python tests/web/browser.py``) sets one up."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC: Final = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
# No sandbox: containers rarely allow one. The rest keeps the browser from asking the network for anything of its own.
FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find() -> str | None:
    """The path of a Chromium or Chrome: what PARLEY_BROWSER names, else what is installed; None leaves it to Playwright."""
    if named := os.environ.get("PARLEY_BROWSER"):
        return named
    if installed := next(filter(None, map(shutil.which, NAMES)), None):
        return installed
    return str(MAC) if MAC.exists() else None


def main() -> int:
    """Set up a browser where there is none: the system's package, else Playwright's download."""
    if find():
        return 0
    if Path("/etc/debian_version").exists() and os.geteuid() == 0:
        _run("apt-get", "update")
        _run("apt-get", "install", "-y", "--no-install-recommends", "chromium")
        if find():
            return 0
    if _run(sys.executable, "-m", "playwright", "install", "chromium"):
        return 0
    sys.stderr.write(
        "No browser for tests/web could be set up: install Chromium or Chrome, or set PARLEY_BROWSER to the path of one.\n"
    )
    return 1


def _run(*command: str) -> bool:
    try:
        return subprocess.run(command, check=False).returncode == 0
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
