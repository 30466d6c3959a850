"""Speed and size, as ratios within one run: ``make bench``. Nothing here is asserted; numbers are for people to read."""

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import requests

import hostile
from parley.audit import audit
from parley.fetch.client import Fetcher
from parley.fetch.policy import LOCAL
from servers import environment, parley_serve, real_site
from sites import Answer, card, catalog, entry, served

FIRST = "/.well-known/mcp/server-card.json"
SECOND = "/mcp/server-card"
CATALOG = "/.well-known/ai-catalog.json"

DELAY = 0.1


def main() -> None:
    for title, rows in (
        (
            "Critical path: every answer takes 100 ms (wall time over the dependent round trips; wanted <= 1.25)",
            discovery(),
        ),
        ("CPU of the command line (wanted: start < 150 ms; audit < 80 ms beyond importing requests)", cpu()),
        ("Peak memory of a whole audit (wanted: < 64 MB for floods and bombs, < 96 MB for the worst)", memory()),
        ("A stored report from the local server (wanted: median < 5 ms)", stored()),
    ):
        print(f"\n{title}", flush=True)
        for name, value in rows:
            print(f"  {name:<58} {value}", flush=True)


def discovery() -> Iterator[tuple[str, str]]:
    walks: list[tuple[str, int, dict[str, Answer]]] = [
        ("catalog with an inline card", 1, {CATALOG: catalog(entry(data=card()))}),
        ("catalog with a link", 2, {CATALOG: catalog(entry(url="/c")), "/c": served(card())}),
        ("first reserved location", 2, {FIRST: served(card())}),
        ("second reserved location", 3, {SECOND: served(card())}),
    ]
    for name, trips, answers in walks:
        ratios: list[float] = []
        with real_site(answers, delay=DELAY) as site:
            for _ in range(5):
                began = time.perf_counter()
                audit(site.url, lambda target: Fetcher(target.url, LOCAL))
                ratios.append((time.perf_counter() - began) / (trips * DELAY))
            connections = site.connections / 5
        yield name, f"{statistics.median(ratios):.2f} ({trips} round trips, {connections:.0f} connection)"


def cpu() -> Iterator[tuple[str, str]]:
    bare = _cpu("pass")
    start = _cpu("import parley.cli; parley.cli._parser().format_help()")
    loaded = _cpu("import requests")
    with real_site({FIRST: served(card())}) as site:
        script = f"from parley.cli import main; import contextlib, io\nmain(['audit', {site.url!r}, '--output', '/dev/null'])"
        audited = _cpu(script)
    yield "a bare interpreter", f"{bare * 1000:.0f} ms"
    yield "import parley.cli and --help", f"{start * 1000:.0f} ms ({start / bare:.1f} times a bare interpreter)"
    yield "import requests", f"{loaded * 1000:.0f} ms"
    yield (
        "parley audit of a loopback card",
        f"{audited * 1000:.0f} ms ({(audited - loaded) * 1000:+.0f} ms beyond importing requests)",
    )


def memory() -> Iterator[tuple[str, str]]:
    script = """
import re, resource, sys
from pathlib import Path
from parley.audit import audit
from parley.fetch.client import Fetcher
from parley.fetch.policy import LOCAL, Limits
from parley.render.report_json import encode, report_json
report = audit(sys.argv[1], lambda target: Fetcher(target.url, LOCAL, limits=Limits.for_timeout(2)))
encode(report_json(report))
if sys.platform == "linux":  # where ru_maxrss also counts the process that started this one
    print(int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024)
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    peaks: dict[str, float] = {}
    for name in sorted(hostile.SCENARIOS):
        with hostile.serve(name, conn_seconds=10) as server:
            ended = subprocess.run(
                [sys.executable, "-c", script, server.url],
                env=environment(),
                capture_output=True,
                text=True,
                check=True,
            )
        peaks[name] = int(ended.stdout) / 1024**2
    for name in ("ok", "big-endless", "big-length", "gzip-bomb", "br-bomb", "gzip-nothing"):
        yield name, f"{peaks[name]:.0f} MB"
    worst = max(peaks, key=lambda name: peaks[name])
    yield f"the worst of {len(peaks)}: {worst}", f"{peaks[worst]:.0f} MB"


def stored() -> Iterator[tuple[str, str]]:
    with (
        tempfile.TemporaryDirectory() as folder,
        real_site({FIRST: served(card())}) as site,
        parley_serve(store=Path(folder) / "r") as url,
        requests.Session() as session,
    ):
        session.trust_env = False

        def ask(path: str) -> Callable[[], object]:
            return lambda: session.get(url + path, params={"url": site.url}, timeout=30)

        ask("/v1/audit")()
        health, hit = _median(ask("/healthz")), _median(ask("/v1/audit"))
    yield "GET /healthz", f"{health * 1000:.1f} ms"
    yield "GET /v1/audit, stored", f"{hit * 1000:.1f} ms ({hit / health:.1f} times /healthz)"


def _median(work: Callable[[], object], times: int = 200) -> float:
    taken: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def _cpu(script: str, times: int = 7) -> float:
    """CPU seconds of a new interpreter that runs a script; the best of several, as noise only adds."""
    best = float("inf")
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", script], env=environment(), check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


if __name__ == "__main__":
    main()
