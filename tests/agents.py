"""A2A agents that are not there: cards of each version with nothing wrong with them, and a site that serves them."""

from collections.abc import Iterable, Mapping

from parley.documents import agent_card
from parley.documents.agent_card import Purpose
from parley.evidence import Exchange, Request
from parley.report import AuditorReport, Report
from sites import HOST, NOTHING, Answer, Site

AUDITOR = "PARLEY-A2aAgentCardAuditor"

CURRENT = HOST + agent_card.CURRENT
LEGACY = HOST + agent_card.LEGACY
CATALOG = f"{HOST}/.well-known/ai-catalog.json"
CARD_TYPE = "application/a2a-agent-card+json"
ENDPOINT = f"{HOST}/a2a"

JSON = {
    "content-type": "application/json",
    "access-control-allow-origin": "*",
    "cache-control": "max-age=3600",
    "etag": '"1.4.0"',
}

SKILL: dict[str, object] = {
    "id": "forecast",
    "name": "Forecast",
    "description": "The forecast for a place.",
    "tags": ["weather"],
}
_ANY: dict[str, object] = {
    "name": "Weather",
    "description": "Says what the weather will be.",
    "version": "1.4.0",
    "capabilities": {"streaming": True},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain", "application/json"],
    "skills": [SKILL],
    "provider": {"organization": "Weather Ltd", "url": "https://weather.example/"},
}
_ONE = {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}
_ZERO = {"type": "apiKey", "in": "header", "name": "X-Key"}
_IN_1: dict[str, object] = {
    "supportedInterfaces": [{"url": ENDPOINT, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
    "securityRequirements": [{"schemes": {"key": {"list": []}}}],
}
_IN_0: dict[str, object] = {
    "protocolVersion": "0.3.0",
    "url": ENDPOINT,
    "preferredTransport": "JSONRPC",
    "security": [{"key": []}],
}

V1: dict[str, object] = _ANY | _IN_1 | {"securitySchemes": {"key": _ONE}}
V0_3: dict[str, object] = _ANY | _IN_0 | {"securitySchemes": {"key": _ZERO}}
V0_2: dict[str, object] = {name: value for name, value in V0_3.items() if name != "preferredTransport"} | {
    "protocolVersion": "0.2.6"
}
EARLY: dict[str, object] = {name: value for name, value in V0_2.items() if name != "protocolVersion"}
HYBRID: dict[str, object] = _ANY | _IN_1 | _IN_0 | {"securitySchemes": {"key": _ONE | _ZERO}}


def changed(card: Mapping[str, object], **changes: object) -> dict[str, object]:
    """A card with members changed, or removed where the value is ``...``."""
    return {name: value for name, value in (dict(card) | changes).items() if value is not ...}


def skill(**changes: object) -> dict[str, object]:
    return changed(SKILL, **changes)


def interface(**changes: object) -> dict[str, object]:
    listed = V1["supportedInterfaces"]
    assert isinstance(listed, list)
    return changed(listed[0], **changes)


def served(card: object, **headers: str | None) -> Answer:
    """A card served as it should be; ``headers`` (with underscores) replace or, if None, remove those it comes with."""
    sent = dict(JSON) | {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(body=card, headers={name: value for name, value in sent.items() if value is not None})


def error(code: int, message: str) -> Answer:
    return Answer(
        body={"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message}},
        headers={"content-type": "application/json"},
    )


class AgentSite(Site):
    """A site whose agent has no extended card, and knows no version but its own; ``live`` answers otherwise."""

    def __init__(
        self, answers: Mapping[str, Answer], *, live: Mapping[Purpose, Answer] | None = None, default: Answer = NOTHING
    ) -> None:
        super().__init__(answers, default=default)
        self.live = {
            Purpose.EXTENDED: error(-32004, "Unsupported operation"),
            Purpose.NO_VERSION: error(-32009, "Version not supported"),
        } | dict(live or {})

    def __call__(self, request: Request) -> Exchange:
        if request.purpose not in self.live:
            return super().__call__(request)
        self.requests.append(request)
        return Site({str(request.url): self.live[Purpose(request.purpose)]})(request)

    @property
    def agents(self) -> list[Request]:
        """The requests of the A2A probe."""
        return [one for one in self.requests if one.purpose in set(Purpose)]


def site(card: object, **headers: str | None) -> AgentSite:
    """A site with this card at the current path."""
    return AgentSite({CURRENT: served(card, **headers)})


def auditor(report: Report) -> AuditorReport:
    return next(one for one in report.auditors if one.name == AUDITOR)


def numbered(report: AuditorReport) -> list[int]:
    """The numbers of its Checks."""
    return [int(one.code.rpartition("-")[2]) for one in report.checks]


def faults(report: AuditorReport) -> list[int]:
    """The numbers of its warnings and faults."""
    return [number for number in numbered(report) if number >= 300]


def message(report: AuditorReport, number: int) -> str:
    """The first Check of this number, as it is worded."""
    return next(one.message for one in report.checks if one.code.endswith(f"-{number}"))


NASTY: list[object] = [
    None,
    True,
    0,
    -1.5,
    "",
    "\x1b[31m\u202e",
    "x" * 3000,
    "http://" + "[" * 500,
    "//",
    ":",
    [],
    [None],
    [[]],
    {},
    {"": None},
    {"name": None},
    {"a": {"b": []}},
]
"""Values that stand where others are meant to."""


def assert_harmless(report: AuditorReport, told: object) -> None:
    """No rule crashed, and what is shown is clean and cut."""
    assert not [one for one in report.untested if one.reason == "internal error"], told
    for check in report.checks:
        assert check.message.isprintable(), told
        assert "x" * 201 not in check.message, told


def fired_and_passed(reports: Iterable[AuditorReport]) -> tuple[set[int], set[int]]:
    """The numbers of the rules that fired in any of the reports, and of those that passed in any."""
    fired: set[int] = set()
    passed: set[int] = set()
    for report in reports:
        fired |= {int(check.code.rpartition("-")[2]) for check in report.checks}
        passed |= {int(code.rpartition("-")[2]) for code in report.passed}
    return fired, passed
