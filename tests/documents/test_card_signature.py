"""Signatures of Agent Cards: their form, the forms of a card that they may cover, the keys, and the bounds."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.documents.card_forms import Form, Payloads, unknown_members
from parley.documents.card_signature import (
    CHECKED,
    EXAMINED,
    Allowance,
    FaultKind,
    FetchedKeySet,
    Outcome,
    Signature,
    Signatures,
    check_signatures,
    key_set_links,
    key_set_urls,
    read_key_set,
)
from parley.wire import strict_json
from parley.wire.strict_json import Parsed
from signing import JKU, SITE, Key, ec, encoded, jwk, okp, rsa, signed

CARD_URL = f"{SITE}/.well-known/agent-card.json"


def fetched(*keys: Mapping[str, object], url: str = JKU) -> dict[str, FetchedKeySet]:
    return {JKU: FetchedKeySet(url, json.dumps({"keys": keys}).encode())}


def outcome(card: object, keys: dict[str, FetchedKeySet] | None = None) -> Signature:
    """What came of a card's one signature."""
    assert isinstance(card, dict)
    (one,) = check_signatures(card, CARD_URL, fetched(jwk(ec())) if keys is None else keys).all
    return one


# --- what it may cover ---

# Every form, each written out by hand: (form, the card without signatures, the text that is signed).
FORMS: list[tuple[Form, dict[str, object], str]] = [
    (
        Form.SERVED,
        {"version": "1", "name": "Wetter – Ä 🌦", "x": {"b": 1.0, "a": [1e-7, None, ""]}},
        '{"name":"Wetter – Ä 🌦","version":"1","x":{"a":[1e-7,null,""],"b":1}}',
    ),
    (
        # The example of A2A 1.0, section 8.4.1.
        Form.SET,
        {
            "name": "Example Agent",
            "description": "",
            "capabilities": {"streaming": False, "pushNotifications": False, "extensions": []},
            "skills": [],
        },
        '{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}',
    ),
    (
        Form.SET,
        {"name": "A", "iconUrl": "", "provider": {}, "securitySchemes": {}, "url": "https://a.example", "x": ""},
        '{"iconUrl":"","name":"A","provider":{},"url":"https://a.example","x":""}',
    ),
    (
        Form.SET_KNOWN,
        {"name": "A", "description": "", "iconUrl": "", "tagline": "x", "securitySchemes": {}},
        '{"description":"","iconUrl":"","name":"A"}',
    ),
    (
        Form.DEFAULTS_DROPPED,
        {"name": "A", "description": "", "iconUrl": "", "capabilities": {"streaming": False}, "skills": [{"tags": []}]},
        '{"capabilities":{"streaming":false},"iconUrl":"","name":"A","skills":[{}]}',
    ),
    (
        Form.SDK,
        {
            "name": "A",
            "documentationUrl": "",
            "url": "https://a.example",
            "supportedInterfaces": [{"url": "https://a.example", "tenant": "", "transport": "JSONRPC"}],
            "capabilities": {
                "streaming": False,
                "extensions": [{"uri": "urn:x", "required": False, "params": {"n": None, "z": 0, "e": [{}]}}],
            },
            "securitySchemes": {
                "b": {"httpAuthSecurityScheme": {"scheme": "Bearer", "description": ""}, "type": "http"}
            },
            "securityRequirements": [{"schemes": {"b": {"list": []}}}],
            "skills": [{"id": "s", "tags": [], "security": [{"b": ["x"]}]}],
        },
        '{"capabilities":{"extensions":[{"params":{"z":0},"uri":"urn:x"}],"streaming":false},"name":"A",'
        '"securitySchemes":{"b":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}},"skills":[{"id":"s"}],'
        '"supportedInterfaces":[{"url":"https://a.example"}]}',
    ),
    (
        Form.EMPTY_DROPPED,
        {"name": "A", "x": {"y": [""]}, "capabilities": {"extensions": [{"required": False}]}, "n": 0, "u": None},
        '{"capabilities":{"extensions":[{"required":false}]},"n":0,"name":"A"}',
    ),
    (
        Form.FALSY_DROPPED,
        {"name": "A", "capabilities": {"streaming": False}, "x": {"n": 0, "m": 1}, "l": [0, 2]},
        '{"l":[2],"name":"A","x":{"m":1}}',
    ),
    (
        Form.JS_INSTANCE,
        {
            "name": "A",
            "capabilities": {"extensions": [{"uri": "urn:x"}]},
            "securitySchemes": {
                "h": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
                "o": {"oauth2SecurityScheme": {"flows": {"authorizationCode": {"tokenUrl": "https://a.example/t"}}}},
            },
        },
        '{"capabilities":{"extensions":[{"required":false,"uri":"urn:x"}]},"name":"A","securitySchemes":{'
        '"h":{"scheme":{"$case":"httpAuthSecurityScheme","value":{"scheme":"Bearer"}}},'
        '"o":{"scheme":{"$case":"oauth2SecurityScheme","value":{"flows":{"flow":{"$case":"authorizationCode",'
        '"value":{"pkceRequired":false,"tokenUrl":"https://a.example/t"}}}}}}}}',
    ),
    (
        Form.WITHOUT_SCHEMES,
        {"name": "A", "securitySchemes": {"h": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}, "version": "1"},
        '{"name":"A","version":"1"}',
    ),
    (
        Form.PYTHON_1,
        {"name": "Ä", "description": "", "tagline": "x"},
        '{"name":"\\u00c4"}',
    ),
    (
        Form.PYTHON_03,
        {
            "name": "Ä",
            "url": "https://a.example",
            "preferredTransport": "JSONRPC",
            "protocolVersion": "0.3.0",
            "capabilities": {"streaming": False},
            "securitySchemes": {"b": {"type": "http", "scheme": "bearer"}},
        },
        '{"capabilities":{"streaming":false},"name":"\\u00c4","securitySchemes":{"b":{"scheme":"bearer"}},'
        '"url":"https://a.example"}',
    ),
    (
        Form.PYTHON_0321,
        {"name": "A", "protocolVersion": "0.3.0", "capabilities": {"streaming": False, "pushNotifications": True}},
        '{"capabilities":{"pushNotifications":true},"name":"A"}',
    ),
    (Form.ESCAPED, {"name": "Ä", "description": ""}, '{"description":"","name":"\\u00c4"}'),
]


@pytest.mark.parametrize(("form", "card", "text"), FORMS, ids=[f"{case[0]}" for case in FORMS])
def test_each_form_verifies(form: Form, card: dict[str, object], text: str) -> None:
    found = outcome(card | {"signatures": [signed(text, ec())]})
    assert (found.outcome, found.form, found.key_set) == (Outcome.VERIFIED, form, JKU)
    assert form.told


def test_every_form_has_a_case() -> None:
    assert {form for form, _, _ in FORMS} == set(Form)


@pytest.mark.parametrize(("form", "card", "text"), FORMS, ids=[f"{case[0]}" for case in FORMS])
def test_another_text_does_not(form: Form, card: dict[str, object], text: str) -> None:
    found = outcome(card | {"signatures": [signed(text.replace("A", "B").replace("Ä", "B") + " ", ec())]})
    assert (found.outcome, found.form) == (Outcome.UNMATCHED, None)


@pytest.mark.parametrize(("form", "card", "text"), FORMS, ids=[f"{case[0]}" for case in FORMS])
def test_a_changed_card_does_not(form: Form, card: dict[str, object], text: str) -> None:
    found = outcome(card | {"name": "Evil", "signatures": [signed(text, ec())]})
    assert found.outcome is Outcome.UNMATCHED


def _sdk_cards() -> dict[str, object]:
    recorded = json.loads((Path(__file__).parent / "signed_cards.json").read_text())
    assert isinstance(recorded["cards"], dict)
    return {name: (recorded["keySet"], card) for name, card in recorded["cards"].items()}


# Cards as SDKs signed them (see the file's names), with one key. What is outside the signature is for 0.3 clients.
OF_0_3 = ("preferredTransport", "protocolVersion", "security", "supportsAuthenticatedExtendedCard", "url")
SDKS: dict[str, tuple[Form, tuple[str, ...]]] = {
    "a2a-sdk 0.3.22": (Form.PYTHON_0321, ()),
    "a2a-sdk 0.3.26": (Form.PYTHON_03, ()),
    "a2a-sdk 1.1.0, with members for A2A 0.3": (Form.PYTHON_1, OF_0_3),
    "a2a-sdk 1.3.0, with members for A2A 0.3": (Form.SDK, OF_0_3),
    "a2a-sdk 1.3.0": (Form.SDK, ()),
    "@a2a-js/sdk 1.0.0-beta.0, a plain object": (Form.EMPTY_DROPPED, ()),
    "@a2a-js/sdk 1.0.0-beta.0, an AgentCard": (Form.JS_INSTANCE, ()),
    "@a2a-js/sdk 1.0.1, a plain object": (Form.SDK, ()),
    "@a2a-js/sdk 1.3.0, a plain object, served through toJSON": (Form.SDK, ()),
    "@a2a-js/sdk 1.3.0, an AgentCard": (Form.WITHOUT_SCHEMES, ("securitySchemes",)),
}


def test_all_sdk_cards_are_expected() -> None:
    assert set(SDKS) == set(_sdk_cards())


@pytest.mark.parametrize("name", sorted(SDKS))
def test_what_an_sdk_signed(name: str) -> None:
    key_set, card = _sdk_cards()[name]  # type: ignore[misc]
    url = "https://a.example/jwks.json"
    keys = {url: FetchedKeySet(url, json.dumps(key_set).encode())}
    (found,) = check_signatures(card, "https://a.example/.well-known/agent-card.json", keys).all
    assert (found.outcome, found.form, found.unsigned) == (Outcome.VERIFIED, *SDKS[name])
    (broken,) = check_signatures(card | {"version": "9"}, "https://a.example/agent-card.json", keys).all
    assert broken.outcome is Outcome.UNMATCHED


def test_what_a_signature_does_not_cover_is_named() -> None:
    card: dict[str, object] = {
        "skills": [{"id": "s", "price": 1}, 3],
        "name": "A",
        "url": "https://a.example",
        "empty": "",
        "securitySchemes": {"b": {"type": "http", "httpAuthSecurityScheme": {"scheme": "Bearer", "x": 1}}},
        "signatures": [],
    }
    assert unknown_members(card) == [
        "url",
        "securitySchemes.b.type",
        "securitySchemes.b.httpAuthSecurityScheme.x",
        "skills[0].price",
    ]
    assert len(unknown_members({f"m{n}": 1 for n in range(1000)})) == 5


def test_a_card_of_0_3_is_no_card_of_1_0_with_strange_members() -> None:
    """Else what is signed of it could be nearly nothing."""
    card: dict[str, object] = {"name": "A", "url": "https://evil.example", "protocolVersion": "0.3.0"}
    entry = signed('{"name":"A"}', ec())
    assert outcome(card | {"signatures": [entry]}).outcome is Outcome.UNMATCHED
    interface = [{"url": "https://a.example"}]
    entry = signed('{"name":"A","supportedInterfaces":[{"url":"https://a.example"}]}', ec())
    found = outcome(card | {"supportedInterfaces": interface, "signatures": [entry]})
    assert (found.outcome, found.unsigned) == (Outcome.VERIFIED, ("url", "protocolVersion"))


@pytest.mark.parametrize("card", [{}, {"x": 1}, {"name": ""}])
def test_a_signature_over_nothing_is_none(card: dict[str, object]) -> None:
    assert outcome(card | {"signatures": [signed("{}", ec())]}).outcome is Outcome.UNMATCHED


def test_texts_are_made_once_and_differ() -> None:
    card = {"name": "Ä", "description": "", "x": 0, "securitySchemes": {"a": {}}}
    payloads = Payloads(card)
    texts = [payload.text for payload in payloads]
    assert len(texts) == len(set(texts)) > 5
    assert [payload.text for payload in payloads] == texts
    assert [payload.text for payload in Payloads({"name": "A"})] == [b'{"name":"A"}']


# --- what a signature says of itself ---

GOOD = {"protected": encoded({"alg": "ES256", "kid": "key-1", "jku": JKU}), "signature": "c2ln"}


def of(**header: object) -> dict[str, object]:
    return GOOD | {"protected": encoded({"alg": "ES256", "kid": "key-1", "jku": JKU} | header)}


FAULTS: list[tuple[str, object, list[tuple[FaultKind, str]]]] = [
    ("an object", {"protected": "x"}, [(FaultKind.FORM, "is an object, not an array")]),
    ("a string", "x", [(FaultKind.FORM, "is a string, not an array")]),
    ("zero", 0, [(FaultKind.FORM, "is a number, not an array")]),
    ("entries that are null", [None], [(FaultKind.FORM, "is null, not an object")]),
    ("a compact JWS", ["eyJ.x.y"], [(FaultKind.FORM, "is a string, not an object")]),
    ("nothing", [{}], [(FaultKind.FORM, "no protected"), (FaultKind.FORM, "no signature")]),
    ("protected null", [GOOD | {"protected": None}], [(FaultKind.FORM, "no protected header")]),
    ("protected empty", [GOOD | {"protected": ""}], [(FaultKind.FORM, "no protected header")]),
    ("protected an object", [GOOD | {"protected": {"alg": "ES256"}}], [(FaultKind.FORM, "an object, not a string")]),
    ("protected padded", [GOOD | {"protected": "e30="}], [(FaultKind.FORM, "base64url without padding")]),
    ("protected in base64", [GOOD | {"protected": "+/+/"}], [(FaultKind.FORM, "base64url without padding")]),
    ("protected of five characters", [GOOD | {"protected": "e30ee"}], [(FaultKind.FORM, "base64url")]),
    ("protected outside ASCII", [GOOD | {"protected": "e30é"}], [(FaultKind.FORM, "base64url")]),
    ("protected with a newline", [GOOD | {"protected": "e30\n"}], [(FaultKind.FORM, "base64url")]),
    ("protected not JSON", [GOOD | {"protected": encoded(b"alg")}], [(FaultKind.FORM, "not JSON")]),
    ("protected not UTF-8", [GOOD | {"protected": encoded(b"\xff")}], [(FaultKind.FORM, "not JSON: it is not UTF-8")]),
    ("protected a list", [GOOD | {"protected": encoded([])}], [(FaultKind.FORM, "an array, not an object")]),
    ("no signature", [{"protected": GOOD["protected"]}], [(FaultKind.FORM, "has no signature")]),
    ("signature a number", [GOOD | {"signature": 5}], [(FaultKind.FORM, "a number, not a string")]),
    ("signature in base64", [GOOD | {"signature": "c2ln+/=="}], [(FaultKind.FORM, "signature that is not base64url")]),
    ("header a string", [GOOD | {"header": "x"}], [(FaultKind.FORM, "header that is a string")]),
    ("no alg", [of(alg=None)], [(FaultKind.ALG, "nowhere")]),
    ("alg unprotected", [of(alg="") | {"header": {"alg": "ES256"}}], [(FaultKind.ALG, "only in the unprotected")]),
    ("alg a number", [of(alg=5)], [(FaultKind.ALG, "a number, not a string")]),
    ("alg none", [of(alg="none")], [(FaultKind.ALG, "alg none")]),
    ("alg None", [of(alg="None")], [(FaultKind.ALG, "alg none")]),
    ("alg HS256", [of(alg="HS256")], [(FaultKind.ALG, "could sign, too")]),
    ("alg hs512", [of(alg="hs512")], [(FaultKind.ALG, "could sign, too")]),
    ("no kid", [of(kid=None)], [(FaultKind.KID, "nowhere")]),
    ("kid unprotected", [of(kid=None) | {"header": {"kid": "key-1"}}], [(FaultKind.KID, "only in the unprotected")]),
    ("kid a number", [of(kid=1)], [(FaultKind.KID, "a number, not a string")]),
    ("neither alg nor kid", [of(alg=None, kid="")], [(FaultKind.ALG, "nowhere"), (FaultKind.KID, "nowhere")]),
]


@pytest.mark.parametrize(("signatures", "faults"), [case[1:] for case in FAULTS], ids=[case[0] for case in FAULTS])
def test_faults(signatures: object, faults: list[tuple[FaultKind, str]]) -> None:
    found = outcome({"name": "A", "signatures": signatures})
    assert [fault.kind for fault in found.faults] == [fault for fault, _ in faults]
    for fault, (_, words) in zip(found.faults, faults, strict=True):
        assert words in fault.told
    assert (found.outcome, found.reason) == (Outcome.NOT_CHECKED, "")
    assert key_set_links({"signatures": signatures}, CARD_URL) == []


@pytest.mark.parametrize("signatures", [None, [], ...])
def test_no_signatures(signatures: object) -> None:
    card = {"name": "A"} | ({} if signatures is ... else {"signatures": signatures})
    assert check_signatures(card, CARD_URL, {}) == Signatures((), 0, None)


# --- the key ---


def test_an_unprotected_header_changes_nothing() -> None:
    entry = signed('{"name":"A"}', ec()) | {"header": {"alg": "none", "kid": "other", "jku": "https://evil.example"}}
    assert outcome({"name": "A", "signatures": [entry]}).outcome is Outcome.VERIFIED


ALGORITHMS: list[tuple[str, Callable[[], Key]]] = [
    ("ES256", ec),
    ("ES384", lambda: ec("P-384")),
    ("ES512", lambda: ec("P-521")),
    ("ES256K", lambda: ec("secp256k1")),
    *((alg, rsa) for alg in ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")),
    ("EdDSA", okp),
    ("Ed25519", okp),
    ("EdDSA", lambda: okp("Ed448")),
    ("Ed448", lambda: okp("Ed448")),
]


@pytest.mark.parametrize(("alg", "make"), ALGORITHMS)
def test_algorithms(alg: str, make: Callable[[], Key]) -> None:
    entry = signed('{"name":"A"}', make(), alg=alg)
    keys = fetched(jwk(make()))
    assert outcome({"name": "A", "signatures": [entry]}, keys).outcome is Outcome.VERIFIED
    assert outcome({"name": "B", "signatures": [entry]}, keys).outcome is Outcome.UNMATCHED
    assert outcome({"name": "A", "signatures": [entry | {"signature": "AAAA"}]}, keys).outcome is Outcome.UNMATCHED
    flipped = ("A" if str(entry["signature"])[0] != "A" else "B") + str(entry["signature"])[1:]
    assert outcome({"name": "A", "signatures": [entry | {"signature": flipped}]}, keys).outcome is Outcome.UNMATCHED


UNFIT: list[tuple[str, dict[str, object], str]] = [
    ("of another type", jwk(rsa()), 'is of type "RSA"'),
    ("of no type", {"kid": "key-1"}, "is of type null"),
    ("of a type that is a list", {"kid": "key-1", "kty": ["EC"]}, "is of type"),
    ("symmetric", {"kid": "key-1", "kty": "oct", "k": "c2VjcmV0"}, 'is of type "oct"'),
    ("for encryption", jwk(ec(), use="enc"), 'use: "enc"'),
    ("to sign with alone", jwk(ec(), key_ops=["sign"]), "key_ops"),
    ("for another algorithm", jwk(ec(), alg="ES384"), 'is for "ES384"'),
    ("of another curve", jwk(ec("P-384")), 'of the curve "P-384"'),
    ("without a coordinate", jwk(ec(), y=None), "y is missing"),
    ("with a coordinate of nothing", jwk(ec(), x="!"), "x is missing"),
    ("not on its curve", jwk(ec(), x="AAAA", y="AAAA"), "those of no key"),
]


@pytest.mark.parametrize(("key", "words"), [case[1:] for case in UNFIT], ids=[case[0] for case in UNFIT])
def test_unfit_keys(key: dict[str, object], words: str) -> None:
    card = {"name": "A", "signatures": [signed('{"name":"A"}', ec())]}
    found = outcome(card, fetched(key))
    assert (found.outcome, found.key_set) == (Outcome.KEY_UNFIT, JKU)
    assert words in found.reason
    # Beside a fit one of the same name, it does not matter.
    assert outcome(card, fetched(key, jwk(ec()))).outcome is Outcome.VERIFIED


@pytest.mark.parametrize("extra", [{"use": None}, {"alg": "ES256"}, {"key_ops": ["verify"]}, {"x5u": 5, "use": "sig"}])
def test_what_else_a_key_may_say(extra: dict[str, object]) -> None:
    card = {"name": "A", "signatures": [signed('{"name":"A"}', ec())]}
    assert outcome(card, fetched(jwk(ec()) | extra)).outcome is Outcome.VERIFIED


def test_rsa_keys_have_a_size() -> None:
    small = jwk(rsa(2048), n=encoded((2**1023 + 1).to_bytes(128)))
    huge = jwk(rsa(2048), n=encoded((2**20_000 + 1).to_bytes(2501)))
    card = {"name": "A", "signatures": [signed('{"name":"A"}', rsa(), alg="RS256")]}
    slow = jwk(rsa(2048), e=encoded((2**64 + 1).to_bytes(9)))
    assert "exponent of more than 64 bits" in outcome(card, fetched(slow)).reason
    for key, bits in ((small, 1024), (huge, 20_001)):
        found = outcome(card, fetched(key))
        assert (found.outcome, f"of {bits} bits" in found.reason) == (Outcome.KEY_UNFIT, True)


def test_an_edwards_key_by_either_name() -> None:
    for own, alg in (("EdDSA", "Ed25519"), ("Ed25519", "EdDSA")):
        card = {"name": "A", "signatures": [signed('{"name":"A"}', okp(), alg=alg)]}
        assert outcome(card, fetched(jwk(okp(), alg=own))).outcome is Outcome.VERIFIED
    card = {"name": "A", "signatures": [signed('{"name":"A"}', okp(), alg="Ed448")]}
    assert outcome(card, fetched(jwk(okp()))).outcome is Outcome.KEY_UNFIT


def test_a_private_key_verifies_too_and_is_named() -> None:
    card = {"name": "A", "signatures": [signed('{"name":"A"}', ec())]}
    published = jwk(ec(), private=True)
    assert outcome(card, fetched(published)).outcome is Outcome.VERIFIED
    keys = read_key_set(json.dumps({"keys": [jwk(ec()), published, {"k": "c2VjcmV0"}, {"k": ""}, 5]}).encode())
    assert keys.secrets == ["key-1", "keys[2]"]


def test_several_keys_of_one_name() -> None:
    card = {"name": "A", "signatures": [signed('{"name":"A"}', ec())]}
    others = [jwk(ec("P-256"), kid="other")] * 2000
    second = [jwk(type(ec()).generate_key("P-256")), jwk(ec())]
    assert outcome(card, fetched(*others, *second)).outcome is Outcome.VERIFIED


# Why there is no key: (name, header, what came of the key set, words of the reason).
NO_KEY: list[tuple[str, dict[str, object], dict[str, FetchedKeySet], str]] = [
    ("no jku", {"jku": None}, {}, "it names no key set"),
    ("its own key", {"jku": None, "jwk": jwk(ec())}, {}, "it brings its key along"),
    ("a certificate", {"jku": None, "x5c": ["MII"]}, {}, "it brings its key along"),
    ("another site", {"jku": "https://evil.example/jwks.json"}, {}, "on another site"),
    ("a longer name", {"jku": "https://evilweather.example/jwks.json"}, {}, "on another site"),
    ("http", {"jku": "http://weather.example/jwks.json"}, {}, "it is not https"),
    ("this machine", {"jku": "http://127.0.0.1/jwks.json"}, {}, "it is not https"),
    ("this machine by https", {"jku": "https://127.0.0.1/jwks.json"}, {}, "on another site"),
    ("a file", {"jku": "file:///etc/passwd"}, {}, "is no absolute http(s) URL"),
    ("relative", {"jku": "/jwks.json"}, {}, "is no absolute http(s) URL"),
    ("a number", {"jku": 5}, {}, "its jku is a number"),
    ("not asked for", {}, {}, "was not asked for"),
    ("no answer", {}, {JKU: FetchedKeySet(JKU, None, "answered 404")}, "jwks.json answered 404"),
    ("a web page", {}, {JKU: FetchedKeySet(JKU, b"<html>")}, "is no key set: it is not JSON"),
    ("no keys", {}, {JKU: FetchedKeySet(JKU, b'{"keys":{}}')}, "it has no array of keys"),
    ("one key", {}, {JKU: FetchedKeySet(JKU, json.dumps(jwk(ec())).encode())}, "it has no array of keys"),
    ("other keys", {}, fetched(jwk(ec(), kid="key-2"), jwk(ec(), kid=None)), "no key of that kid among its 2"),
    ("redirected away", {}, fetched(jwk(ec()), url="https://evil.example/x"), "redirects to https://evil.example/x"),
]


@pytest.mark.parametrize(("header", "keys", "words"), [case[1:] for case in NO_KEY], ids=[case[0] for case in NO_KEY])
def test_no_key(header: dict[str, object], keys: dict[str, FetchedKeySet], words: str) -> None:
    found = outcome({"name": "A", "signatures": [signed('{"name":"A"}', ec(), **header)]}, keys)
    assert found.outcome is Outcome.NO_KEY
    assert words in found.reason


def test_a_jku_that_is_not_signed_is_not_used() -> None:
    entry = signed('{"name":"A"}', ec(), jku=None) | {"header": {"jku": JKU}}
    found = outcome({"name": "A", "signatures": [entry]})
    assert (found.outcome, "only in the unprotected header" in found.reason) == (Outcome.NO_KEY, True)


@pytest.mark.parametrize(
    ("header", "words"), [({"crit": ["b64"], "b64": False}, "crit"), ({"alg": "ML-DSA-44"}, '"ML-DSA-44"')]
)
def test_what_is_not_known_is_not_judged(header: dict[str, object], words: str) -> None:
    entry = signed('{"name":"A"}', ec()) | {"protected": of(**header)["protected"]}
    found = outcome({"name": "A", "signatures": [entry]})
    assert (found.outcome, words in found.reason, found.faults) == (Outcome.NOT_CHECKED, True, ())


def test_a_header_that_is_not_read_is_not_judged() -> None:
    entry = GOOD | {"protected": encoded(b'{"a":' + b"[" * 100 + b"]" * 100 + b"}")}
    found = outcome({"name": "A", "signatures": [entry]})
    assert (found.outcome, found.faults) == (Outcome.NOT_CHECKED, ())
    assert "more than 64 levels deep" in found.reason


SITES: list[tuple[str, str, bool]] = [
    ("https://weather.example/a.json", "https://weather.example/jwks.json", True),
    ("https://weather.example/a.json", "https://WEATHER.example:8443/jwks.json", True),
    ("https://weather.example/a.json", "https://keys.weather.example/jwks.json", True),
    ("https://eu.weather.example/a.json", "https://weather.example/jwks.json", True),
    ("https://weather.example/c.json#/entries/0/data", "https://weather.example/jwks.json", True),
    ("http://127.0.0.1:8000/a.json", "http://127.0.0.1:9000/jwks.json", True),
    ("http://localhost:8000/a.json", "http://localhost:8000/jwks.json", True),
    ("http://127.0.0.1:8000/a.json", "http://127.0.0.2:8000/jwks.json", False),
    ("http://weather.example/a.json", "http://weather.example/jwks.json", False),
    ("https://a.weather.example/a.json", "https://b.weather.example/jwks.json", False),
    ("https://weather.example/a.json", "https://weather.example.evil.example/jwks.json", False),
    ("https://weather.example/a.json", "https://example/jwks.json", False),
    ("https://1.2.3.4/a.json", "https://2.3.4/jwks.json", False),
    ("https://weather.example/a.json", "https://user@weather.example/jwks.json", False),
    ("not a URL", "https://weather.example/jwks.json", False),
]


@pytest.mark.parametrize(("card_url", "jku", "is_followed"), SITES)
def test_which_key_sets_may_be_asked_for(card_url: str, jku: str, is_followed: bool) -> None:
    members = {"signatures": [of(jku=jku), of(jku=jku)]}
    (link,) = key_set_links(members, card_url)
    assert (link.path, link.written, link.problem is None) == ("signatures[0]", jku, is_followed)
    assert key_set_urls(members, card_url) == ([link.url] if is_followed else [])


def test_key_sets_are_asked_for_once() -> None:
    entries = [of(jku=JKU), of(jku=f"{SITE}:443/jwks.json"), of(jku=f"{SITE}/b"), of(jku="https://x.example"), {}]
    assert key_set_urls({"signatures": entries}, CARD_URL) == [JKU, f"{SITE}/b"]


# --- bounds ---


def test_many_signatures() -> None:
    found = check_signatures(
        {"name": "A", "signatures": [signed('{"name":"A"}', ec())] * 10_000}, CARD_URL, fetched(jwk(ec()))
    )
    assert (len(found.all), found.unexamined) == (EXAMINED, 10_000 - EXAMINED)
    assert [one.outcome for one in found.all] == [Outcome.VERIFIED] * CHECKED + [Outcome.NOT_CHECKED] * (
        EXAMINED - CHECKED
    )
    assert "only the first 5" in found.all[-1].reason


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"name":"A","n":12345678901234567890}', "whole number beyond 2^53"),
        ('{"name":"\\ud800"}', "half a character"),
        ('{"name":"A","\\udc00":1}', "half a character"),
    ],
)
def test_what_the_canonical_form_cannot_write(text: str, told: str) -> None:
    parsed = strict_json.parse(text.encode())
    assert isinstance(parsed, Parsed)
    assert isinstance(parsed.value, dict)
    card = parsed.value | {"signatures": [signed('{"name":"B"}', ec())]}
    found = check_signatures(card, CARD_URL, fetched(jwk(ec())))
    assert found.all[0].outcome is Outcome.UNMATCHED
    assert found.unwritable is not None
    assert told in found.unwritable


def test_a_large_number_in_a_struct_is_a_double() -> None:
    card: dict[str, object] = {"capabilities": {"extensions": [{"uri": "u", "params": {"n": 2**60, "m": 10**400}}]}}
    del card["capabilities"]["extensions"][0]["params"]["m"]  # type: ignore[index]
    text = '{"capabilities":{"extensions":[{"params":{"n":1152921504606847000},"uri":"u"}]}}'
    assert outcome(card | {"signatures": [signed(text, ec())]}).form is Form.SDK


HUGE: list[tuple[str, bytes]] = [
    ("a text that is all escapes", b'{"description":"' + b"\\n" * 440_000 + b'","skills":[{"tags":[""]}],"url":"x"}'),
    ("many members", b'{"x":{' + b",".join(b'"m%d":""' % n for n in range(45_000)) + b'},"url":"x"}'),
    ("many skills", b'{"skills":[' + b",".join([b'{"id":"s","tags":[]}'] * 15_000) + b'],"url":"x"}'),
    ("many numbers", b'{"url":"x","n":[' + b",".join([b"1.5e300"] * 90_000) + b"]}"),
    ("great depth", b'{"x":' * 60 + b"0" + b"}" * 60),
    ("long names", b'{"' + b"n" * 800_000 + b'":{"":0}}'),
    ("many schemes", b'{"securitySchemes":{' + b",".join(b'"s%d":{"x":{}}' % n for n in range(24_000)) + b"}}"),
]


@pytest.mark.parametrize("text", [case[1] for case in HUGE], ids=[case[0] for case in HUGE])
def test_large_cards_end(text: bytes) -> None:
    parsed = strict_json.parse(text)
    assert isinstance(parsed, Parsed)
    assert isinstance(parsed.value, dict)
    entries = [signed("{}", okp("Ed448"), alg="EdDSA")] * 5
    key_set = fetched(*[jwk(okp("Ed448"))] * 4)
    found = check_signatures(parsed.value | {"signatures": entries}, CARD_URL, key_set)
    assert {one.outcome for one in found.all} <= {Outcome.UNMATCHED, Outcome.NOT_CHECKED}
    for one in found.all:
        assert one.outcome is Outcome.UNMATCHED or "too much to verify" in one.reason


def test_the_allowance_is_of_all_cards_together() -> None:
    allowance = Allowance(10_000)
    card = {"name": "A", "signatures": [signed('{"name":"B"}', ec())]}
    outcomes = [check_signatures(card, CARD_URL, fetched(jwk(ec())), allowance).all[0].outcome for _ in range(100)]
    assert outcomes[0] is Outcome.UNMATCHED
    assert outcomes[-1] is Outcome.NOT_CHECKED
    assert sorted(outcomes, key=lambda one: one is Outcome.NOT_CHECKED) == outcomes


def test_large_key_sets_and_headers() -> None:
    many = [jwk(ec(), kid=f"key-{n}") for n in range(5000)]
    card = {"name": "A", "signatures": [signed('{"name":"A"}', ec(), kid="key-4999")]}
    assert outcome(card, fetched(*many)).outcome is Outcome.VERIFIED
    assert outcome({"name": "A", "signatures": [of(kid="k" * 600_000)]}).outcome is Outcome.NO_KEY
    assert outcome({"name": "A", "signatures": [GOOD | {"signature": "A" * 800_000}]}).outcome is Outcome.UNMATCHED
    nested = b'{"keys":' + b"[" * 5000 + b"]" * 5000 + b"}"
    assert outcome(card, {JKU: FetchedKeySet(JKU, nested)}).outcome is Outcome.NO_KEY


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
NAMES = st.sampled_from(["protected", "signature", "header", "alg", "kid", "jku", "typ", "crit", "jwk"])
ENCODED = st.dictionaries(NAMES, JSON | st.sampled_from(["ES256", "RS256", "EdDSA", "key-1", JKU])).map(encoded)
KEY_PARTS = st.sampled_from(["kty", "crv", "x", "y", "n", "e", "d", "use", "alg", "key_ops", "kid"])
PARTS = JSON | st.binary(max_size=300).map(encoded) | st.sampled_from(["EC", "OKP", "RSA", "P-256", "Ed25519", "AQAB"])


@settings(deadline=None)
@given(signatures=JSON | st.lists(st.dictionaries(NAMES, JSON | ENCODED)))
def test_any_signatures(signatures: object) -> None:
    members = {"name": "A", "signatures": signatures}
    for url in key_set_urls(members, CARD_URL):
        assert url.startswith("https://")
    for one in check_signatures(members, CARD_URL, fetched(jwk(ec()))).all:
        assert one.outcome is not Outcome.VERIFIED
        assert one.faults or one.reason or one.outcome is Outcome.UNMATCHED


@settings(deadline=None)
@given(card=st.dictionaries(st.text() | st.sampled_from(["name", "skills", "capabilities", "securitySchemes"]), JSON))
def test_any_card(card: dict[str, object]) -> None:
    found = outcome(card | {"signatures": [signed("[]", ec())]})
    assert found.outcome is Outcome.UNMATCHED


@settings(deadline=None)
@given(
    alg=st.sampled_from(["ES256", "RS256", "PS512", "EdDSA", "Ed448"]),
    kty=st.sampled_from(["EC", "RSA", "OKP"]),
    parts=st.dictionaries(KEY_PARTS, PARTS),
    number=st.binary(min_size=250, max_size=400),
)
def test_any_key(alg: str, kty: str, parts: dict[str, object], number: bytes) -> None:
    entry = GOOD | {"protected": of(alg=alg)["protected"]}
    key: dict[str, object] = {
        "kty": kty,
        "crv": "Ed25519",
        "x": encoded(number[:32]),
        "n": encoded(number),
        "e": "AQAB",
    }
    for one in (key | parts, parts):
        found = outcome({"name": "A", "signatures": [entry]}, fetched(one | {"kid": "key-1"}))
        assert found.outcome in (Outcome.KEY_UNFIT, Outcome.UNMATCHED)
