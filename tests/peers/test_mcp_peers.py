"""The MCP server auditor against servers on the official SDKs, of both eras and all transports."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping

import pytest

from mcp_servers import TOOL, SseServer, dual
from parley.audit import gather, judge
from parley.documents.mcp_plan import Purpose
from parley.evidence import Evidence
from parley.fetch.client import Fetcher
from parley.fetch.policy import LOCAL
from parley.render.report_json import report_json
from parley.report import Protocol, Report, State
from peers.environments import HERE, node_modules, python, running
from sites import HOST, Site, numbers

AUDITOR = "PARLEY-McpServerAuditor"


@pytest.fixture(scope="module")
def mcp2() -> Iterator[Mapping[str, str]]:
    modes = ("stateful", "stateless", "json", "open", "cache", "unstable", "sse")
    with running(python("mcp2"), HERE / "mcp2" / "servers.py", *modes) as listening:
        yield listening


@pytest.fixture(scope="module")
def mcp1() -> Iterator[Mapping[str, str]]:
    modes = ("stateful", "stateless", "json", "open", "sse")
    with running(python("mcp1"), HERE / "mcp1" / "servers.py", *modes) as listening:
        yield listening


@pytest.fixture(scope="module")
def typescript() -> Iterator[Mapping[str, str]]:
    modules = node_modules("typescript")
    modes = ("stateful", "stateless", "json", "plain", "sse")
    with running(_node(), HERE / "typescript" / "servers.mjs", modules, *modes) as listening:
        yield listening


def _node() -> str:
    node = shutil.which("node")
    assert node is not None
    return node


def everything(transport: str) -> tuple[str, ...]:
    package = node_modules("typescript") / "@modelcontextprotocol" / "server-everything"
    return (
        _node(),
        "--require",
        str(HERE / "typescript" / "loopback.cjs"),
        str(package / "dist" / "index.js"),
        transport,
    )


def audited(endpoint: str) -> tuple[Evidence, Report]:
    evidence = gather(endpoint, lambda target: Fetcher(target.url, LOCAL))
    return evidence, judge(evidence)


def found(report: Report) -> list[int]:
    """Codes beyond the ones that only describe."""
    return [code for code in numbers(report, AUDITOR) if code not in (100, 101, 102, 103, 104)]


# (mode, era, version, codes beside the describing ones)
MCP2 = [
    ("stateful", "dual", "2026-07-28", [200]),
    ("stateless", "dual", "2026-07-28", [200]),
    ("json", "dual", "2026-07-28", [200]),
    ("open", "dual", "2026-07-28", [105, 200]),
    ("cache", "dual", "2026-07-28", [200]),
    ("unstable", "dual", "2026-07-28", [150, 350]),
    ("sse", "legacy", "2025-11-25", [111, 200]),
]


@pytest.mark.parametrize(("mode", "era", "version", "codes"), MCP2)
def test_python_2(mcp2: Mapping[str, str], mode: str, era: str, version: str, codes: list[int]) -> None:
    check(mcp2[mode], era, version, codes, {"name": "weather", "version": "1.4.0"})


# Of servers on the SDK without a version of their own, the version is the SDK's.
MCP1 = [
    ("stateful", "2025-11-25", [200]),
    ("stateless", "2025-11-25", [200]),
    ("json", "2025-11-25", [200]),
    ("open", "2025-11-25", [105, 200]),
    ("sse", "2025-11-25", [111, 200]),
]


@pytest.mark.parametrize(("mode", "version", "codes"), MCP1)
def test_python_1(mcp1: Mapping[str, str], mode: str, version: str, codes: list[int]) -> None:
    check(mcp1[mode], "legacy", version, codes, {"name": "weather", "version": "1.30.0"})


TYPESCRIPT = [
    ("stateful", "2025-11-25", [105, 110, 200]),
    ("stateless", "2025-11-25", [105, 110, 200]),
    ("json", "2025-11-25", [105, 110, 200]),
    ("plain", "2025-11-25", [105, 110, 200]),
    ("sse", "2025-11-25", [110, 111, 200]),
]


@pytest.mark.parametrize(("mode", "version", "codes"), TYPESCRIPT)
def test_typescript(typescript: Mapping[str, str], mode: str, version: str, codes: list[int]) -> None:
    check(typescript[mode], "legacy", version, codes, {"name": "weather", "version": "1.4.0"})


def test_everything() -> None:
    with running(*everything("streamableHttp")) as listening:
        _, report = audited(f"{listening['endpoint']}/mcp")
    mcp = report.protocols[Protocol.MCP]
    assert (mcp.state, mcp.details["era"], mcp.details["protocolVersion"]) == (State.CONFIRMED, "legacy", "2025-11-25")
    assert found(report) == [105, 110, 383]  # it answers 400 to an unknown session


def test_everything_by_sse() -> None:
    with running(*everything("sse")) as listening:
        _, report = audited(listening["endpoint"])
    mcp = report.protocols[Protocol.MCP]
    assert (mcp.state, mcp.details["transport"], mcp.details["protocolVersion"]) == (
        State.CONFIRMED,
        "http+sse",
        "2025-11-25",
    )
    assert found(report) == [110, 111, 200]
    assert tools(report) > 5


def tools(report: Report) -> int:
    """How many tools the report counts."""
    checks = (one for auditor in report.auditors for one in auditor.checks)
    (count,) = (one.data["count"] for one in checks if one.code == f"{AUDITOR}-103")
    assert isinstance(count, int)
    return count


def check(endpoint: str, era: str, version: str, codes: list[int], server: Mapping[str, str]) -> None:
    evidence, report = audited(endpoint)
    mcp = report.protocols[Protocol.MCP]
    assert mcp.state is State.CONFIRMED
    assert mcp.conclusive
    transport = "http+sse" if endpoint.endswith("/sse") else "streamable-http"
    stated = {name: mcp.details[name] for name in ("endpoint", "era", "protocolVersion", "transport", "server")}
    assert stated == {
        "endpoint": endpoint,
        "era": era,
        "protocolVersion": version,
        "transport": transport,
        "server": server,
    }
    if transport == "http+sse":  # whose messages go elsewhere
        assert not [fact for fact in mcp.because if fact.startswith(f"POST {endpoint} answered initialize")]
        assert [fact for fact in mcp.because if " answered initialize with version " in fact]
    assert found(report) == codes
    auditor = next(one for one in report.auditors if one.name == AUDITOR)
    assert not auditor.untested
    assert not any(exchange.failure for exchange in evidence.exchanges)
    # The sessions that were opened are closed.
    sessions = [one for one in evidence.exchanges if one.method == "DELETE"]
    assert all(one.status in (200, 202, 204) for one in sessions)
    assert judge(Evidence.from_json(json.loads(json.dumps(evidence.to_json())))) == report
    json.dumps(report_json(report))


def test_the_bare_origin_is_enough(mcp2: Mapping[str, str], mcp1: Mapping[str, str]) -> None:
    for endpoint in (mcp2["json"], mcp1["sse"]):
        _, report = audited(endpoint.rpartition("/")[0])
        assert report.protocols[Protocol.MCP].details["endpoint"] == endpoint


def test_the_slash_form_is_told_as_a_redirect(mcp2: Mapping[str, str]) -> None:
    _, report = audited(mcp2["json"] + "/")
    assert report.protocols[Protocol.MCP].details["endpoint"] == mcp2["json"]
    assert 490 in numbers(report, AUDITOR)


def test_what_is_sent_is_what_the_official_types_say() -> None:
    """But for the steps that are wrong on purpose."""
    names = ("tools", "prompts", "resources")
    pages = {f"{name}/list": [[{"name": "a", "uri": "x:y"}], [{"name": "b", "uri": "x:z"}]] for name in names}
    server = dual(capabilities={name: {} for name in names}, lists=pages | {"resources/templates/list": [[]]})
    Site({}, mcp={f"{HOST}/mcp": server}).gather(f"{HOST}/mcp")
    by_sse = SseServer(lists={"tools/list": [[TOOL], [TOOL]]})
    by_sse.site().gather(f"{HOST}/sse")
    wrong = (Purpose.WITHOUT_CAPABILITIES, Purpose.LEGACY_BATCH)
    sent = [request for request in (*server.seen, *by_sse.seen) if request.body and request.purpose not in wrong]
    assert len(sent) >= 40
    ended = subprocess.run(
        [python("mcp2"), HERE / "mcp2" / "check_requests.py"],
        input=b"\n".join(request.body or b"" for request in sent),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert ended.stdout.decode() == ""
