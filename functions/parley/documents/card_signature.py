"""The signatures of an A2A Agent Card (A2A 1.0, section 8.4): JWS (RFC 7515) whose payload is the card itself.

A signature that verifies proves that whoever has the key signed the card. Whose key it is, nobody here can say.
"""

import base64
import string
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from parley.documents.agent_card import absolute, is_same_site
from parley.documents.card_forms import Form, Payloads, unknown_members
from parley.wire import strict_json
from parley.wire.strict_json import NotJson, Parsed
from parley.wire.text import clean, count, kind, quoted
from parley.wire.url import Url, UrlError

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, OKPKey, RSAKey

    _Key: TypeAlias = ECKey | OKPKey | RSAKey

EXAMINED: Final = 50
"""Signatures of a card whose form is looked at."""

CHECKED: Final = 5
"""Signatures of a card that are verified, of those that a key can be had for."""

SAME_KID: Final = 4
"""Keys of one ``kid`` that are tried."""

WORK: Final = 250_000_000
"""Bytes that are worked through for one audit: some seconds; two of the largest cards, or any number of usual ones."""

_MAKING: Final = 10
"""How many times as long as a try with a key it takes to write a form; thrice that to see what forms a card has."""

SHORTEST_RSA: Final = 2048
"""Bits of an RSA key (RFC 7518, sections 3.3 and 3.5)."""

_LONGEST_RSA: Final = 16_384

_CURVES: Final = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521", "ES256K": "secp256k1"}
_RSA: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_EDWARDS: Final = ("EdDSA", "Ed25519", "Ed448")  # RFC 8037's name, and those of RFC 9864 that replace it
_PUBLIC: Final = {"RSA": ("n", "e"), "EC": ("crv", "x", "y"), "OKP": ("crv", "x")}
_PRIVATE: Final = ("d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv")
_BASE64URL: Final = frozenset(string.ascii_letters + string.digits + "-_")


class FaultKind(Enum):
    """Which part of a signature is not as RFC 7515 and A2A want it."""

    FORM = auto()
    ALG = auto()
    KID = auto()


class Fault(NamedTuple):
    """What is wrong with a signature, as the end of a sentence that its place begins: ``has no protected header``."""

    kind: FaultKind
    told: str


class Outcome(Enum):
    """What came of verifying a signature."""

    VERIFIED = auto()
    UNMATCHED = auto()
    """The key is there, and the signature fits none of the forms that are known."""
    KEY_UNFIT = auto()
    """The key that it names is there, and not one to verify it with."""
    NO_KEY = auto()
    NOT_CHECKED = auto()
    """It was not tried: it has faults, is beyond a limit, or of a kind that is not known here."""


class Signature(NamedTuple):
    """One entry of ``signatures``, at ``path``: what its protected header says, and what came of it.

    ``reason`` is the end of a sentence and says why there is no other outcome. ``key_set`` is the URL of the key set
    that the key is from. ``form`` is what it verified over, ``unsigned`` the paths of members that are outside it.
    ``protected`` is as written, and ``value`` the signature itself.
    """

    path: str
    faults: tuple[Fault, ...] = ()
    protected: str = ""
    value: bytes = b""
    alg: str = ""
    kid: str = ""
    typ: object = None
    jku: object = None
    outcome: Outcome = Outcome.NOT_CHECKED
    reason: str = ""
    key_set: str = ""
    form: Form | None = None
    unsigned: tuple[str, ...] = ()


class FetchedKeySet(NamedTuple):
    """What came of asking for a key set: its body, or the reason why there is none, as the end of a sentence.

    ``url`` is what answered in the end, behind redirects.
    """

    url: str
    body: bytes | None
    reason: str = ""


class KeySetLink(NamedTuple):
    """A key set that signatures name. ``url`` may be asked for, unless ``problem`` says why not."""

    path: str
    written: object
    url: str
    problem: str | None


class KeySet(NamedTuple):
    """The keys of a JWK Set (RFC 7517, section 5), or why they cannot be read."""

    keys: tuple[Mapping[str, object], ...]
    problem: str | None

    def named(self, kid: str) -> list[Mapping[str, object]]:
        """The keys of that name."""
        return [key for key in self.keys if key.get("kid") == kid]

    @property
    def secrets(self) -> list[str]:
        """The names of those keys that are there with their private or secret part; the places of nameless ones."""
        return [
            clean(kid, 80) if isinstance(kid := key.get("kid"), str) and kid else f"keys[{index}]"
            for index, key in enumerate(self.keys)
            if any(key.get(name) for name in _PRIVATE)
        ]


class Signatures(NamedTuple):
    """A card's signatures, the first 50 of them; ``unexamined`` counts the rest.

    ``unwritable`` is why RFC 8785 cannot write the card, as the end of a sentence, where that was tried.
    """

    all: tuple[Signature, ...]
    unexamined: int
    unwritable: str | None


def key_set_links(members: Mapping[str, object], card_url: str) -> list[KeySetLink]:
    """The key sets that a card's sound signatures name by ``jku``, each once, in their order."""
    links: dict[object, KeySetLink] = {}
    for signature in _examined(members):
        written = signature.jku
        if not signature.faults and isinstance(written, str) and written not in links:
            links[written] = _link(signature.path, written, card_url)
    return list(links.values())


def key_set_urls(members: Mapping[str, object], card_url: str) -> list[str]:
    """The URLs of the key sets that may be asked for: those of the card's own site. Each once."""
    return list(dict.fromkeys(link.url for link in key_set_links(members, card_url) if link.problem is None))


class Allowance:
    """What may still be worked through; for all cards of an audit together."""

    def __init__(self, left: int = WORK) -> None:
        self.left = left


def check_signatures(
    members: Mapping[str, object],
    card_url: str,
    key_sets: Mapping[str, FetchedKeySet],
    allowance: Allowance | None = None,
) -> Signatures:
    """Examine and verify a card's signatures. ``key_sets`` are by the URL that :func:`key_set_urls` gives."""
    payloads = Payloads(members)
    verifier = _Verifier(payloads, allowance or Allowance())
    checked: list[Signature] = []
    for signature in _examined(members):
        if signature.faults:
            checked.append(signature)
        else:
            checked.append(_check(signature, members, card_url, key_sets, verifier))
    listed = members.get("signatures")
    return Signatures(
        all=tuple(checked),
        unexamined=max(0, len(listed) - EXAMINED) if isinstance(listed, list) else 0,
        unwritable=payloads.unwritable,
    )


def read_key_set(body: bytes) -> KeySet:
    """Read a JWK Set; entries that are no objects are passed over, as RFC 7517 has it."""
    match strict_json.parse(body):
        case Parsed(value={"keys": list(listed)}):
            return KeySet(tuple(key for key in listed if isinstance(key, dict)), None)
        case NotJson(reason=reason):
            return KeySet((), f"is no key set: {reason}")
        case _:
            return KeySet((), "is no key set: it has no array of keys")


# What a signature says of itself.


def _examined(members: Mapping[str, object]) -> Iterator[Signature]:
    listed = members.get("signatures")
    if listed is None:
        return
    if not isinstance(listed, list):
        yield Signature("signatures", faults=(Fault(FaultKind.FORM, f"is {kind(listed)}, not an array"),))
        return
    for index, entry in enumerate(listed[:EXAMINED]):
        yield _read(f"signatures[{index}]", entry)


def _read(path: str, entry: object) -> Signature:
    if not isinstance(entry, dict):
        return Signature(path, faults=(Fault(FaultKind.FORM, f"is {kind(entry)}, not an object"),))
    faults = [Fault(FaultKind.FORM, told) for told in _form_faults(entry)]
    header = _header(entry.get("protected"))
    if isinstance(header, NotJson):
        return Signature(path, faults=tuple(faults), reason=f"its protected header is too large: {header.reason}")
    if isinstance(header, str):
        return Signature(path, faults=(Fault(FaultKind.FORM, header), *faults))
    unprotected = entry.get("header")
    outside = unprotected if isinstance(unprotected, dict) else {}
    alg, kid = header.get("alg"), header.get("kid")
    if (told := _alg_fault(alg, outside)) is not None:
        faults.append(Fault(FaultKind.ALG, told))
    if (told := _kid_fault(kid, outside)) is not None:
        faults.append(Fault(FaultKind.KID, told))
    signature = Signature(
        path,
        faults=tuple(faults),
        protected=str(entry["protected"]),
        value=(_decoded(written) or b"") if isinstance(written := entry.get("signature"), str) else b"",
        alg=alg if isinstance(alg, str) else "",
        kid=kid if isinstance(kid, str) else "",
        typ=header.get("typ"),
        jku=header.get("jku"),
    )
    if faults:
        return signature
    if "crit" in header:
        return signature._replace(reason="its header has crit, and what that asks for is not known here")
    if "jku" not in header:
        return signature._replace(outcome=Outcome.NO_KEY, reason=_no_jku(header, outside))
    return signature


def _form_faults(entry: Mapping[str, object]) -> Iterator[str]:
    value = entry.get("signature")
    if value is None or value == "":
        yield "has no signature"
    elif not isinstance(value, str):
        yield f"has a signature that is {kind(value)}, not a string"
    elif _decoded(value) is None:
        yield "has a signature that is not base64url without padding"
    outside = entry.get("header")
    if outside is not None and not isinstance(outside, dict):
        yield f"has a header that is {kind(outside)}, not an object"


def _header(protected: object) -> Mapping[str, object] | str | NotJson:
    """The protected header; or what is wrong with it; or why it is not read."""
    if protected is None or protected == "":
        return "has no protected header"
    if not isinstance(protected, str):
        return f"has a protected header that is {kind(protected)}, not a string"
    text = _decoded(protected)
    if text is None:
        return "has a protected header that is not base64url without padding"
    match strict_json.parse(text):
        case NotJson(is_beyond=True) as beyond:
            return beyond
        case NotJson(reason=reason):
            return f"has a protected header that is not JSON: {reason}"
        case Parsed(value=dict(header)):
            return header
        case Parsed(value=value):
            return f"has a protected header that is {kind(value)}, not an object"


def _alg_fault(alg: object, outside: Mapping[str, object]) -> str | None:
    if alg is None or alg == "":
        where = "only in the unprotected header, where anybody can change it" if outside.get("alg") else "nowhere"
        return f"names its algorithm (alg) {where}"
    if not isinstance(alg, str):
        return f"has an alg that is {kind(alg)}, not a string"
    if alg.casefold() == "none":
        return "has alg none: it is no signature at all"
    if alg[:2].upper() == "HS" and alg[2:].isdigit():
        return f"has alg {quoted(alg)}: whoever could verify it could sign, too"
    return None


def _kid_fault(kid: object, outside: Mapping[str, object]) -> str | None:
    if kid is None or kid == "":
        where = "only in the unprotected header" if outside.get("kid") else "nowhere"
        return f"names its key (kid) {where}"
    return None if isinstance(kid, str) else f"has a kid that is {kind(kid)}, not a string"


def _no_jku(header: Mapping[str, object], outside: Mapping[str, object]) -> str:
    if outside.get("jku") is not None:
        return "it names a key set (jku) only in the unprotected header, where anybody can change it"
    if any(name in header for name in ("jwk", "x5c", "x5u")):
        return "it brings its key along (jwk, x5c or x5u), and so could any other; it names no key set (jku)"
    return "it names no key set (jku)"


def _decoded(text: str) -> bytes | None:
    """Base64url without padding (RFC 7515, section 2); None for anything else."""
    if not _BASE64URL.issuperset(text) or len(text) % 4 == 1:
        return None
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


# The key.


def _link(path: str, written: str, card_url: str) -> KeySetLink:
    url = absolute(written)
    if url is None:
        return KeySetLink(path, written, "", "is no absolute http(s) URL")
    try:
        site = Url.parse(card_url.partition("#")[0])
    except UrlError:
        return KeySetLink(path, written, url, "is not followed: the card has no URL of its own")
    parsed = Url.parse(url)
    if is_same_site(parsed, site):
        return KeySetLink(path, written, url, None)
    if parsed.scheme != "https":
        return KeySetLink(path, written, url, "is not followed: it is not https")
    return KeySetLink(path, written, url, "is not followed: it is on another site than the card")


def _check(
    signature: Signature,
    members: Mapping[str, object],
    card_url: str,
    key_sets: Mapping[str, FetchedKeySet],
    verifier: "_Verifier",
) -> Signature:
    if signature.reason:
        return signature
    if signature.alg not in (*_CURVES, *_RSA, *_EDWARDS):
        return signature._replace(reason=f"its algorithm {quoted(signature.alg)} is not known here")
    if not isinstance(signature.jku, str):
        return _no_key(signature, f"its jku is {kind(signature.jku)}, not a URL")
    link = _link(signature.path, signature.jku, card_url)
    if link.problem is not None:
        return _no_key(signature, f"its jku {clean(signature.jku)} {link.problem}")
    fetched = key_sets.get(link.url)
    if fetched is None:
        return _no_key(signature, f"its key set {link.url} was not asked for")
    if fetched.body is None:
        return _no_key(signature, f"its key set {link.url} {fetched.reason}")
    if (moved := _link(signature.path, fetched.url, card_url)).problem is not None:
        return _no_key(signature, f"its key set {link.url} redirects to {clean(fetched.url)}, which {moved.problem}")
    key_set = read_key_set(fetched.body)
    if key_set.problem is not None:
        return _no_key(signature, f"its key set {link.url} {key_set.problem}")
    named = key_set.named(signature.kid)
    if not named:
        return _no_key(signature, f"its key set {link.url} has no key of that kid among its {len(key_set.keys)}")
    signature = signature._replace(key_set=link.url)
    keys: list[_Key] = []
    problems: list[str] = []
    for key in named[:SAME_KID]:
        usable = _key(key, signature.alg)
        if isinstance(usable, str):
            problems.append(usable)
        else:
            keys.append(usable)
    if not keys:
        return signature._replace(outcome=Outcome.KEY_UNFIT, reason=problems[0])
    return verifier.verified(signature, members, keys)


def _no_key(signature: Signature, reason: str) -> Signature:
    return signature._replace(outcome=Outcome.NO_KEY, reason=reason)


def _key(key: Mapping[str, object], alg: str) -> "_Key | str":
    """A key to verify signatures of an algorithm with; or why it is none, as the end of a sentence."""
    if (problem := _unfit(key, alg)) is not None:
        return problem
    from cryptography.exceptions import UnsupportedAlgorithm
    from joserfc.errors import JoseError
    from joserfc.jwk import ECKey, OKPKey, RSAKey

    classes: dict[object, type[_Key]] = {"EC": ECKey, "OKP": OKPKey, "RSA": RSAKey}
    # The public members alone: of what else a stranger writes there, the library might take offence or heed.
    public: dict[str, str | list[str]] = {name: str(key[name]) for name in ("kty", *_PUBLIC[str(key["kty"])])}
    try:
        return classes[key["kty"]].import_key(public)
    except (JoseError, UnsupportedAlgorithm, ValueError):
        return "cannot be read: its numbers are those of no key"


def _unfit(key: Mapping[str, object], alg: str) -> str | None:
    due = "EC" if alg in _CURVES else "RSA" if alg in _RSA else "OKP"
    if key.get("kty") != due:
        return f"is of type {quoted(key.get('kty'))}, and {alg} is done with {due}"
    use = key.get("use")
    if use is not None and use != "sig":
        return f"is not for signatures (use: {quoted(use)})"
    operations = key.get("key_ops")
    if isinstance(operations, list) and "verify" not in operations:
        return "is not to verify with (key_ops)"
    own = key.get("alg")
    if own is not None and own != alg and not (own in _EDWARDS and alg in _EDWARDS):
        return f"is for {quoted(own)}, not for {alg}"
    for name in _PUBLIC[due]:
        value = key.get(name)
        if not isinstance(value, str) or not value or (name != "crv" and _decoded(value) is None):
            return f"cannot be read: {name} is missing, or not base64url"
    curves = {_CURVES.get(alg)} if due == "EC" else {"Ed25519", "Ed448"} if alg == "EdDSA" else {alg}
    if due != "RSA":
        return None if key["crv"] in curves else f"is of the curve {quoted(key['crv'])}, which {alg} is not done with"
    bits = int.from_bytes(_decoded(str(key["n"])) or b"").bit_length()
    if len(_decoded(str(key["e"])) or b"") > 8:
        return "is an RSA key with an exponent of more than 64 bits"
    if not SHORTEST_RSA <= bits <= _LONGEST_RSA:
        return f"is an RSA key of {count(bits, 'bit')}; clients take {SHORTEST_RSA} to {_LONGEST_RSA}"
    return None


class _Verifier:
    """Tries one card's signatures over its payloads."""

    def __init__(self, payloads: Payloads, allowance: Allowance) -> None:
        self._payloads = payloads
        self._allowance = allowance
        self._tried = 0
        self._made = 0

    def verified(self, signature: Signature, members: Mapping[str, object], keys: "list[_Key]") -> Signature:
        """The signature with its outcome."""
        if self._tried >= CHECKED:
            return signature._replace(reason=f"only the first {CHECKED} signatures of a card are verified")
        self._tried += 1
        for index, payload in enumerate(self._payloads):
            self._charge(index, len(payload.text))
            text = signature.protected.encode("ascii") + b"." + base64.urlsafe_b64encode(payload.text).rstrip(b"=")
            for key in keys:
                if self._allowance.left < 0:
                    return signature._replace(reason="there is too much to verify for one audit")
                self._allowance.left -= len(text)
                if _verifies(text, signature.value, key, signature.alg):
                    unsigned = ["securitySchemes"] if payload.form is Form.WITHOUT_SCHEMES else []
                    unsigned += unknown_members(members) if payload.form.drops_unknown else []
                    return signature._replace(outcome=Outcome.VERIFIED, form=payload.form, unsigned=tuple(unsigned))
        return signature._replace(outcome=Outcome.UNMATCHED)

    def _charge(self, index: int, size: int) -> None:
        if index == self._made:
            self._made += 1
            self._allowance.left -= size * _MAKING * (1 if index else 3)


def _verifies(text: bytes, signature: bytes, key: "_Key", alg: str) -> bool:
    from joserfc.jwk import OKPKey
    from joserfc.jws import JWSRegistry

    # By its curve: RFC 9864 has deprecated the name EdDSA, and the library warns of it.
    name = key.curve_name if isinstance(key, OKPKey) else alg
    method = JWSRegistry(algorithms=[name]).get_alg(name)
    method.check_key(key)
    return method.verify(text, signature, key)
