"""The texts that a signature of an A2A Agent Card may cover.

A2A 1.0 has the card written by RFC 8785 without its ``signatures``, and says two things about default values: section
8.4.1 keeps those that were set, 8.4.3 drops all. What the SDKs do is neither, and has changed: hence these forms.
"""

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

UNKNOWN: Final = 5
"""Paths of members outside A2A 1.0 that are named; there may be more."""


class Form(StrEnum):
    """What was signed: the value is how a report's data names it."""

    SERVED = "as-served"
    SET = "set-members"
    SET_KNOWN = "set-members-of-1.0"
    DEFAULTS_DROPPED = "defaults-dropped"
    SDK = "sdk"
    EMPTY_DROPPED = "empty-dropped"
    FALSY_DROPPED = "falsy-dropped"
    JS_INSTANCE = "javascript-instance"
    WITHOUT_SCHEMES = "without-security-schemes"
    PYTHON_1 = "python-1.x-escaped"
    PYTHON_03 = "python-0.3.24-escaped"
    PYTHON_0321 = "python-0.3.21-escaped"
    ESCAPED = "escaped"

    @property
    def told(self) -> str:
        """The form for people, after the word "over"."""
        return _TOLD[self]

    @property
    def drops_unknown(self) -> bool:
        """Whether members that A2A 1.0 does not know are outside the signature."""
        return self in (
            Form.SET_KNOWN,
            Form.DEFAULTS_DROPPED,
            Form.SDK,
            Form.JS_INSTANCE,
            Form.WITHOUT_SCHEMES,
            Form.PYTHON_1,
        )

    @property
    def fault(self) -> str | None:
        """What keeps a client that goes by the A2A 1.0 text from arriving at this form; None if nothing does."""
        if self in (Form.PYTHON_1, Form.PYTHON_03, Form.PYTHON_0321, Form.ESCAPED):
            return "it was written with \\u escapes or in another order than RFC 8785's"
        if self is Form.WITHOUT_SCHEMES:
            return "securitySchemes was left out, so whoever changes them breaks no signature"
        if self is Form.JS_INSTANCE:
            return "securitySchemes was signed as the SDK holds it in memory ($case), not as it is served"
        return None


_TOLD: Final = {
    Form.SERVED: "the card as served",
    Form.SET: "the card without default values that nobody set (A2A 1.0, section 8.4.1)",
    Form.SET_KNOWN: "the card's A2A 1.0 members, without default values that nobody set (section 8.4.1)",
    Form.DEFAULTS_DROPPED: "the card's A2A 1.0 members, without default values (section 8.4.3)",
    Form.SDK: "the card's A2A 1.0 members, without default and empty values, as the Python and JavaScript SDKs sign",
    Form.EMPTY_DROPPED: "the card without empty values, as the JavaScript SDK before 1.0.1 signed",
    Form.FALSY_DROPPED: "the card without empty values, false and 0",
    Form.JS_INSTANCE: "the card as the JavaScript SDK before 1.0.1 held it in memory",
    Form.WITHOUT_SCHEMES: "the card without securitySchemes, as the JavaScript SDK 1.x signs a card that it has parsed",
    Form.PYTHON_1: "the card as the Python SDK 1.0 and 1.1 signed",
    Form.PYTHON_03: "the card as the Python SDK 0.3.24 and later signs",
    Form.PYTHON_0321: "the card as the Python SDK 0.3.21 to 0.3.23 signed",
    Form.ESCAPED: "the card as sorted JSON with \\u escapes",
}

# The messages of a2a.proto 1.0 that an AgentCard is made of. First presence: "!" REQUIRED, "?" optional, "." implicit.
# Then the type: "" a scalar, "*" a Struct, a message's name; "[" a list and "{" a map, each of what follows.
_MESSAGES: Final[Mapping[str, Mapping[str, str]]] = {
    "AgentCard": {
        "name": "!",
        "description": "!",
        "supportedInterfaces": "![AgentInterface",
        "provider": ".AgentProvider",
        "version": "!",
        "documentationUrl": "?",
        "capabilities": "!AgentCapabilities",
        "securitySchemes": ".{SecurityScheme",
        "securityRequirements": ".[SecurityRequirement",
        "defaultInputModes": "![",
        "defaultOutputModes": "![",
        "skills": "![AgentSkill",
        "iconUrl": "?",
    },
    "AgentInterface": {"url": "!", "protocolBinding": "!", "tenant": ".", "protocolVersion": "!"},
    "AgentProvider": {"url": "!", "organization": "!"},
    "AgentCapabilities": {
        "streaming": "?",
        "pushNotifications": "?",
        "extensions": ".[AgentExtension",
        "extendedAgentCard": "?",
    },
    "AgentExtension": {"uri": ".", "description": ".", "required": ".", "params": ".*"},
    "AgentSkill": {
        "id": "!",
        "name": "!",
        "description": "!",
        "tags": "![",
        "examples": ".[",
        "inputModes": ".[",
        "outputModes": ".[",
        "securityRequirements": ".[SecurityRequirement",
    },
    "SecurityRequirement": {"schemes": ".{StringList"},
    "StringList": {"list": ".["},
    "SecurityScheme": {
        "apiKeySecurityScheme": ".APIKeySecurityScheme",
        "httpAuthSecurityScheme": ".HTTPAuthSecurityScheme",
        "oauth2SecurityScheme": ".OAuth2SecurityScheme",
        "openIdConnectSecurityScheme": ".OpenIdConnectSecurityScheme",
        "mtlsSecurityScheme": ".MutualTlsSecurityScheme",
    },
    "APIKeySecurityScheme": {"description": ".", "location": "!", "name": "!"},
    "HTTPAuthSecurityScheme": {"description": ".", "scheme": "!", "bearerFormat": "."},
    "OAuth2SecurityScheme": {"description": ".", "flows": "!OAuthFlows", "oauth2MetadataUrl": "."},
    "OpenIdConnectSecurityScheme": {"description": ".", "openIdConnectUrl": "!"},
    "MutualTlsSecurityScheme": {"description": "."},
    "OAuthFlows": {
        "authorizationCode": ".AuthorizationCodeOAuthFlow",
        "clientCredentials": ".ClientCredentialsOAuthFlow",
        "implicit": ".ImplicitOAuthFlow",
        "password": ".PasswordOAuthFlow",
        "deviceCode": ".DeviceCodeOAuthFlow",
    },
    "AuthorizationCodeOAuthFlow": {
        "authorizationUrl": "!",
        "tokenUrl": "!",
        "refreshUrl": ".",
        "scopes": "!{",
        "pkceRequired": ".",
    },
    "ClientCredentialsOAuthFlow": {"tokenUrl": "!", "refreshUrl": ".", "scopes": "!{"},
    "ImplicitOAuthFlow": {"authorizationUrl": ".", "refreshUrl": ".", "scopes": ".{"},
    "PasswordOAuthFlow": {"tokenUrl": ".", "refreshUrl": ".", "scopes": ".{"},
    "DeviceCodeOAuthFlow": {"deviceAuthorizationUrl": "!", "tokenUrl": "!", "refreshUrl": ".", "scopes": "!{"},
}


class Payload(NamedTuple):
    """A text that may have been signed, and the first form that gives it."""

    form: Form
    text: bytes


class Payloads:
    """A card's texts, each different one once, made as they are asked for and then kept.

    ``unwritable`` says why RFC 8785 cannot write the card, as the end of a sentence, once a text was skipped for that.
    """

    def __init__(self, members: Mapping[str, object]) -> None:
        self.unwritable: str | None = None
        self._made: list[Payload] = []
        self._rest = self._make({name: value for name, value in members.items() if name != "signatures"})

    def __iter__(self) -> Iterator[Payload]:
        yield from self._made
        for payload in self._rest:
            self._made.append(payload)
            yield payload

    def _make(self, card: dict[str, object]) -> Iterator[Payload]:
        is_0 = "url" in card and "supportedInterfaces" not in card  # whose members A2A 1.0 does not know
        seen: set[bytes] = set()
        tried: set[bytes] = set()
        for form, value in _values(card):
            if not value or (form.drops_unknown and is_0):  # a signature over that would prove nothing
                continue
            escaped = _escaped(value)
            if form in (Form.PYTHON_1, Form.PYTHON_03, Form.PYTHON_0321, Form.ESCAPED):
                text: bytes | None = escaped
            elif escaped in tried:  # RFC 8785 takes four times as long, and would give the same again
                continue
            else:
                tried.add(escaped)
                text = self._canonical(value)
            if text is not None and text not in seen:
                seen.add(text)
                yield Payload(form, text)

    def _canonical(self, value: object) -> bytes | None:
        import rfc8785

        try:
            return rfc8785.dumps(value)  # type: ignore[arg-type]
        except rfc8785.IntegerDomainError:
            self.unwritable = "it holds a whole number beyond 2^53"
        except ValueError:  # its own, and Unicode's for a member's name
            self.unwritable = "it holds half a character (a lone surrogate)"
        return None


def unknown_members(card: Mapping[str, object]) -> list[str]:
    """Paths of members that A2A 1.0 does not know and that are not empty: ``url``, ``skills[0].security``."""
    found: list[str] = []
    _unknown({name: value for name, value in card.items() if name != "signatures"}, "AgentCard", "", found)
    return found[:UNKNOWN]


def _values(card: dict[str, object]) -> Iterator[tuple[Form, object]]:
    yield Form.SERVED, card
    known = _message(card, "AgentCard", keep_required=False, keep_unknown=False)
    sdk = _without_empty(known)
    yield Form.SDK, sdk
    yield Form.SET, _message(card, "AgentCard", keep_required=True, keep_unknown=True)
    yield Form.SET_KNOWN, _message(card, "AgentCard", keep_required=True, keep_unknown=False)
    yield Form.DEFAULTS_DROPPED, known
    yield Form.EMPTY_DROPPED, _without_empty(card)
    yield Form.FALSY_DROPPED, _without_falsy(card)
    yield Form.JS_INSTANCE, _without_empty(_as_instance(known))
    yield Form.WITHOUT_SCHEMES, _without(sdk, "securitySchemes")
    yield Form.PYTHON_1, sdk
    yield Form.PYTHON_03, _without_empty(_without_pydantic_defaults(card))
    yield Form.PYTHON_0321, _without_falsy(_without_pydantic_defaults(card))
    yield Form.ESCAPED, card


def _escaped(value: object) -> bytes:
    """As Python writes it if told to sort: ``\\u`` escapes, names by code point."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode("ascii")


def _message(value: object, name: str, *, keep_required: bool, keep_unknown: bool) -> object:
    """A message's JSON after a round trip through protobuf, which keeps no value that is its type's default."""
    if not isinstance(value, dict):
        return value
    kept: dict[str, object] = {}
    for member, item in value.items():
        field = _MESSAGES[name].get(member)
        if field is None:
            if keep_unknown:
                kept[member] = item
            continue
        presence, kind = field[0], field[1:]
        if item is None:
            continue
        made = _field(item, kind, keep_required=keep_required, keep_unknown=keep_unknown)
        has_presence = presence == "?" or kind[:1] not in ("", "[", "{")
        if made or has_presence or (presence == "!" and keep_required):
            kept[member] = made
    return kept


def _field(value: object, kind: str, *, keep_required: bool, keep_unknown: bool) -> object:
    if kind == "*":
        return _doubles(value)
    container, message = (kind[:1], kind[1:]) if kind[:1] in ("[", "{") else ("", kind)
    if not message:
        return value

    def inner(item: object) -> object:
        return _message(item, message, keep_required=keep_required, keep_unknown=keep_unknown)

    if container == "[" and isinstance(value, list):
        return [inner(item) for item in value]
    if container == "{" and isinstance(value, dict):
        return {key: inner(item) for key, item in value.items()}
    return value if container else inner(value)


def _doubles(value: object) -> object:
    """A Struct's numbers, which are doubles: a whole number beyond 2^53 loses its last digits."""
    if isinstance(value, dict):
        return {key: _doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_doubles(item) for item in value]
    if isinstance(value, int) and abs(value) > 2**53 and abs(value) < 10**308:
        return float(value)
    return value


def _without_empty(value: object) -> object:
    """Without ``""``, ``[]``, ``{}`` and null, and without what is empty then, in lists too."""
    if isinstance(value, dict):
        pairs = ((key, _without_empty(item)) for key, item in value.items())
        return {key: item for key, item in pairs if not _is_empty(item)}
    if isinstance(value, list):
        return [item for item in map(_without_empty, value) if not _is_empty(item)]
    return value


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value)


def _without_falsy(value: object) -> object:
    if isinstance(value, dict):
        return {key: made for key, item in value.items() if (made := _without_falsy(item))}
    if isinstance(value, list):
        return [made for item in value if (made := _without_falsy(item))]
    return value


def _without(value: object, member: str) -> object:
    return {key: item for key, item in value.items() if key != member} if isinstance(value, dict) else value


def _without_pydantic_defaults(card: dict[str, object]) -> dict[str, object]:
    """Without what the Python SDK 0.3 takes for granted: its models' defaults, a scheme's type among them."""
    made = {
        name: value
        for name, value in card.items()
        if (name, value) not in (("preferredTransport", "JSONRPC"), ("protocolVersion", "0.3.0"))
    }
    schemes = made.get("securitySchemes")
    if isinstance(schemes, dict):
        made["securitySchemes"] = {name: _without(scheme, "type") for name, scheme in schemes.items()}
    return made


def _as_instance(card: object) -> object:
    """A card as the JavaScript SDK holds it: a oneof as ``$case`` and ``value``, and false where nothing was said."""
    if not isinstance(card, dict):
        return card
    made = dict(card)
    schemes = made.get("securitySchemes")
    if isinstance(schemes, dict):
        made["securitySchemes"] = {name: {"scheme": _case(scheme)} for name, scheme in schemes.items()}
    capabilities = made.get("capabilities")
    if isinstance(capabilities, dict) and isinstance(extensions := capabilities.get("extensions"), list):
        made["capabilities"] = capabilities | {
            "extensions": [{"required": False} | item if isinstance(item, dict) else item for item in extensions]
        }
    return made


def _case(holder: object) -> object:
    """The one member of a oneof's holder."""
    if not isinstance(holder, dict) or len(holder) != 1:
        return holder
    ((case, value),) = holder.items()
    if case == "oauth2SecurityScheme" and isinstance(value, dict):
        value = value | {"flows": {"flow": _case(value.get("flows"))}}
    elif case == "authorizationCode" and isinstance(value, dict):
        value = {"pkceRequired": False} | value
    return {"$case": case, "value": value}


def _unknown(value: object, name: str, path: str, found: list[str]) -> None:
    """Add the unknown members of a message, and then those of its known ones."""
    if not isinstance(value, dict) or len(found) >= UNKNOWN:
        return
    fields = _MESSAGES[name]
    for member, item in value.items():
        if member not in fields and not _is_empty(item):
            found.append(f"{path}{member}")
    for member, field in fields.items():
        container, message = (field[1:2], field[2:]) if field[1:2] in ("[", "{") else ("", field[1:])
        if message in ("", "*") or member not in value:
            continue
        item, place = value[member], f"{path}{member}"
        if container == "[" and isinstance(item, list):
            for index, part in enumerate(item):
                _unknown(part, message, f"{place}[{index}].", found)
        elif container == "{" and isinstance(item, dict):
            for key, part in item.items():
                _unknown(part, message, f"{place}.{key}.", found)
        elif not container:
            _unknown(item, message, f"{place}.", found)
