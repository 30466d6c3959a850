"""Sites that are not there: what a door to the network would have brought, from a table."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from parley.audit import gather, judge
from parley.documents.mcp_plan import STEPS
from parley.documents.server_card import Purpose
from parley.evidence import Evidence, Exchange, Failure, FailureCode, Request
from parley.report import Report
from parley.target import Target

CARD_TYPE = "application/mcp-server-card+json"
HOST = "https://weather.example"

VALID_CARD: dict[str, object] = {
    "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
    "name": "com.example/weather",
    "version": "1.4.0",
    "description": "Forecasts and warnings for any place.",
    # With a variable in it, the remote is no place to look for a server at.
    "remotes": [
        {
            "type": "streamable-http",
            "url": "https://{region}.weather.example/mcp",
            "variables": {"region": {"description": "Where the data is kept.", "default": "eu"}},
        }
    ],
}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a location answers; ``body`` is bytes, or a value to be sent as JSON."""

    status: int = 200
    body: object = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    final_url: str | None = None
    failure: tuple[FailureCode, str] | None = None
    is_cut: bool = False  # whether the failure came after the head, and a part of the body
    duration_ms: int = 7


NOTHING = Answer(status=404)


def served(card: object, **headers: str | None) -> Answer:
    """A card served as it should be; ``headers`` (with underscores) replace or, if None, remove those it comes with."""
    base: dict[str, str | None] = {"content-type": CARD_TYPE, "access-control-allow-origin": "*"}
    base |= {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(body=card, headers={name: value for name, value in base.items() if value is not None})


def html(status: int = 200) -> Answer:
    return Answer(
        status=status,
        body=b"<!doctype html><html><head><title>App</title></head><body><div id=root></div></body></html>",
        headers={"content-type": "text/html; charset=utf-8"},
    )


def fails(code: FailureCode, reason: str) -> Answer:
    return Answer(failure=(code, reason))


def card(**changes: object) -> dict[str, object]:
    """The valid card with members changed, or removed where the value is ``...``."""
    changed = VALID_CARD | {name.replace("schema_", "$schema"): value for name, value in changes.items()}
    return {name: value for name, value in changed.items() if value is not ...}


def catalog(*entries: object) -> Answer:
    return Answer(
        body={"specVersion": "1.0", "entries": list(entries)}, headers={"content-type": "application/ai-catalog+json"}
    )


def entry(**members: object) -> dict[str, object]:
    return {"identifier": "urn:air:weather.example:mcp:weather", "type": CARD_TYPE} | members


class Site:
    """A door that opens on a table of answers by URL, and ``default`` for all others.

    ``mcp`` answers the MCP probe's requests at its URL, by function. ``asked`` are the URLs that the Server Card probe
    asked for, in order; ``requests`` are all.
    """

    def __init__(
        self,
        answers: Mapping[str, Answer],
        *,
        default: Answer = NOTHING,
        refusal: Failure | None = None,
        mcp: Mapping[str, Callable[[Request], Answer]] | None = None,
    ) -> None:
        self.answers = {url if "://" in url else HOST + url: answer for url, answer in answers.items()}
        self.default = default
        self.refusal = refusal
        self.mcp = {url if "://" in url else HOST + url: answer for url, answer in (mcp or {}).items()}
        self.requests: list[Request] = []

    @property
    def asked(self) -> list[str]:
        return [str(request.url) for request in self.requests if request.purpose in set(Purpose)]

    def __call__(self, request: Request) -> Exchange:
        self.requests.append(request)
        url = str(request.url)
        server = self.mcp.get(url) if request.purpose in STEPS else None
        answer = self.answers.get(url, self.default) if server is None else server(request)
        body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        failure = None if answer.failure is None else Failure(code=answer.failure[0], reason=answer.failure[1])
        return Exchange(
            purpose=request.purpose,
            method=request.method,
            url=url,
            final_url=answer.final_url or url,
            status=None if failure and not answer.is_cut else answer.status,
            headers=tuple((name.lower(), value) for name, value in answer.headers.items()),
            body=b"" if failure and not answer.is_cut else body,
            failure=failure,
            redirects=(),
            duration_ms=answer.duration_ms,
        )

    def admit(self) -> Failure | None:
        return self.refusal

    def __enter__(self) -> "Site":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def open(self, target: Target) -> "Site":
        return self

    def gather(self, asked: str = HOST) -> Evidence:
        return gather(asked, self.open)

    def audit(self, asked: str = HOST) -> Report:
        return judge(self.gather(asked))


def numbers(report: Report, auditor: str) -> list[int]:
    """The numbers of the Checks that an auditor reported."""
    return [
        int(check.code.rpartition("-")[2]) for one in report.auditors if one.name == auditor for check in one.checks
    ]
