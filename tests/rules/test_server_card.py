"""Every code of ``37A-McpServerCardAuditor``, where it fires and where it must not."""

import dataclasses

import pytest

from parley.evidence import FailureCode
from parley.report import Protocol, State, Status
from parley.rules.server_card import ServerCardRules, is_range
from parley.target import Target
from sites import HOST, Answer, Site, card, catalog, entry, html, numbers, served

AUDITOR = "37A-McpServerCardAuditor"
LOCATION = "/.well-known/mcp/server-card.json"
URL = HOST + LOCATION

# What one card gives, served as it should be unless the case says otherwise: (name, document, codes beside 100).
DOCUMENTS: list[tuple[str, object, list[int]]] = [
    ("the whole card", card(), [200]),
    ("no remotes", card(remotes=...), [200]),
    ("no remotes in an array", card(remotes=[]), [200]),
    ("members nobody knows", card(tools=[{"name": "x"}], serverInfo={}), [200]),
    ("not JSON", b'{"name": ', [401]),
    ("JSON with a comment", b'{"name": "com.example/weather" /* ours */}', [401]),
    ("NaN", b'{"name": NaN}', [401]),
    ("nothing at all", b"", [401]),
    ("an array", [card()], [401]),
    ("a string", "card", [401]),
    ("null", b"null", [401]),
    ("Latin-1", '{"description": "é"}'.encode("latin-1"), [401]),
    ("an empty object", {}, [402, 404, 406, 408]),
    ("no $schema", card(schema_=...), [402]),
    ("null $schema", card(schema_=None), [402]),
    ("empty $schema", card(schema_=""), [403]),
    (
        "$schema of a date",
        card(schema_="https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"),
        [403],
    ),
    (
        "$schema with a fragment",
        card(schema_="https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json#"),
        [403],
    ),
    (
        "$schema over http",
        card(schema_="http://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"),
        [403],
    ),
    ("$schema is a number", card(schema_=1), [403]),
    ("$schema is an object", card(schema_={}), [403]),
    ("no name", card(name=...), [404]),
    ("null name", card(name=None), [404]),
    ("empty name", card(name=""), [405]),
    ("name is a number", card(name=7), [405]),
    ("name is a list", card(name=["com.example/weather"]), [405]),
    ("name without a slash", card(name="weather"), [405]),
    ("name with two slashes", card(name="com.example/weather/v2"), [405]),
    ("name with nothing before the slash", card(name="/weather"), [405]),
    ("name with nothing behind the slash", card(name="com.example/"), [405]),
    ("name with a space", card(name="com.example/my weather"), [405]),
    ("name with a newline at its end", card(name="com.example/weather\n"), [405]),
    ("name with an underscore before the slash", card(name="com_example/weather"), [405]),
    ("name with an underscore behind it", card(name="com.example/my_weather"), [200]),
    ("name without a dot", card(name="example-org/weather"), [200]),
    ("the shortest name", card(name="a/b"), [200]),
    ("a name of 200 characters", card(name="a/" + "b" * 198), [200]),
    ("a name of 201 characters", card(name="a/" + "b" * 199), [405]),
    ("no version", card(version=...), [406]),
    ("null version", card(version=None), [406]),
    ("blank version", card(version="  "), [406]),
    ("version is a number", card(version=1.0), [406]),
    ("version is a range", card(version="^1.2.3"), [407]),
    ("version is a word", card(version="latest"), [200]),
    ("version is a date", card(version="2026-07-28"), [200]),
    ("no description", card(description=...), [408]),
    ("null description", card(description=None), [408]),
    ("empty description", card(description=""), [408]),
    ("blank description", card(description=" \t"), [408]),
    ("long blank description", card(description=" " * 101), [408]),
    ("description is a list", card(description=["Forecasts"]), [408]),
    ("a description of 100 characters", card(description="é" * 100), [200]),
    ("a description of 100 characters outside the first plane", card(description="🌦" * 100), [200]),
    ("a description of 101 characters", card(description="é" * 101), [409]),
    ("an sse remote", card(remotes=[{"type": "sse", "url": "https://weather.example/sse"}]), [200]),
    ("a remote of another type", card(remotes=[{"type": "http", "url": "https://weather.example/mcp"}]), [410]),
    (
        "a remote's type in other letters",
        card(remotes=[{"type": "Streamable-HTTP", "url": "https://w.example"}]),
        [410],
    ),
    ("a remote without a type", card(remotes=[{"url": "https://weather.example/mcp"}]), [410]),
    ("a remote's type is a list", card(remotes=[{"type": ["sse"], "url": "https://weather.example/mcp"}]), [410]),
    ("a remote that is no object", card(remotes=["https://weather.example/mcp"]), [410]),
    ("a remote that is null", card(remotes=[None]), [410]),
    ("remotes is an object", card(remotes={"type": "sse", "url": "https://weather.example/mcp"}), [410]),
    ("remotes is null", card(remotes=None), [410]),
    ("a remote without a url", card(remotes=[{"type": "sse"}]), [411]),
    ("a remote's url is relative", card(remotes=[{"type": "sse", "url": "/mcp"}]), [411]),
    ("a remote's url of another scheme", card(remotes=[{"type": "sse", "url": "wss://weather.example/mcp"}]), [411]),
    ("a remote's url is a number", card(remotes=[{"type": "sse", "url": 80}]), [411]),
    ("a remote's url over http", card(remotes=[{"type": "sse", "url": "http://weather.example/mcp"}]), [200]),
    ("a remote's url starts with a variable", card(remotes=[{"type": "sse", "url": "{base_url}/mcp"}]), [200]),
    ("a remote's url has a variable in it", card(remotes=[{"type": "sse", "url": "https://{host}/mcp"}]), [200]),
    ("a remote's url starts with empty braces", card(remotes=[{"type": "sse", "url": "{}/mcp"}]), [411]),
    ("a remote with neither", card(remotes=[{}]), [410, 411]),
    (
        "every remote counts",
        card(remotes=[{"type": "sse", "url": "https://a.example"}, {"type": "x", "url": "y"}, 3]),
        [410, 410, 411],
    ),
    (
        "a SEP-1649 card",
        {"serverInfo": {"name": "w", "version": "1"}, "transport": {"type": "http"}},
        [402, 404, 406, 408],
    ),
]


@pytest.mark.parametrize(("document", "codes"), [case[1:] for case in DOCUMENTS], ids=[case[0] for case in DOCUMENTS])
def test_document(document: object, codes: list[int]) -> None:
    report = Site({LOCATION: served(document)}).audit()
    assert numbers(report, AUDITOR) == [100, *codes]


@pytest.mark.parametrize("document", [case[1] for case in DOCUMENTS if not isinstance(case[1], bytes)])
def test_inline_card_is_judged_alike(document: object) -> None:
    if document is None:
        return
    over_http = numbers(Site({LOCATION: served(document)}).audit(), AUDITOR)
    inline = Site({"/.well-known/ai-catalog.json": catalog(entry(data=document))})
    assert numbers(inline.audit(), AUDITOR) == over_http
    assert inline.asked == [f"{HOST}/.well-known/ai-catalog.json"]


# What the response does, with a valid card in it: (name, answer, codes beside 100).
RESPONSES: list[tuple[str, Answer, list[int]]] = [
    ("type with a parameter", served(card(), content_type="application/mcp-server-card+json; charset=utf-8"), [200]),
    ("type in capitals", served(card(), content_type="Application/MCP-Server-Card+JSON"), [200]),
    ("type is JSON", served(card(), content_type="application/json"), [300]),
    ("type is HTML, the body a card", served(card(), content_type="text/html"), [300]),
    ("no type", served(card(), content_type=None), [300]),
    ("a longer type", served(card(), content_type="application/mcp-server-card+json-seq"), [300]),
    ("no CORS header", served(card(), access_control_allow_origin=None), [412]),
    ("an empty CORS header", served(card(), access_control_allow_origin=""), [412]),
    ("a CORS header for another origin", served(card(), access_control_allow_origin="https://app.example"), [200]),
    ("neither type nor CORS", served(card(), content_type=None, access_control_allow_origin=None), [300, 412]),
    ("HTML gets no advice on its headers", html(), [401]),
]


@pytest.mark.parametrize(("answer", "codes"), [case[1:] for case in RESPONSES], ids=[case[0] for case in RESPONSES])
def test_response(answer: Answer, codes: list[int]) -> None:
    assert numbers(Site({LOCATION: answer}).audit(), AUDITOR) == [100, *codes]


HTTP = "http://weather.example"


@pytest.mark.parametrize(
    ("asked", "answers", "codes"),
    [
        pytest.param(HTTP, {HTTP + LOCATION: served(card())}, [413], id="http"),
        pytest.param(
            HTTP,
            {HTTP + LOCATION: dataclasses.replace(served(card()), final_url=URL)},
            [200],
            id="an http origin that redirects to https",
        ),
        pytest.param(
            HOST,
            {LOCATION: dataclasses.replace(served(card()), final_url=HTTP + LOCATION)},
            [413],
            id="https that ends at http",
        ),
        pytest.param(
            HOST,
            {
                "/.well-known/ai-catalog.json": catalog(entry(url=f"{HTTP}/card")),
                f"{HTTP}/card": dataclasses.replace(served(card()), final_url=f"{HOST}/card"),
            },
            [413],
            id="a catalog link by http, though it redirects",
        ),
        pytest.param(
            HTTP,
            {
                f"{HTTP}/.well-known/ai-catalog.json": catalog(entry(url="/card")),
                f"{HTTP}/card": dataclasses.replace(served(card()), final_url=f"{HOST}/card"),
            },
            [200],
            id="a relative link in a catalog over http, which redirects",
        ),
        pytest.param(
            "http://localhost:8000", {f"http://localhost:8000{LOCATION}": served(card())}, [200], id="localhost"
        ),
        pytest.param(
            "http://127.0.0.1:8000", {f"http://127.0.0.1:8000{LOCATION}": served(card())}, [200], id="127.0.0.1"
        ),
        pytest.param("http://[::1]:8000", {f"http://[::1]:8000{LOCATION}": served(card())}, [200], id="::1"),
        pytest.param("http://10.0.0.1", {f"http://10.0.0.1{LOCATION}": served(card())}, [413], id="a private address"),
    ],
)
def test_https(asked: str, answers: dict[str, Answer], codes: list[int]) -> None:
    assert numbers(Site(answers).audit(asked), AUDITOR) == [100, *codes]


RANGES = """\
^1.2.3
~1.2.3
>=1.2.3
>= 1.2.3
>1
> 1.0
<2.0
<=2.0.0
~>1.2
~=1.4
!=1.3
^1
~1
>=v1.2.3
≥1.2
1.x
1.X
1.*
1.2.x
1.2.*
v1.x
1.x.x
*
x
X
1.+
1.2.3 - 2.3.4
1.x - 2.x
>=1.0, <2.0
>=1.0,<2.0
1.0, 1.1
1, 2
1.2.3, 2
1 2
1.2.3 || latest
latest || 1.x
1.0,1.1,1.2
>=1.2.3 <2.0.0
1.0 <2.0
1.2.3 1.2.4
1.0.0 || 2.0.0
1.0.0||2.0.0
^1 || ^2
1.x || >=2.5.0 || 5.0.0 - 7.2.3
[1.0,2.0)
[1.0,)
(,2.0]
""".splitlines()

SINGLES = """\
1.0.0
1.2
1
v1.2.3
=1.2.3
1.2.3-alpha.1
1.2.3+build.5
1.2.3-rc.1+exp.sha.5114f85
1.0.0-2.0.0
1.0.0-x.7.z.92
0.1.0-SNAPSHOT
3.1.4-1ubuntu2
latest
stable
main
beta
2026-07-28
2026.11.30
20261130
2026-07-28 12:00
November 30, 2026
30 Nov 2026
2.x-branch
1.0-x
x86
xyz
r1234
a*b
~alpha
>foo
^_^
1.0.0 beta
1.0 (build 7)
version 1.2.3
Release 4 - final
nightly-2026-11-30
1.2.3~1
1.0~20240101
2024.01.05 2024.02.01
2026 11 30
1.0.0 2026-07-28
1.0.0 2026
""".splitlines()


@pytest.mark.parametrize("version", RANGES)
def test_range(version: str) -> None:
    assert is_range(version)
    assert is_range(f" {version} ")


@pytest.mark.parametrize("version", SINGLES)
def test_single_version(version: str) -> None:
    assert not is_range(version)


def test_range_is_told_in_linear_time() -> None:
    for hostile in (
        "1." * 100_000,
        "1 " * 100_000,
        "1 ||" * 100_000,
        ">=" * 100_000,
        " " * 100_000,
        "1.x." * 60,
        "1, " * 80,
    ):
        is_range(hostile)


def test_texts_of_every_code() -> None:
    """The recommendations, with their places filled in."""
    document = card(
        schema_="https://other.example/schema.json",
        name="weather",
        version="^1.2.3",
        description="d" * 120,
        remotes=[{"type": "stdio", "url": "weather.example/mcp"}, "x"],
    )
    catalogued = catalog(entry(url="http://weather.example/card"))
    answers = {
        "/.well-known/ai-catalog.json": catalogued,
        "http://weather.example/card": served(
            document, content_type="application/json", access_control_allow_origin=None
        ),
    }
    advice = _advice(Site(answers).audit())
    at = "http://weather.example/card"
    assert advice == {
        100: "This auditor implements MCP Server Card v1; documents must set $schema to "
        "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json. "
        "Schema pin 92999cb3f5d82e648385cb92ce41ed9aa1386eda.",
        300: f'Serve {at} with Content-Type application/mcp-server-card+json instead of "application/json".',
        403: 'Replace "https://other.example/schema.json" with the v1 server-card.schema.json URL.',
        405: "Change weather to namespace/name, e.g. com.example/weather.",
        407: "Replace ^1.2.3 on weather with a single version such as 1.0.0.",
        409: "Shorten the description of weather from 120 to at most 100 characters.",
        410: 'Set remotes[0].type on weather to streamable-http or sse instead of "stdio".',
        411: 'Change remotes[0].url on weather from "weather.example/mcp" to an http(s) URL or a {template} URL.',
        412: f"Add Access-Control-Allow-Origin: * on {at}.",
        413: f"Serve {at} over https instead of http.",
    }
    assert _advice(Site({LOCATION: served({})}).audit()) == {
        100: advice[100],
        402: f"Set $schema to https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json on {URL}.",
        404: f"Set name in reverse-DNS form (e.g. com.example/weather) on the card at {URL}.",
        406: f"Set version on {URL} (e.g. 1.0.0); do not use ranges.",
        408: f"Add a 1-100 character description to {URL}.",
    }
    assert _advice(Site({LOCATION: served([])}).audit())[401] == f"Serve a JSON Server Card at {URL}."
    assert _advice(Site({}).audit())[400] == (
        f"Publish a Server Card at {HOST}/mcp/server-card or {HOST}/.well-known/mcp/server-card.json, "
        f"or list its URL in {HOST}/.well-known/ai-catalog.json."
    )


def test_observed_is_missing_where_there_is_nothing() -> None:
    report = Site({LOCATION: served(card(remotes=[{}]), content_type=None)}).audit()
    advice = _advice(report)
    assert advice[300].endswith("instead of (missing).")
    assert advice[410].endswith("instead of (missing).")
    assert " from (missing) to " in advice[411]


def test_success_message() -> None:
    report = Site({LOCATION: served(card())}).audit()
    assert [check.message for check in report.auditors[0].checks][1] == (
        f'Server Card "com.example/weather" 1.4.0 at "{URL}" is valid.'
    )


def test_inline_card_is_named_by_its_place() -> None:
    other = {"identifier": "urn:x", "type": "application/a2a-agent-card+json", "url": "https://a.example"}
    report = Site({"/.well-known/ai-catalog.json": catalog(other, entry(data={}))}).audit()
    assert {check.data.get("cardUrl") for check in report.auditors[0].checks} == {
        None,
        f"{HOST}/.well-known/ai-catalog.json#/entries/1/data",
    }


def test_implementation_is_always_stated() -> None:
    for report in (Site({}).audit(), Site({LOCATION: served(card())}).audit(), Site({}).audit("ftp://weather.example")):
        check = report.auditors[0].checks[0]
        assert (check.code, check.status) == (f"{AUDITOR}-100", Status.INFORMATION)
        assert "MCP Server Card v1 (27 Jun 2026)" in check.message
        assert "92999cb3f5d82e648385cb92ce41ed9aa1386eda" in check.message
        assert check.data == {
            "specification": "MCP Server Card v1 (27 Jun 2026)",
            "schemaUrl": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
            "commit": "92999cb3f5d82e648385cb92ce41ed9aa1386eda",
        }


def test_every_code_is_in_exactly_one_list() -> None:
    sites = [
        Site({}),
        Site({LOCATION: served(card())}),
        Site({LOCATION: html()}),
        Site({LOCATION: served({})}),
        Site({"/.well-known/ai-catalog.json": catalog(entry(data=card()))}),
        Site({LOCATION: Answer(failure=(FailureCode.TIMEOUT, "timed out after 8 s"))}),
        Site({"/.well-known/ai-catalog.json": Answer(failure=(FailureCode.BUDGET, "was not asked"))}),
    ]
    every = {ServerCardRules.code(row) for row, _ in ServerCardRules.rules()}
    for site in sites:
        auditor = site.audit().auditors[0]
        lists = [
            {check.code for check in auditor.checks},
            set(auditor.passed),
            set(auditor.not_applicable),
            {one.code for one in auditor.untested},
        ]
        assert set().union(*lists) == every
        assert sum(map(len, lists)) == len(every)


def test_every_rule_fires_and_passes_somewhere() -> None:
    """The two sides of each rule, by what the cases above came to."""
    fired: set[int] = set()
    passed: set[int] = set()
    reports = [Site({LOCATION: served(document)}).audit() for _, document, _ in DOCUMENTS]
    reports += [Site({LOCATION: answer}).audit() for _, answer, _ in RESPONSES]
    reports += [Site({}).audit(), Site({HTTP + LOCATION: served(card())}).audit(HTTP)]
    for report in reports:
        fired |= set(numbers(report, AUDITOR))
        passed |= {int(code.rpartition("-")[2]) for code in report.auditors[0].passed}
        passed |= {200} - set(numbers(report, AUDITOR))  # nothing to report is no pass, but it did not fire
    every = {row.number for row, _ in ServerCardRules.rules()}
    assert fired == every
    assert passed == every - {100}  # which fires always


def test_several_cards_are_each_judged() -> None:
    answers = {
        "/.well-known/ai-catalog.json": catalog(entry(url="/a"), entry(url="/b"), entry(data=card(version=...))),
        "/a": served(card()),
        "/b": served(card(name="nope")),
    }
    report = Site(answers).audit()
    checks = {(int(c.code.rpartition("-")[2]), c.data.get("cardUrl")) for c in report.auditors[0].checks}
    assert checks == {
        (100, None),
        (200, f"{HOST}/a"),
        (405, f"{HOST}/b"),
        (406, f"{HOST}/.well-known/ai-catalog.json#/entries/2/data"),
    }
    assert report.protocols[Protocol.SERVER_CARD].state is State.CONFIRMED
    assert report.status is Status.FAIL


def test_rows_are_bounded() -> None:
    report = Site({LOCATION: served(card(remotes=[{}] * 3000))}).audit()
    rows = [check for check in report.auditors[0].checks if check.code.endswith("-410")]
    assert len(rows) == 50
    assert rows[-1].message.endswith("(and 2950 more like this)")


def test_a_stranger_s_values_are_cut_and_cleaned() -> None:
    nasty = "\x1b[31m\u202e<script>" + "x" * 5000
    document = card(name=nasty, version=nasty, schema_=nasty, remotes=[{"type": nasty, "url": nasty}])
    for check in Site({LOCATION: served(document, content_type="a\tb" + "y" * 900)}).audit().auditors[0].checks:
        for text in (check.message, check.recommendation, *map(str, check.data.values())):
            assert len(text) < 1000
            assert text.isprintable()
            assert "x" * 201 not in text


def test_a_crash_is_contained(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def broken(self: object, served: object) -> None:
        raise RuntimeError("no")

    broken.row = ServerCardRules.check_rule_cors.row  # type: ignore[attr-defined]
    monkeypatch.setattr(ServerCardRules, "check_rule_cors", broken)
    report = Site({LOCATION: served(card(), content_type="text/plain")}).audit()
    auditor = report.auditors[0]
    assert [(one.code, one.reason) for one in auditor.untested] == [(f"{AUDITOR}-412", "internal error")]
    assert numbers(report, AUDITOR) == [100, 300]
    assert "a rule crashed" in caplog.text


def test_target_of_the_evidence_is_kept() -> None:
    assert Site({}).gather("HTTPS://Weather.Example:443/x/../").target == Target.parse(HOST)


def _advice(report: object) -> dict[int, str]:
    """Recommendations by number; the first of each."""
    advice: dict[int, str] = {}
    for check in report.auditors[0].checks:  # type: ignore[attr-defined]
        advice.setdefault(int(check.code.rpartition("-")[2]), check.recommendation)
    return advice
