"""Media types, compared by their essence (RFC 9110, section 8.3.1; WHATWG MIME Sniffing)."""

from typing import Final

SERVER_CARD: Final = "application/mcp-server-card+json"
"""A Server Card's media type (MCP Server Card v1, Discovery)."""

AGENT_CARD: Final = "application/a2a-agent-card+json"
"""An Agent Card's media type, as the entries of AI Catalogs have it."""

A2A: Final = "application/a2a+json"
"""The media type of A2A's objects (A2A 1.0, section 14.1.1)."""

AI_CATALOG: Final = "application/ai-catalog+json"
"""An AI Catalog's media type (AI Catalog specification)."""

JSON: Final = "application/json"

EVENT_STREAM: Final = "text/event-stream"


def essence(value: str | None) -> str:
    """``type/subtype`` in lower case, without parameters; empty for a missing header."""
    return (value or "").partition(";")[0].strip().lower()


def is_html(content_type: str | None, body: bytes) -> bool:
    """Whether a response is a web page, by its label or by its first characters: single-page apps answer so to all."""
    start = body[:512].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return essence(content_type) in ("text/html", "application/xhtml+xml") or start.startswith(
        (b"<!doctype html", b"<html", b"<head", b"<body", b"<script", b"<!--")
    )
