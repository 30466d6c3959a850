"""AI Catalogs: the entries that name a document of one media type, by link or in the catalog itself."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from parley.evidence import Exchange
from parley.wire import strict_json
from parley.wire.media_type import essence, is_html
from parley.wire.strict_json import NotJson, Parsed
from parley.wire.text import clean, kind
from parley.wire.url import Url, UrlError

CATALOG: Final = "/.well-known/ai-catalog.json"

LINKS: Final = 20
"""Catalog links to documents of one type that are followed, and as many that stand in catalogs are read."""


class Link(NamedTuple):
    """A catalog entry's link to a document.

    ``url`` is absolute where it could be resolved; ``is_http`` tells that an entry itself writes ``http:``. Where
    there is nothing to ask for, ``problem`` says why: ``links to the catalog itself``.
    """

    url: str
    is_http: bool
    problem: str | None = None


class Inline(NamedTuple):
    """A document that stands in the catalog itself; ``url`` is its place there, with a JSON Pointer (RFC 6901)."""

    url: str
    value: object


def entries(catalog: Exchange, media_type: str) -> tuple[Link | Inline, ...]:
    """The entries of a fetched AI Catalog for documents of this type; none if it is no catalog.

    Older catalogs write ``mediaType`` for ``type``. Of an entry with both ``url`` and ``data``, the ``url`` counts.
    """
    return _entries(catalog.body, catalog.final_url, media_type) if catalog.answered == 200 else ()


@lru_cache(maxsize=8)
def _entries(body: bytes, url: str, media_type: str) -> tuple[Link | Inline, ...]:
    """Kept for a while, as probes and rules ask several times, and a catalog may have twelve thousand links."""
    match strict_json.parse(body):
        case Parsed(value={"entries": list(listed)}):
            pass
        case _:
            return ()
    base = Url.parse(url)
    return tuple(
        entry
        for index, item in enumerate(listed)
        if isinstance(item, dict) and _is_of(media_type, item)
        if (entry := _entry(item, f"{base}#/entries/{index}", base))
    )


def forget() -> None:
    """Let go of what was read, as :func:`parley.wire.strict_json.forget` does."""
    _entries.cache_clear()


def links(found: Iterable[Link | Inline]) -> dict[str, Link]:
    """The links among entries, each once: by http if any of its entries writes it so."""
    by_url: dict[str, Link] = {}
    for entry in found:
        if isinstance(entry, Link):
            known = by_url.get(entry.url, entry)
            by_url[entry.url] = known._replace(is_http=known.is_http or entry.is_http)
    return by_url


def why_none(catalog: Exchange, document: str) -> str:
    """Why a whole answer at the catalog's place lists no ``document``: ``is a web page, not an AI Catalog``."""
    match strict_json.parse(catalog.body):
        case NotJson() if is_html(catalog.header("content-type"), catalog.body):
            return "is a web page, not an AI Catalog"
        case NotJson(reason=reason):
            return f"is no AI Catalog: {reason}"
        case Parsed(value={"entries": list()}):
            return f"is an AI Catalog that lists no {document}"
        case _:
            return "is no AI Catalog: it has no array of entries"


def _is_of(media_type: str, item: dict[str, object]) -> bool:
    return any(
        isinstance(value := item.get(name), str) and essence(value) == media_type for name in ("type", "mediaType")
    )


def _entry(item: dict[str, object], place: str, base: Url) -> Link | Inline | None:
    match item:
        case {"url": str(written)} if written.strip():
            return _link(written.strip(), base)
        case {"url": value} if value is not None and not isinstance(value, str):
            return Link(url=f"{place}/url", is_http=False, problem=f"is {kind(value)}, not a URL")
        case {"data": value} if value is not None:
            return Inline(url=f"{place}/data", value=value)
    return None


def _link(written: str, base: Url) -> Link:
    is_http = written.lower().startswith("http://")
    try:
        url = base.join(written)
    except UrlError:
        return Link(url=clean(written), is_http=is_http)  # asked for all the same: the attempt says what is wrong
    if url == base:
        return Link(url=str(url), is_http=is_http, problem="is the catalog itself")
    return Link(url=str(url), is_http=is_http)
