"""The API's description (OpenAPI 3.1), kept beside what it describes and checked against the running server."""

from typing import Final

from parley import __version__
from parley.render.badge import STYLES
from parley.render.words import PROTOCOLS, STATES, VERDICTS

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_COUNT: Final = {"type": "integer", "minimum": 0}
_STATUS: Final = {"type": "string", "enum": list(VERDICTS)}


def openapi(formats: tuple[str, ...]) -> dict[str, object]:
    """The whole description. ``formats`` are those that reports come in."""
    url = _parameter("url", "What to audit: an http(s) URL, or a bare host for https.", _TEXT, required=True)
    flags = [
        _parameter("refresh", "Audit again, once the cooldown of 60 s has passed.", {"type": "boolean"}),
        _parameter("stored", "Answer from what is stored, and never start an audit.", {"type": "boolean"}),
        _parameter("format", "Overrides Accept.", {"type": "string", "enum": list(formats)}),
    ]
    # Texts and no enumerations: there is a badge whatever is asked, since a broken picture helps nobody.
    protocol = _parameter("protocol", f"The badge of one protocol: {', '.join(PROTOCOLS)}.", _TEXT)
    style = _parameter("style", f"The badge's shape: {', '.join(STYLES)}.", _TEXT)
    body = _object({"url": _TEXT, "refresh": {"type": "boolean", "default": False}}, required=["url"])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Parley",
            "version": __version__,
            "summary": "Says whether AI agents can discover, trust and talk to what is at a URL, and what to mend.",
        },
        "paths": {
            "/v1/audit": {
                "get": {
                    "operationId": "getAudit",
                    "summary": "The report on a URL: the stored one while it is fresh, else a new one.",
                    "parameters": [url, *flags],
                    "responses": _AUDIT
                    | {"304": {"description": "The client has this report already."}}
                    | _problems("400", "403", "404", "409", "429", "500", "503"),
                },
                "post": {
                    "operationId": "postAudit",
                    "summary": "The same.",
                    "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
                    "responses": _AUDIT | _problems("400", "403", "413", "415", "429", "500", "503"),
                },
            },
            "/v1/checks": {
                "get": {
                    "operationId": "getChecks",
                    "summary": "All CheckCodes: when each fires, why it matters, what to do.",
                    "responses": {
                        "200": _json("The catalogue.", _object({"checks": {"type": "array", "items": _ref("Rule")}})),
                        "304": {"description": "The client has this catalogue already."},
                    },
                },
            },
            "/badge": {
                "get": {
                    "operationId": "getBadge",
                    "summary": "The badge of a URL's stored report; never starts a first audit.",
                    "parameters": [url | {"required": False}, protocol, style],
                    "responses": {
                        "200": {"description": "A picture.", "content": {"image/svg+xml": {"schema": _TEXT}}},
                        "304": {"description": "The client has this picture already."},
                    },
                },
            },
            "/badge.json": {
                "get": {
                    "operationId": "getBadgeEndpoint",
                    "summary": "The same in the endpoint schema of shields.io.",
                    "parameters": [url | {"required": False}, protocol],
                    "responses": {
                        "200": _json(
                            "For shields.io.",
                            _object(
                                {
                                    "schemaVersion": {"const": 1},
                                    "label": _TEXT,
                                    "message": _TEXT,
                                    "color": _TEXT,
                                    "cacheSeconds": _COUNT,
                                }
                            ),
                        ),
                        "304": {"description": "The client has this already."},
                    },
                },
            },
            "/openapi.json": {
                "get": {
                    "operationId": "getOpenapi",
                    "summary": "This description.",
                    "responses": {
                        "200": _json("OpenAPI 3.1.", {"type": "object"}),
                        "304": {"description": "The client has this description already."},
                    },
                },
            },
            "/healthz": {
                "get": {
                    "operationId": "getHealth",
                    "summary": "Liveness.",
                    "responses": {"200": _json("Alive.", _object({"status": {"const": "ok"}, "version": _TEXT}))},
                },
            },
        },
        "components": {
            "schemas": {
                "Report": _REPORT,
                "Rule": _RULE,
                "Problem": _PROBLEM,
            }
        },
    }


def _object(properties: dict[str, object], *, required: list[str] | None = None) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties) if required is None else required}


def _ref(name: str) -> dict[str, object]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(description: str, schema: object) -> dict[str, object]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _parameter(name: str, description: str, schema: object, *, required: bool = False) -> dict[str, object]:
    return {"name": name, "in": "query", "description": description, "required": required, "schema": schema}


_WHY: Final = {
    "400": "The URL, a parameter or the body is wrong. For a URL, `report` says what is wrong with it.",
    "403": "The request came from Parley itself.",
    "404": "Nothing is stored.",
    "409": "A browser asked for an ornament of a page, and nothing is stored.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "429": "Too many audits, by this client or of this place; `Retry-After` says when to ask again.",
    "500": "Parley's own fault.",
    "503": "Too busy, or the store is unavailable.",
}


def _problems(*statuses: str) -> dict[str, object]:
    return {
        status: {"description": _WHY[status], "content": {"application/problem+json": {"schema": _ref("Problem")}}}
        for status in statuses
    }


_CHECK: Final = _object(
    {"code": _TEXT, "status": _STATUS, "message": _TEXT, "recommendation": _TEXT, "data": {"type": "object"}}
)
_AUDITOR: Final = _object(
    {
        "name": _TEXT,
        "protocol": {"type": ["string", "null"], "enum": [*PROTOCOLS, None]},
        "title": _TEXT,
        "status": _STATUS,
        "checks": {"type": "array", "items": _CHECK, "maxItems": 500},
        "passed": _TEXTS,
        "notApplicable": _TEXTS,
        "untested": {"type": "array", "items": _object({"code": _TEXT, "reason": _TEXT})},
    }
)
_REPORT: Final = _object(
    {
        "reportVersion": {"const": "1"},
        "url": _TEXT,
        "origin": {"type": ["string", "null"]},
        "auditedAt": {"type": "string", "format": "date-time"},
        "durationMs": _COUNT,
        "status": _STATUS,
        "protocols": _object(
            {
                name: _object({"state": {"type": "string", "enum": list(STATES)}, "status": _STATUS, "because": _TEXTS})
                for name in PROTOCOLS
            }
        ),
        "auditors": {"type": "array", "items": _AUDITOR},
        "attempts": {
            "type": "array",
            "items": _object(
                {
                    "purpose": _TEXT,
                    "method": _TEXT,
                    "url": _TEXT,
                    "httpStatus": {"type": ["integer", "null"]},
                    "outcome": _TEXT,
                    "durationMs": _COUNT,
                }
            ),
        },
    }
)
_RULE: Final = _object(
    {
        "code": _TEXT,
        "auditor": _TEXT,
        "protocol": {"type": ["string", "null"], "enum": [*PROTOCOLS, None]},
        "status": _STATUS,
        "title": _TEXT,
        "when": _TEXT,
        "why": _TEXT,
        "message": _TEXT,
        "recommendation": _TEXT,
        "specification": {"type": "string", "format": "uri"},
        "blocksConfirmed": {"type": "boolean"},
    }
)
_PROBLEM: Final = _object(
    {"type": _TEXT, "title": _TEXT, "status": {"type": "integer"}, "detail": _TEXT, "report": _ref("Report")},
    required=["type", "title", "status", "detail"],
)
_AUDIT: Final = {
    "200": {
        "description": "The report.",
        "content": {"application/json": {"schema": _ref("Report")}, "text/plain": {"schema": _TEXT}},
    },
    "202": _json(
        "Another's audit is under way; ask again after `Retry-After` seconds.",
        _object({"status": {"const": "running"}, "detail": _TEXT}),
    ),
}
