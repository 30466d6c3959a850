"""Walks the OAuth discovery chain behind a gated MCP endpoint: two steps of requests that are made side by side.

Nothing but documents that are for everybody is asked for: never an authorization, token or registration endpoint.
"""

from collections.abc import Iterator
from typing import Final

from parley.documents.mcp_gate import Gate, Refusal
from parley.documents.oauth import OAUTH, Chain, Purpose, metadata_urls, read, server_urls
from parley.evidence import Exchange, Request
from parley.probes import Fetch, side_by_side
from parley.wire.media_type import EVENT_STREAM, JSON

MADE_UP_TOKEN: Final = "parley-audit-made-up-token"  # noqa: S105  # it opens nothing, which is what it is for
"""Sent once, to see how a token that is none is refused (RFC 6750, section 3.1)."""

_CORS_HEADERS: Final = "authorization, content-type, mcp-method, mcp-name, mcp-protocol-version"


def gather(gate: Gate, fetch: Fetch, origin: str) -> Iterator[Exchange]:
    """Ask for the metadata documents that a client would come by, and yield what came.

    ``origin`` is sent as ``Origin``: several servers send their CORS headers only to a request that has one.
    """
    if gate.refusal is Refusal.WALL:
        return
    asked = side_by_side(fetch, [_document(Purpose.METADATA, url, origin) for url in metadata_urls(gate)])
    yield from asked
    chain = read(gate, asked)
    if chain.doubt is None:
        yield from side_by_side(fetch, [*_servers(chain, origin), *_at_endpoint(gate, origin)])


def _servers(chain: Chain, origin: str) -> list[Request]:
    if chain.issuer is not None and chain.issuer.url is not None:
        return [_document(Purpose.SERVER, url, origin) for url in server_urls(chain.issuer.url)]
    if chain.metadata is None:
        return [_document(Purpose.ORIGIN, str(chain.gate.endpoint.at(OAUTH)), origin)]
    return []


def _at_endpoint(gate: Gate, origin: str) -> list[Request]:
    """What pages and holders of bad tokens meet; a login's redirect would lead these requests to other hosts."""
    if gate.refusal is Refusal.LOGIN:
        return []
    preflight = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": _CORS_HEADERS,
    }
    token = {"Accept": f"{JSON}, {EVENT_STREAM}", "Authorization": f"Bearer {MADE_UP_TOKEN}", "Origin": origin}
    endpoint = str(gate.endpoint)
    return [
        Request(purpose=Purpose.PREFLIGHT, method="OPTIONS", url=endpoint, headers=preflight),
        Request(purpose=Purpose.TOKEN, url=endpoint, headers=token, enough=lambda _: True, skips_stream=True),
    ]


def _document(purpose: Purpose, url: str, origin: str) -> Request:
    return Request(purpose=purpose, url=url, headers={"Accept": JSON, "Origin": origin})
