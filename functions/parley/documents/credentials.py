"""Credentials that a public document gives away: where, of what kind, and the document without them.

What a provider's key looks like is known by redact-secret, a detector that is kept up; JSON Web Tokens, private keys
(PEM, JWK, a bare one) are read here, being formats. What is guessed from the words around a value, such as
``token: ...``, is not reported: a card's prose is full of it.
"""

import base64
import itertools
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote

from parley.documents import agent_card, server_card
from parley.evidence import Evidence, Exchange
from parley.wire import strict_json
from parley.wire.strict_json import Parsed
from parley.wire.text import clean, count

MASK: Final = "x"
"""What stands for each character of a credential: allowed wherever those are, so that other rules judge as before."""

GOOGLE_API_KEY: Final = "Google API key"
"""The sort of key that is meant to be seen in a web page, and to be secret elsewhere; it does not say which it is."""

URL_PASSWORD: Final = "password in a URL"  # noqa: S105 - a sort's name

_WINDOW: Final = 2048
"""Characters that the detector is given at once: it is slower than linear on some texts."""

_OVERLAP: Final = 512
"""Characters that two windows share: most keys are whole in one of them, and the start of any is."""

_NAME: Final = 64
_KEY_SHOWN: Final = 40

# The first three are guessed from the words before them, and a card's prose says "token: required"; the others are
# formats, read here.
_NOT_ASKED: Final = frozenset({"contextual_secret", "authorization_credential", "bearer_token", "jwt", "private_key"})
_PASSWORD: Final = "connection_string_password"  # noqa: S105 - a sort's name

_CARDS: Final = frozenset(server_card.Purpose) | {
    agent_card.Purpose.ASKED,
    agent_card.Purpose.CURRENT,
    agent_card.Purpose.LEGACY,
    agent_card.Purpose.LINK,
    agent_card.Purpose.SIBLING,
    agent_card.Purpose.EXTENDED,
    agent_card.Purpose.NO_VERSION,
}

_WORDS: Final = {
    "ai": "AI",
    "ai21": "AI21",
    "api": "API",
    "aws": "AWS",
    "cli": "CLI",
    "digitalocean": "DigitalOcean",
    "github": "GitHub",
    "gitlab": "GitLab",
    "huggingface": "Hugging Face",
    "id": "ID",
    "npm": "npm",
    "nvidia": "NVIDIA",
    "oauth": "OAuth",
    "oauth2": "OAuth",
    "openai": "OpenAI",
    "openrouter": "OpenRouter",
    "pypi": "PyPI",
    "scim": "SCIM",
    "sendgrid": "SendGrid",
    "xai": "xAI",
}
_SORTS: Final = {
    "otpauth_secret": "one-time password secret",
    "vendor_prefixed_credential": "API key",
}
_PLAIN: Final = frozenset({"access", "app", "key", "personal", "secret", "server", "token", "user"})

_PLACEHOLDERS: Final = (
    "...", "…", "<", ">", "{", "}", "$", "%", "*", "•", "xxxx", "0000000", "example", "sample", "dummy", "placeholder",
    "your_", "your-", "yourkey", "yourtoken", "yourapi", "yoursecret", "fakekey", "redacted", "changeme", "change_me",
    "insert_", "replace_", "replaceme", "not-a-real", "notareal", "123456", "abcdef", "-here", "_here",
)  # fmt: skip
_PUBLISHED: Final = (
    "4eC39HqLyjWDarjtT1zdp7dc",  # Stripe's documentation
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr",  # the Azure storage emulator's
)
_NO_PASSWORDS: Final = frozenset(
    {
        "admin", "api_key", "apikey", "foobar", "guest", "hunter", "key", "login", "mypass", "mypassword", "p4ssw0rd",
        "pass", "passphrase", "passw0rd", "passwd", "password", "postgres", "pw", "pwd", "root", "s3cret", "s3cr3t",
        "secret", "secretpassword", "supersecret", "test", "token", "user", "username",
    }
)  # fmt: skip
_NO_HOSTS: Final = frozenset({"0.0.0.0", "127.0.0.1", "example", "host", "hostname", "localhost"})  # noqa: S104 - read
_PREFIXES: Final = (
    "AKIA", "ASIA", "AIza", "ATATT", "GOCSPX-", "SG.", "dapi", "dckr_pat_", "dop_v1_", "fc-", "ghp_", "gho_", "ghr_",
    "ghs_", "ghu_", "github_pat_", "glpat-", "glrt-", "gsk_", "hf_", "hvs.", "lin_api_", "npm_", "ntn_", "nvapi-",
    "pplx-", "pypi-", "r8_", "rk_live_", "rk_test_", "sbp_", "shpat_", "sk-ant-", "sk-or-", "sk-proj-", "sk-",
    "sk_live_", "sk_test_", "tvly-", "xai-", "xapp-", "xoxb-", "xoxp-",
)  # fmt: skip

# Statements signed for the public to read, not to let anybody in.
_PUBLIC_TYPES: Final = ("vc", "vp", "statement", "statuslist", "jose", "logout", "proof", "receipt", "jwk-set", "card")
_PUBLIC_CLAIMS: Final = frozenset({"vc", "vp", "vct", "credentialSubject", "skills", "supportedInterfaces", "jwks"})
# What a token that lets somebody in says of them: registered claims (RFC 7519, section 4.1), or parts of usual names.
_CLAIMS: Final = frozenset({"iss", "sub", "aud", "exp", "nbf", "iat", "jti"})
_CLAIM_PARTS: Final = ("id", "user", "role", "scope", "mail")
_PRIVATE_MEMBERS: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "k"})

log = logging.getLogger(__name__)


class Credential(NamedTuple):
    """One credential.

    ``path`` is the member that holds it, as in ``skills[3].examples[0]``, or ``line 7`` of a text that is not JSON;
    ``in_name`` tells that it stands in that member's name. ``sort`` is for people: ``AWS access key ID``. ``masked``
    is what may be shown of it: a prefix that all of its sort have, and how long it is. ``value`` is never to be shown.
    """

    path: str
    in_name: bool
    sort: str
    masked: str
    value: str


class Search(NamedTuple):
    """What a text gave away, in its order, and the text with :data:`MASK` in place of that: JSON, if it was."""

    credentials: tuple[Credential, ...]
    masked: bytes


class _Members(list[tuple[str, object]]):
    """A JSON object's members, those that another of the same name hides among them."""


class _Place(NamedTuple):
    """Where a string stands: below what, under which name or index. ``literal`` is the name's own number, if any."""

    below: "_Place | None"
    name: str | int
    literal: int | None


class _Text(NamedTuple):
    """One string of a document, in its order. ``known`` is what it is as a whole, if its members' names say so."""

    text: str
    place: _Place | None
    is_name: bool
    known: str | None


class _Hit(NamedTuple):
    start: int
    end: int
    sort: str


def search(raw: bytes, numbers: dict[str, int] | None = None) -> Search:
    """Look through a document, member names and hidden members included; one that is not JSON as plain text.

    ``numbers`` are those of credentials found before, for :func:`mask`; new ones are added to it.
    """
    numbers = {} if numbers is None else numbers
    by_literal = _found(raw)
    if not by_literal:
        return Search((), raw)
    texts = _texts(raw)
    if texts is None:
        text, hits = raw.decode("utf-8", "replace"), by_literal[0]
        lines = _line_counter(text)
        found = [_credential(f"line {lines(hit.start)}", False, hit, text) for hit in hits]
        return Search(tuple(found), _masked(text, hits, numbers).encode("utf-8"))
    text = raw.decode("utf-8")
    bom, text = text[: text.startswith("\ufeff")], text.removeprefix("\ufeff")
    shown = {number: _masked(texts[number].text, hits, numbers) for number, hits in by_literal.items()}
    credentials = tuple(
        _credential(_path(texts[number].place, shown), texts[number].is_name, hit, texts[number].text)
        for number, hits in by_literal.items()
        for hit in hits
    )
    return Search(credentials, (bom + _rewritten(text, shown)).encode("utf-8"))


def forget() -> None:
    """Let go of what was found, as :func:`parley.wire.strict_json.forget` does."""
    _found.cache_clear()


@lru_cache(maxsize=32)
def _found(raw: bytes) -> dict[int, list[_Hit]]:
    """What :func:`_hits` gives for a document. Kept for a while: it is masked for most rules, and searched by one."""
    texts = _texts(raw)
    return _hits([_Text(raw.decode("utf-8", "replace"), None, False, None)] if texts is None else texts)


def _texts(raw: bytes) -> list[_Text] | None:
    """All strings of a document, in the order in which they are written; None if it is not JSON."""
    if not isinstance(strict_json.parse(raw), Parsed):
        return None
    texts: list[_Text] = []
    _walk(json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_Members), None, texts)
    return texts


def mask(value: str, number: int) -> str:
    """What stands for a credential: as long, and unlike that for any other, so that what differed still does."""
    end = str(number) if number > 1 else ""
    return MASK * (len(value) - len(end)) + end


def masked(evidence: Evidence) -> Evidence:
    """The evidence to judge by: what its cards give away is masked in them, and in URLs made from them.

    A report quotes what it judges, and cuts it: half a credential is one still. What was received stays at hand in
    ``original``, to be searched, and to check signatures over.
    """
    bodies: dict[int, bytes] = {}
    searched: dict[bytes, bytes | None] = {}
    numbers: dict[str, int] = {}
    passwords: set[str] = set()
    for number, exchange in enumerate(evidence.exchanges):
        if exchange.purpose in _CARDS and exchange.answered == 200 and exchange.body:
            if exchange.body in searched:  # a site may answer the same to all that it is asked for
                if (known := searched[exchange.body]) is not None:
                    bodies[number] = known
                continue
            try:
                found = search(exchange.body, numbers)
            except Exception:  # the rule that searches again will be untested for it, and the audit goes on
                log.exception("a document could not be searched for credentials")
                continue
            searched[exchange.body] = found.masked if found.credentials else None
            if found.credentials:
                bodies[number] = found.masked
                passwords |= {one.value for one in found.credentials if one.sort == URL_PASSWORD}
    for exchange in evidence.exchanges:
        if led := [*(hop.location for hop in exchange.redirects), *_location(exchange)]:
            passwords |= {one.value for one in _given_away(led, numbers) if one.sort == URL_PASSWORD}
    if not numbers:
        return evidence
    masks: dict[str, str] = {}
    for value, number in numbers.items():
        around = ":{}@" if value in passwords else "{}"  # a password may be any word: elsewhere it is not meant
        asked = _unescaped(value)[0]  # as a URL that is asked for has it; a host's name is in small letters there
        for form in (asked.lower(), asked, value):
            masks[around.replace("{}", form)] = around.replace("{}", mask(value, number))
    exchanges = tuple(
        _without(exchange._replace(body=bodies.get(number, exchange.body)), masks)
        for number, exchange in enumerate(evidence.exchanges)
    )
    return evidence._replace(exchanges=exchanges, original=evidence)


def _location(exchange: Exchange) -> list[str]:
    """Where an answer sends its client, though it was not followed: reports name that, too."""
    return [value for name, value in exchange.headers if name == "location"]


def _given_away(urls: list[str], numbers: dict[str, int]) -> tuple[Credential, ...]:
    try:
        return tuple(search(json.dumps(urls).encode(), numbers).credentials)
    except Exception:  # as for a document
        log.exception("redirects could not be searched for credentials")
        return ()


def _without(exchange: Exchange, masks: dict[str, str]) -> Exchange:
    """Mask what else of an exchange a report shows: URLs, headers, and the reason of a failure."""
    hops = [part for hop in exchange.redirects for part in (hop.url, hop.location)]
    reason = "" if exchange.failure is None else exchange.failure.reason
    told = "\n".join([exchange.url, exchange.final_url, reason, *hops, *(value for _, value in exchange.headers)])
    there = sorted((one for one in masks if one in told), key=len, reverse=True)
    if not there:
        return exchange

    def without(text: str) -> str:
        for one in there:
            text = text.replace(one, masks[one])
        return text

    return exchange.with_texts(without)


def _walk(value: object, place: _Place | None, texts: list[_Text], known: str | None = None) -> None:
    """List all strings in the order in which they are written: so a string's number is its literal's."""
    if isinstance(value, str):
        texts.append(_Text(value, place, False, known))
    elif isinstance(value, _Members):
        is_key = any(name == "kty" and isinstance(kind, str) for name, kind in value)
        for name, member in value:
            here = _Place(place, name, len(texts))
            texts.append(_Text(name, here, True, None))
            _walk(member, here, texts, _known(name, member, is_key=is_key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _walk(item, _Place(place, index, None), texts)


def _known(name: str, value: object, *, is_key: bool) -> str | None:
    """What a member's own name makes its value. A bare key of 64 digits looks like any hash."""
    if not isinstance(value, str) or len(value) < 20:
        return None
    if is_key and name in _PRIVATE_MEMBERS and _pattern(r"[\w-]{20,}").fullmatch(value):
        return None if _is_placeholder(value) else "private key (JWK)"
    if len(value) in (64, 66) and _pattern(r"(?:0x)?[0-9a-fA-F]{64}").fullmatch(value):
        plain = name[:_NAME].lower().replace("_", "").replace("-", "")
        if plain.endswith(("privatekey", "secretkey")) and not _is_placeholder(value):
            return "private key"
    return None


def _hits(texts: list[_Text]) -> dict[int, list[_Hit]]:
    """What each text gives away, by its number; those of one text do not overlap."""
    found: dict[int, list[_Hit]] = {}
    windows: list[tuple[int, int, str, str]] = []
    offsets: dict[int, list[int]] = {}
    read = list(texts)
    for number, (written, place, is_name, known) in enumerate(texts):
        text, at = _unescaped(written)
        if at is not None:
            read[number], offsets[number] = texts[number]._replace(text=text), at
        if known is not None:
            found[number] = [_Hit(0, len(text), known)]
        elif len(text) < 8 or _is_signature(place, is_name):
            continue
        else:
            if own := [*_private_keys(text), *_tokens(text)]:
                found[number] = own
            name = "" if is_name or place is None else _name(place)
            for start in range(0, max(1, len(text) - _OVERLAP), _WINDOW - _OVERLAP):
                windows.append((number, start, name, text[start : start + _WINDOW]))
    for number, hit in _detected(windows, read):
        found.setdefault(number, []).append(hit)
    for number, at in offsets.items():
        found |= {number: [_Hit(at[one.start], at[one.end], one.sort) for one in found.get(number, [])]}
    return {number: _apart(hits) for number, hits in sorted(found.items()) if hits}


def _unescaped(text: str) -> tuple[str, list[int] | None]:
    """A text as one that reads it as a URL has it, without escapes that need not be (RFC 3986, section 6.2.2.2).

    With it, where each of its characters, and its end, is in the text as written; None where nothing is escaped so.
    """
    if "%" not in text:
        return text, None
    pieces: list[str] = []
    offsets: list[int] = []
    at = 0
    for escape in _pattern(r"%(?:2[DdEe]|3[0-9]|4[1-9A-Fa-f]|5[0-9AaFf]|6[1-9A-Fa-f]|7[0-9AaEe])").finditer(text):
        pieces += [text[at : escape.start()], chr(int(escape[0][1:], 16))]
        offsets += range(at, escape.start() + 1)
        at = escape.end()
    if not pieces:
        return text, None
    return "".join([*pieces, text[at:]]), [*offsets, *range(at, len(text) + 1)]


def _detected(windows: list[tuple[int, int, str, str]], texts: list[_Text]) -> Iterator[tuple[int, _Hit]]:
    """What the detector finds, many short texts at a time. Each stands behind its member's name, which tells it more.

    Yields texts' numbers with what was found in them.
    """
    import redact_secret  # a library in machine code, for the audits that have a card

    limits = redact_secret.WholeInputLimits(max_input_bytes=1 << 26, max_findings=1 << 20)

    def scanned(block: list[tuple[int, int, str, str]]) -> Iterator[tuple[int, _Hit]]:
        joined, starts = "", []
        for _, _, name, piece in block:
            joined += f'{name}: "' if name else '"'
            starts.append(len(joined))
            joined += piece + '"\n\n'
        at = 0
        encodable = joined.encode("utf-8", "replace").decode()  # a "?" for each lone surrogate
        for one in redact_secret.scan(encodable, limits=limits):
            if one.type in _NOT_ASKED:
                continue
            while at + 1 < len(starts) and starts[at + 1] <= one.start:
                at += 1
            number, offset, _, piece = block[at]
            text, start, end = texts[number].text, one.start - starts[at], min(one.end - starts[at], len(piece))
            if not 0 <= start < end:
                continue
            start, end = start + offset, end + offset
            if end == offset + len(piece) and (rest := _pattern(r"[\w-]+").match(text, end)) is not None:
                end = rest.end()  # it is longer than a window
            if not _is_example(one.type, text, start, end):
                yield number, _Hit(start, end, _sort(one.type, text[end : end + 1]))

    block: list[tuple[int, int, str, str]] = []
    size = 0
    for window in windows:
        if size + len(window[3]) > _WINDOW and block:
            yield from scanned(block)
            block, size = [], 0
        block.append(window)
        size += len(window[2]) + len(window[3])
    if block:
        yield from scanned(block)


def _apart(hits: list[_Hit]) -> list[_Hit]:
    """Those that overlap as one: windows do, and one key may be two sorts."""
    joined: list[_Hit] = []
    for hit in sorted(hits, key=lambda hit: hit.start):
        if joined and hit.start < joined[-1].end:
            joined[-1] = joined[-1]._replace(end=max(joined[-1].end, hit.end))
        else:
            joined.append(hit)
    return joined


def _private_keys(text: str) -> Iterator[_Hit]:
    """PEM (RFC 7468) and OpenPGP, whole or cut off; line ends may be written out, as in an environment variable."""
    if "PRIVATE KEY" not in text:
        return
    pattern = _pattern(
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:\\[nr]|\s)*(?:[A-Za-z-]{1,40}: [^\n\\]{0,200}(?:\\[nr]|\s){1,4}){0,5}"
        r"(?P<body>(?:[A-Za-z0-9+/=]|\\[nr]|\s){64,})"
        r"(?P<end>-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----)?"
    )
    for match in pattern.finditer(text):
        lines = list(_pattern(r"[A-Za-z0-9+/]{16,}={0,2}").finditer(match["body"]))
        is_key = bool(lines) and len(lines[0][0]) >= 40 and not _is_placeholder(lines[0][0])
        if is_key and not _is_cut(text, match.end()):
            # One that was cut off ends with its last line, not with the words that follow.
            end = match.end() if match["end"] else match.start("body") + lines[-1].end()
            yield _Hit(match.start(), end, "private key")


def _tokens(text: str) -> Iterator[_Hit]:
    """JSON Web Tokens (RFC 7519) that let somebody in; not what is signed to be read by all."""
    if "eyJ" not in text:
        return
    for match in _pattern(r"(?<![\w-])(eyJ[\w-]+)\.([\w-]+)\.([\w-]{20,})").finditer(text):
        header, claims = _decoded(match[1]), _decoded(match[2])
        if header is None or claims is None or not isinstance(header.get("alg"), str):
            continue
        kind = str(header.get("typ", "")).lower()
        is_public = any(one in kind for one in _PUBLIC_TYPES) or bool(_PUBLIC_CLAIMS & claims.keys())
        is_public |= claims.get("role") == "anon"  # what Supabase gives web pages
        is_example = claims.get("sub") == "1234567890" or claims.get("name") == "John Doe" or _is_placeholder(match[3])
        is_example |= not (_CLAIMS & claims.keys() or any(part in name for name in claims for part in _CLAIM_PARTS))
        if not (is_public or is_example or _is_cut(text, match.end())):
            yield _Hit(match.start(), match.end(), "JSON Web Token")


def _is_cut(text: str, end: int) -> bool:
    """Whether an ellipsis follows: what was left out keeps the rest from being of use."""
    return text.startswith(("...", "…"), end)


def _decoded(part: str) -> dict[str, object] | None:
    try:
        value = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_signature(place: _Place | None, is_name: bool) -> bool:
    """Whether a text is part of a card's own signature: base64url, and there for all to read."""
    if place is None or is_name or place.name not in ("protected", "signature"):
        return False
    entry = place.below
    return entry is not None and entry.below is not None and entry.below.name == "signatures"


def _is_example(sort: str, text: str, start: int, end: int) -> bool:
    """Whether what looks like a credential is there to show what one looks like."""
    value = text[start:end]
    if sort == _PASSWORD and text[end : end + 1] == "@":
        host = text[end + 1 : end + 260].lower()
        for sign in "/:?#\"' ":
            host = host.partition(sign)[0]
        drawn = unquote(value)
        word = drawn.lower().rstrip("0123456789!")
        is_nowhere = host in _NO_HOSTS or host.startswith("example.") or ".example" in host
        if is_nowhere or word in _NO_PASSWORDS or _pattern(r"\$[A-Z_]{2,}|%[A-Z_]{2,}%").fullmatch(drawn):
            return True
        return _is_placeholder(drawn.replace("$", "").replace("%", ""))  # which passwords have, too
    drawn = value.rpartition(":")[2]
    is_words = drawn.islower() and not any(letter.isdigit() for letter in drawn)
    return is_words or any(one in value for one in _PUBLISHED) or _is_placeholder(value)


def _is_placeholder(value: str) -> bool:
    """Whether nobody drew this by lot: words that say so, one piece again and again, characters in a row."""
    body = value[:400]
    if body.startswith(_PREFIXES):
        body = body.removeprefix(next(prefix for prefix in _PREFIXES if body.startswith(prefix)))
    plain = body.lower()
    if any(one in plain for one in _PLACEHOLDERS) or (len(body) >= 12 and len(set(plain)) < 6):
        return True
    if any(plain == (plain[:size] * len(plain))[: len(plain)] for size in range(1, min(13, len(plain) // 2 + 1))):
        return True
    row = 1
    for before, after in itertools.pairwise(plain):
        row = row + 1 if ord(after) == ord(before) + 1 else 1
        if row == 7:
            return True
    return False


def _credential(path: str, in_name: bool, hit: _Hit, text: str) -> Credential:
    value = text[hit.start : hit.end]
    likely = _PREFIXES if value.startswith(_PREFIXES) else ()
    prefix = next((one for one in likely if value.startswith(one) and len(value) >= len(one) + 12), "")
    return Credential(path, in_name, hit.sort, f"{prefix}*** ({count(len(value), 'character')})", value)


def _sort(kind: str, after: str) -> str:
    """The detector's name for a sort, in words; ``after`` is the character that follows what it found."""
    if kind == _PASSWORD:
        return URL_PASSWORD if after == "@" else "key in a connection string"
    words = [_WORDS.get(word, word) for word in kind.split("_")]
    if words[0].islower() and words[0] not in _PLAIN and words[0] != "npm" and words[0] != "xAI":
        words[0] = words[0].capitalize()
    return _SORTS.get(kind) or " ".join(words)


def _masked(text: str, hits: Iterable[_Hit], numbers: dict[str, int]) -> str:
    pieces, at = [], 0
    for hit in hits:
        value = text[hit.start : hit.end]
        pieces += [text[at : hit.start], mask(value, numbers.setdefault(value, len(numbers) + 1))]
        at = hit.end
    return "".join([*pieces, text[at:]])


def _rewritten(text: str, shown: dict[int, str]) -> str:
    """A JSON text with other values for the string literals of these numbers."""
    pieces, at = [], 0
    for number, literal in enumerate(_pattern(r'"[^"\\]*(?:\\.[^"\\]*)*"').finditer(text)):
        if number in shown:
            pieces += [text[at : literal.start()], json.dumps(shown[number])]
            at = literal.end()
    return "".join([*pieces, text[at:]])


def _name(place: _Place) -> str:
    """The nearest member's name above a string; an array's items have that of the array."""
    at: _Place | None = place
    while at is not None and isinstance(at.name, int):
        at = at.below
    return "" if at is None else str(at.name)[:_NAME]


def _path(place: _Place | None, shown: dict[int, str]) -> str:
    steps: list[str] = []
    while place is not None:
        if isinstance(place.name, int):
            steps.append(f"[{place.name}]")
        else:
            name = place.name if place.literal is None else shown.get(place.literal, place.name)
            steps.append(clean(name, _KEY_SHOWN))
            if place.below is not None:
                steps.append(".")
        place = place.below
    return "".join(reversed(steps)) or "the whole document"


def _line_counter(text: str) -> Callable[[int], int]:
    """The line of an offset, for offsets that come in order."""
    at, line = 0, 1

    def count_to(offset: int) -> int:
        nonlocal at, line
        line += text.count("\n", at, offset)
        at = offset
        return line

    return count_to


@lru_cache(maxsize=16)
def _pattern(source: str) -> re.Pattern[str]:
    """Compiled once it is needed: few audits do."""
    return re.compile(source, re.ASCII)
