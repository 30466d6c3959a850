"""Reports for the page to show, in the shape that the API answers with. Functions, so that each test has its own."""

from datetime import UTC, datetime
from typing import Any

CARD = "37A-McpServerCardAuditor"


def check(number: int, message: str, recommendation: str = "", *, prefix: str = CARD) -> dict[str, Any]:
    """A Check of ``prefix``, with the status that its number stands for."""
    status = {1: "INFORMATION", 2: "SUCCESS", 3: "WARNING", 4: "FAIL"}[number // 100]
    return {
        "code": f"{prefix}-{number}",
        "status": status,
        "message": message,
        "recommendation": recommendation,
        "data": {},
    }


def implements() -> dict[str, Any]:
    """The row that stands in every report."""
    return check(
        100,
        "Audited against MCP Server Card v1 (27 Jun 2026), schema.json at commit "
        "92999cb3f5d82e648385cb92ce41ed9aa1386eda.",
        "This auditor implements MCP Server Card v1; documents must set $schema to "
        "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json. "
        "Schema pin 92999cb3f5d82e648385cb92ce41ed9aa1386eda.",
    )


def attempt(url: str, http_status: int | None = 200, outcome: str = "ok") -> dict[str, Any]:
    return {
        "purpose": "server card",
        "method": "GET",
        "url": url,
        "httpStatus": http_status,
        "outcome": outcome,
        "durationMs": 84,
    }


def report(
    url: str,
    status: str,
    checks: list[dict[str, Any]],
    *,
    state: str = "confirmed",
    because: tuple[str, ...] = ("GET /mcp/server-card answered 200 application/json",),
    passed: tuple[int, ...] = (),
    not_applicable: tuple[int, ...] = (),
    untested: tuple[tuple[int, str], ...] = (),
    attempts: tuple[dict[str, Any], ...] = (),
) -> dict[str, Any]:
    """A report about a Server Card; nothing of the other protocols was found."""
    nothing = {"state": "not_detected", "status": "INFORMATION", "because": [f"{url}: answered 404"]}
    return {
        "reportVersion": "1",
        "url": url,
        "origin": url.rstrip("/"),
        "auditedAt": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
        "durationMs": 1234,
        "status": status,
        "protocols": {
            "serverCard": {"state": state, "status": status, "because": list(because)},
            "mcp": dict(nothing),
            "a2a": dict(nothing),
        },
        "auditors": [
            {
                "name": CARD,
                "protocol": "serverCard",
                "title": "MCP Server Card",
                "status": status,
                "checks": checks,
                "passed": [f"{CARD}-{number}" for number in passed],
                "notApplicable": [f"{CARD}-{number}" for number in not_applicable],
                "untested": [{"code": f"{CARD}-{number}", "reason": reason} for number, reason in untested],
            }
        ],
        "attempts": list(attempts),
    }


def warning(url: str = "https://example.com/") -> dict[str, Any]:
    """A card that works, with a fault in how it is served. Its rows are not in the order of their severity."""
    card = f"{url}mcp/server-card"
    return report(
        url,
        "WARNING",
        [
            implements(),
            check(
                300,
                f'"{card}" is served as "application/json".',
                f"Serve {card} with Content-Type application/mcp-server-card+json instead of application/json.",
            ),
        ],
        passed=(401, 402, 403, 404, 405, 406, 408, 409, 410, 411, 412),
        not_applicable=(407,),
        untested=((413, "the request timed out"),),
        attempts=(
            attempt(f"{url}.well-known/ai-catalog.json", 404),
            attempt(f"{url}.well-known/mcp/server-card.json", 404),
            attempt(card),
        ),
    )


def success(url: str = "https://example.com/") -> dict[str, Any]:
    message = f'Server Card "com.example/weather" 1.4.0 at "{url}mcp/server-card" is valid.'
    return report(url, "SUCCESS", [implements(), check(200, message)], passed=(300, 401, 402))


def fail(url: str = "https://example.com/") -> dict[str, Any]:
    """Rows of every status, three of them FAIL, two with the same code."""
    card = f"{url}mcp/server-card"
    return report(
        url,
        "FAIL",
        [
            implements(),
            check(300, f'"{card}" is served as "text/plain".', "Serve it as application/mcp-server-card+json."),
            check(
                410, 'remotes[0].type is "stdio".', 'Set remotes[0].type to streamable-http or sse instead of "stdio".'
            ),
            check(410, "remotes[1].type is (missing).", "Set remotes[1].type to streamable-http or sse."),
            check(404, "The card has no name.", f"Set name in reverse-DNS form (e.g. com.example/weather) at {card}."),
        ],
        state="indicated",
        attempts=(attempt(f"{url}.well-known/ai-catalog.json", None, "timeout"), attempt(card)),
    )


def refused(url: str, reason: str) -> dict[str, Any]:
    """What a 400 carries."""
    found = report(url, "FAIL", [implements(), check(400, reason)], state="not_detected", because=(reason,))
    return found | {"origin": None}


def card_missing(url: str = "https://example.com/") -> dict[str, Any]:
    """No Server Card, but a good MCP server: the card's FAIL does not count in the verdict."""
    found = report(url, "SUCCESS", [implements(), check(400, "No Server Card was found.", "Publish one.")])
    found["auditors"][0]["status"] = "FAIL"
    found["protocols"] = {
        "serverCard": {"state": "not_detected", "status": "FAIL", "because": ["every location answered 404"]},
        "mcp": {"state": "confirmed", "status": "SUCCESS", "because": ["server/discover answered 200"]},
        "a2a": {"state": "indicated", "status": "INFORMATION", "because": ["inconclusive: a bot wall"]},
    }
    return found


EVIL = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "javascript:alert(1)",
    '"><svg onload=alert(1)>',
    "${alert(1)}{{alert(1)}}",
    "\\u{202e}moc.elpmaxe",
    "\\u{1b}[31mred",
    "' onmouseover='alert(1)",
    "</textarea><base href=//evil.example/>",
)


def evil() -> dict[str, Any]:
    """Strangers' strings in every place that can hold one, even where the API would never put them."""
    every = " ".join(EVIL)
    found = report(
        "javascript:alert(document.domain)//" + every,
        "FAIL",
        [
            check(404, every, every),
            {"code": "javascript:alert(1)", "status": "FAIL", "message": every, "recommendation": every},
            {"code": every, "status": every, "message": every, "recommendation": every},
            {"code": "report", "status": "FAIL", "message": "an id of the page", "recommendation": ""},
        ],
        because=EVIL,
        untested=((405, every),),
        attempts=(attempt(every), attempt("javascript:alert(1)", None, every)),
    )
    found["auditors"][0] |= {"name": every, "title": every, "passed": [*EVIL], "notApplicable": [*EVIL]}
    return found
