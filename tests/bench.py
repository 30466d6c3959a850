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
from mcp_servers import TOOL, dual, legacy, modern
from mcp_site import mcp_site
from parley.audit import ORIGIN, audit
from parley.fetch.client import Fetcher
from parley.fetch.policy import LOCAL
from parley.probes import server_card
from parley.target import Target
from peers.environments import HERE, python, running
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
        (
            "MCP endpoints: every answer takes 100 ms (wall time over max(chain, requests / 4); wanted <= 1.3)",
            endpoints(),
        ),
        ("CPU of the command line (wanted: start < 150 ms; audit < 80 ms beyond importing requests)", cpu()),
        ("A2A: a whole process that audits a loopback agent on the official SDK (wanted: Parley < 0.35 s)", a2a()),
        ("Peak memory of a whole audit (wanted: < 64 MB for floods and bombs, < 96 MB for the worst)", memory()),
        ("A stored report from the local server (wanted: median < 5 ms)", stored()),
        ("Cold start: process start to first answer, under Lambda's runtime client (wanted: ratio <= 1.15)", cold()),
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
                with Fetcher(Target.parse(site.url).url, LOCAL) as fetch:
                    fetch.admit()
                    list(server_card.gather(Target.parse(site.url), fetch, ORIGIN))
                ratios.append((time.perf_counter() - began) / (trips * DELAY))
            connections = site.connections / 5
        yield name, f"{statistics.median(ratios):.2f} ({trips} round trips, {connections:.0f} connection)"


def endpoints() -> Iterator[tuple[str, str]]:
    """Wall time over the larger of the longest chain of dependent requests and the requests divided by four."""
    lists: dict[str, list[list[object]]] = {
        f"{one}/list": [[]] for one in ("prompts", "resources", "resources/templates")
    }
    # The chain: the greeting, the lists; a session is opened and ended besides. By its bare origin, a server is known to
    # be the one only when three places have shown no card, and what is left is asked after that.
    kinds = (("modern", modern, 2, 4), ("legacy", legacy, 4, 5), ("dual", dual, 4, 5))
    for name, kind, chain, is_bare in [
        (name, kind, max(bare if is_bare else given, 3), is_bare)
        for name, kind, given, bare in kinds
        for is_bare in (False, True)
    ]:
        ratios: list[float] = []
        requests_made = connections = 0
        for _ in range(5):
            offers = {"tools": {}, "prompts": {}, "resources": {}}
            server = kind(capabilities=offers, lists=lists | {"tools/list": [[TOOL]]})
            with mcp_site(server, delay=DELAY) as site:
                began = time.perf_counter()
                asked = site.endpoint.removesuffix("/mcp") if is_bare else site.endpoint
                report = audit(asked, lambda target: Fetcher(target.url, LOCAL))
                taken = time.perf_counter() - began
            requests_made, connections = len(report.attempts), site.connections
            ratios.append(taken / (DELAY * max(chain, requests_made / 4)))
        chained = f"chain of {chain}"
        yield (
            f"a {name} server" + (" by its bare origin" if is_bare else ""),
            f"{statistics.median(ratios):.2f} ({requests_made} requests, {connections} connections, {chained})",
        )


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


def a2a() -> Iterator[tuple[str, str]]:
    """Wall time and CPU beside the public linters', each in turn. They ask less: for one document, and not for MCP."""
    linters = python("linters").parent
    with running(python("a2a1"), HERE / "a2a1" / "servers.py", "v1") as agents:
        url = agents["v1"]
        audits: dict[str, list[list[str | Path]]] = {
            "parley audit, of everything at the URL": [
                [sys.executable, "-m", "parley", "audit", url, "--output", "/dev/null"]
            ],
            "a2a-lint, of the card": [[linters / "a2a-lint", "--json", url]],
            "a2aops, of the card": [[linters / "a2aops", "card", "check", url]],
            "a2aops, of the card, its security and its migration": [
                [linters / "a2aops", *command, url] for command in (("card", "check"), ("auth",), ("compat",))
            ],
        }
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in audits}
        for _ in range(11):
            for name, commands in audits.items():
                taken[name].append(_processes(commands))
    ours = 0.0
    for name, each in taken.items():
        # The first of each reads the disk for those that follow.
        wall, cpu = (statistics.median(values) for values in zip(*each[1:], strict=True))
        ours = ours or wall
        yield name, f"{wall:.2f} s (CPU {cpu:.2f} s); Parley over it {ours / wall:.2f}"


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


BARE = """
import boto3
import requests
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver

app = APIGatewayHttpResolver()
client = boto3.session.Session().client("dynamodb")


def handler(event, context):
    return {"statusCode": 200, "body": "", "headers": {}}
"""


def cold() -> Iterator[tuple[str, str]]:
    """The bundle with a stored report, against a handler that does no more than import what it is built on."""
    from engines import ENVIRONMENT, ministack
    from infra import tools
    from infra.runtime_api import Function, http_event

    query = "url=https://parley-bench.example.com/"
    with tempfile.TemporaryDirectory() as folder, ministack() as endpoint:
        (Path(folder) / "bare.py").write_text(BARE)
        environment = ENVIRONMENT | {"AWS_ENDPOINT_URL": endpoint, "PARLEY_TABLE": "bench", "PYTHONPATH": folder}
        _make_table(endpoint)
        python, bundle = tools.python("runtime"), tools.bundle()

        def start(handler: str) -> tuple[float, float]:
            """Seconds to the first answer, and to the second."""
            with Function(python, bundle, handler=handler, environment=environment) as function:
                first = function.invoke(http_event("GET", "/v1/audit", query=query))
                warm = [function.invoke(http_event("GET", "/v1/audit", query=query)).took for _ in range(20)]
            return first.since_start, statistics.median(warm)

        start("parley.handler.handler")  # makes the report that is stored
        pairs = [(start("bare.handler"), start("parley.handler.handler")) for _ in range(11)]
    bare = [pair[0][0] for pair in pairs]
    ours = [pair[1][0] for pair in pairs]
    ratio = statistics.median(ours) / statistics.median(bare)
    yield (
        "a bare handler (requests, boto3's client, a resolver)",
        f"{statistics.median(bare) * 1000:.0f} ms (best {min(bare) * 1000:.0f})",
    )
    yield "Parley, a stored report", f"{statistics.median(ours) * 1000:.0f} ms (best {min(ours) * 1000:.0f})"
    yield "ratio", f"{ratio:.2f} (of the best {min(ours) / min(bare):.2f})"
    yield (
        "a warm stored report, in the function",
        f"{statistics.median(pair[1][1] for pair in pairs) * 1000:.1f} ms (wanted < 10)",
    )


def _make_table(endpoint: str) -> None:
    import boto3

    from engines import ENVIRONMENT

    client = boto3.client(
        "dynamodb", endpoint_url=endpoint, region_name=ENVIRONMENT["AWS_DEFAULT_REGION"],
        aws_access_key_id="x", aws_secret_access_key="x",
    )  # fmt: skip
    client.create_table(
        TableName="bench",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("origin", "variant")],
        KeySchema=[{"AttributeName": "origin", "KeyType": "HASH"}, {"AttributeName": "variant", "KeyType": "RANGE"}],
    )
    client.close()


def _median(work: Callable[[], object], times: int = 200) -> float:
    taken: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def _processes(commands: list[list[str | Path]]) -> tuple[float, float]:
    """Seconds, of wall time and of CPU, of one process after the other, each of which gets to its findings."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    for command in commands:
        ours = command[0] == sys.executable
        ended = subprocess.run(command, env=environment() if ours else None, capture_output=True)
        if ended.returncode not in (0, 1) or ended.stderr:
            raise RuntimeError(f"{command} came to no findings: {ended.stderr.decode(errors='replace')}")
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _cpu(script: str, times: int = 7) -> float:
    """CPU seconds of a new interpreter that runs a script; the best of several, as noise only adds."""
    best = float("inf")
    cached = environment() | {"PYTHONDONTWRITEBYTECODE": ""}  # as installed: the first run writes the bytecode
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", script], env=cached, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


if __name__ == "__main__":
    main()
