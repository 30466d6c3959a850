"""Every code about signatures of ``PARLEY-A2aAgentCardAuditor``, where it fires and where it must not."""

import json
import subprocess
import sys
from collections.abc import Mapping

import pytest

from parley.documents import credentials
from parley.documents.agent_card import Purpose
from parley.evidence import Evidence, Exchange, Failure, FailureCode
from parley.report import AuditorReport
from parley.rules.a2a_signatures import A2aSignatureRules
from parley.target import Target
from signing import JKU, SITE, ec, encoded, jwk, okp, rsa, signed
from sites import NOTHING, Answer, fails

URL = f"{SITE}/.well-known/agent-card.json"

V1: dict[str, object] = {
    "name": "Weather",
    "description": "Says what the weather will be.",
    "version": "1.4.0",
    "supportedInterfaces": [{"url": f"{SITE}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
    "capabilities": {"streaming": True},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "f", "name": "Forecast", "description": "For ten days.", "tags": ["weather"]}],
}
HYBRID = V1 | {"url": f"{SITE}/a2a", "preferredTransport": "JSONRPC", "protocolVersion": "0.3.0"}
V0_3 = {name: value for name, value in HYBRID.items() if name != "supportedInterfaces"}
V0_2 = V0_3 | {"protocolVersion": "0.2.6"}

KEYS = Answer(body={"keys": [jwk(ec())]})


def text(card: Mapping[str, object]) -> str:
    """The canonical form of a card of this file: no numbers, nothing outside ASCII, nothing empty."""
    return json.dumps(card, sort_keys=True, separators=(",", ":"))


def sign(card: Mapping[str, object], *entries: object, **header: object) -> dict[str, object]:
    """The card with its signature, or with these."""
    return {**card, "signatures": list(entries) or [signed(text(card), ec(), **header)]}


def entry(**header: object) -> dict[str, object]:
    """A signature of the 1.0 card whose protected header is replaced afterwards."""
    whole = {"alg": "ES256", "typ": "JOSE", "kid": "key-1", "jku": JKU} | header
    return signed(text(V1), ec()) | {"protected": encoded({k: v for k, v in whole.items() if v is not None})}


def exchange(purpose: Purpose, url: str, answer: Answer) -> Exchange:
    body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
    failure = None if answer.failure is None else Failure(code=answer.failure[0], reason=answer.failure[1])
    return Exchange(
        purpose=purpose,
        method="GET",
        url=url,
        final_url=answer.final_url or url,
        status=None if failure else answer.status,
        headers=tuple(answer.headers.items()),
        body=b"" if failure else body,
        failure=failure,
        redirects=(),
        duration_ms=1,
    )


def recorded(card: object, keys: Mapping[str, Answer]) -> Evidence:
    exchanges = [exchange(Purpose.CURRENT, URL, Answer(body=card))]
    exchanges += [exchange(Purpose.KEYS, url, answer) for url, answer in keys.items()]
    return Evidence(
        asked=SITE,
        target=Target.parse(SITE),
        refusal=None,
        started_at="2026-11-30T12:00:00Z",
        duration_ms=5,
        exchanges=tuple(exchanges),
    )


def judged(card: object, keys: Answer = KEYS) -> AuditorReport:
    return A2aSignatureRules(recorded(card, {JKU: keys})).judge()


def fired(report: AuditorReport) -> list[int]:
    return [int(one.code[-3:]) for one in report.checks]


def listed(codes: tuple[str, ...]) -> set[int]:
    return {int(code[-3:]) for code in codes}


# What a card with its key set gives: (name, card, what its key set's URL answers, codes).
CASES: list[tuple[str, object, Answer, list[int]]] = [
    ("no signatures", V1, KEYS, []),
    ("null signatures", V1 | {"signatures": None}, KEYS, []),
    ("an empty array, as the JavaScript SDK serves", V1 | {"signatures": []}, KEYS, []),
    ("verified", sign(V1), KEYS, [140]),
    ("verified in 0.3", sign(V0_3), KEYS, [140]),
    ("verified in both", sign(HYBRID), KEYS, [140]),
    ("verified, with members outside", HYBRID | {"signatures": [signed(text(V1), ec())]}, KEYS, [140]),
    ("verified twice", sign(V1, *[signed(text(V1), ec())] * 2), KEYS, [140, 140]),
    ("A2A 0.2", sign(V0_2), KEYS, [142]),
    ("A2A 0.2 with no signatures", V0_2, KEYS, []),
    ("no jku", sign(V1, jku=None), KEYS, [141]),
    ("jku of another site", sign(V1, jku="https://keys.example/jwks.json"), KEYS, [141]),
    ("jku by http", sign(V1, jku="http://weather.example/jwks.json"), KEYS, [141, 377]),
    ("jku of this machine by http", sign(V1, jku="http://127.0.0.1/jwks.json"), KEYS, [141]),
    ("jku that is no URL", sign(V1, jku="jwks.json"), KEYS, [141]),
    ("key set is not there", sign(V1), NOTHING, [141]),
    ("key set is out of reach", sign(V1), fails(FailureCode.TIMEOUT, "no answer within 10 s"), [141]),
    ("key set of other keys", sign(V1), Answer(body={"keys": [jwk(ec(), kid="key-2")]}), [141]),
    ("key set elsewhere", sign(V1), Answer(body=KEYS.body, final_url="https://keys.example/"), [141]),
    ("unknown algorithm", sign(V1, entry(alg="ML-DSA-44")), KEYS, [144]),
    ("a header that is not read", sign(V1, entry() | {"protected": encoded(b"[" * 100 + b"]" * 100)}), KEYS, [144]),
    ("critical extension", sign(V1, entry(crit=["exp"], exp=1)), KEYS, [144]),
    ("six signatures", sign(V1, *[signed(text(V1), ec())] * 6), KEYS, [140] * 5 + [144]),
    ("51 signatures", sign(V1, *[{}] * 51), KEYS, [143, *[470] * 50]),
    ("changed", sign(V1) | {"version": "1.4.1"}, KEYS, [373]),
    ("changed in 0.3", sign(V0_3) | {"version": "1.4.1"}, KEYS, [373]),
    ("signed with another key", sign(V1), Answer(body={"keys": [jwk(type(ec()).generate_key("P-256"))]}), [373]),
    ("one of two is wrong", sign(V1, signed("{}", ec()), signed(text(V1), ec())), KEYS, [140, 373]),
    ("a number that is too large", sign(V1) | {"n": 2**60}, KEYS, [140]),
    ("no typ", sign(V1, typ=None), KEYS, [140, 374]),
    ("typ JWT", sign(V1, typ="JWT"), KEYS, [140, 374]),
    ("typ is a number", sign(V1, typ=1), KEYS, [140, 374]),
    ("typ in small letters", sign(V1, typ="jose+json"), KEYS, [140]),
    ("typ as a media type", sign(V1, typ="application/jose"), KEYS, [140]),
    ("no typ in 0.3", sign(V0_3, typ=None), KEYS, [140]),
    ("key for encryption", sign(V1), Answer(body={"keys": [jwk(ec(), use="enc")]}), [375]),
    ("key of another type", sign(V1), Answer(body={"keys": [jwk(rsa())]}), [375]),
    ("one name for two keys", sign(V1), Answer(body={"keys": [jwk(ec()), jwk(ec("P-384"))]}), [140, 376]),
    ("one name for two types", sign(V1), Answer(body={"keys": [jwk(ec()), jwk(okp())]}), [140]),
    ("a private key", sign(V1), Answer(body={"keys": [jwk(ec(), private=True)]}), [140, 473]),
    ("another's secret", sign(V1), Answer(body={"keys": [jwk(ec()), {"kty": "oct", "k": "c2VjcmV0"}]}), [140, 473]),
    ("escapes", V1 | {"name": "Ä", "signatures": [signed(text(V1 | {"name": "Ä"}), ec())]}, KEYS, [140, 378]),
    (
        "escapes in 0.3",
        V0_3
        | {"protocolVersion": "0.3", "name": "Ä"}
        | {"signatures": [signed(text(V0_3 | {"protocolVersion": "0.3", "name": "Ä"}), ec())]},
        KEYS,
        [140],
    ),
    (
        "without its schemes",
        V1
        | {"securitySchemes": {"b": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}}
        | {"signatures": [signed(text(V1), ec())]},
        KEYS,
        [140, 378],
    ),
    ("signatures is a string", V1 | {"signatures": "x"}, KEYS, [470]),
    ("signatures is an object", V0_3 | {"signatures": {}}, KEYS, [370]),
    ("an empty entry", sign(V1, {}), KEYS, [470, 470]),
    ("an empty entry in both", sign(HYBRID, {}), KEYS, [470, 470]),
    ("an empty entry in 0.3", sign(V0_3, {}), KEYS, [370, 370]),
    ("no algorithm", sign(V1, entry(alg=None)), KEYS, [471]),
    ("alg none", sign(V1, entry(alg="none") | {"signature": "AA"}), KEYS, [471]),
    ("alg HS256", sign(V1, entry(alg="HS256")), KEYS, [471]),
    ("alg none in 0.3", sign(V0_3, entry(alg="none")), KEYS, [371]),
    ("no kid", sign(V1, entry(kid=None)), KEYS, [472]),
    ("kid unprotected", sign(V1, entry(kid=None) | {"header": {"kid": "key-1"}}), KEYS, [472]),
    ("no kid in 0.3", sign(V0_3, entry(kid=None)), KEYS, [372]),
    ("nothing right", sign(V1, entry(kid=None, alg=None, typ=None)), KEYS, [374, 471, 472]),
]


@pytest.mark.parametrize(("card", "keys", "codes"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_case(card: object, keys: Answer, codes: list[int]) -> None:
    assert fired(judged(card, keys)) == codes


def test_every_rule_fires_and_does_not() -> None:
    seen: set[int] = set()
    quiet: set[int] = set()
    for _, card, keys, _ in CASES:
        report = judged(card, keys)
        seen |= set(fired(report))
        quiet |= listed(report.passed)
    every = {row.number for row, _ in A2aSignatureRules.rules()}
    assert seen == every
    assert quiet == every - {142}  # its evidence is its finding


def test_every_code_is_in_exactly_one_list() -> None:
    every = {A2aSignatureRules.code(row) for row, _ in A2aSignatureRules.rules()}
    for _, card, keys, _ in CASES:
        report = judged(card, keys)
        lists = [
            {one.code for one in report.checks},
            set(report.passed),
            set(report.not_applicable),
            {one.code for one in report.untested},
        ]
        assert set().union(*lists) == every
        assert sum(map(len, lists)) == len(every)


# --- missing is never green ---


@pytest.mark.parametrize(
    ("card", "keys"),
    [
        (sign(V1, jku=None), KEYS),
        (sign(V1), NOTHING),
        (sign(V1), fails(FailureCode.BUDGET, "the audit's time was over")),
        (sign(V1, entry(alg="ML-DSA-44")), KEYS),
        (sign(V1, signed(text(V1), ec()), entry(jku=None)), KEYS),
    ],
)
def test_what_was_not_verified_is_not_passed(card: object, keys: Answer) -> None:
    report = judged(card, keys)
    untested = {int(one.code[-3:]): one.reason for one in report.untested}
    assert 373 in untested
    assert "was not verified: " in untested[373]
    assert {375, 376, 378} <= set(untested)


def test_an_unread_key_set_is_not_passed() -> None:
    report = judged(sign(V1), NOTHING)
    assert {int(one.code[-3:]): one.reason for one in report.untested}[473] == f"{JKU} answered 404"


def test_a_key_set_that_nobody_asked_for() -> None:
    report = A2aSignatureRules(recorded(sign(V1), {})).judge()
    (found,) = report.checks
    assert "was not asked for: at most 2 key sets are" in found.message


def test_without_a_card_nothing_applies() -> None:
    report = A2aSignatureRules(recorded(b"<html>", {})).judge()
    assert (report.checks, report.passed) == ((), ())


# --- what is said ---


def test_what_was_received_is_verified() -> None:
    """Credentials are masked in what is judged, so that nothing quotes them; the signature is over the card with them."""
    leaky = V1 | {"description": "Key ghp_" + "9aKq0Vt3LmXz71BdWcYhRnPeUs58GfJoTi24"}
    received = recorded(sign(leaky), {JKU: KEYS})
    masked = credentials.masked(received)
    assert masked is not received
    assert fired(A2aSignatureRules(masked).judge()) == fired(A2aSignatureRules(received).judge()) == [140]


def test_verified_names_form_and_key_and_what_is_outside() -> None:
    (found,) = judged(HYBRID | {"signatures": [signed(text(V1), ec())]}).checks
    for words in ("signatures[0]", URL, "key-1", JKU, "outside it: url, preferredTransport, protocolVersion."):
        assert words in found.message
    assert found.data["canonicalForm"] == "sdk"
    assert found.data["unsigned"] == ["url", "preferredTransport", "protocolVersion"]
    row = next(row for row, _ in A2aSignatureRules.rules() if row.number == 140)
    assert "verified is not yet trusted" in row.why


def test_a_wrong_signature_is_never_called_forged() -> None:
    (found,) = judged(sign(V1) | {"n": 2**60, "name": "B"}).checks
    assert "RFC 8785 cannot write the card: it holds a whole number beyond 2^53" in found.message
    rows = [row for row, _ in A2aSignatureRules.rules()]
    assert not [row for row in rows if "forge" in f"{row.seen}{row.why}{row.title}{row.when}"]


def test_private_keys_are_named_and_not_shown() -> None:
    secret = ec("P-384").as_dict(private=True)
    keys = [jwk(ec())] + [{**secret, "kid": f"key-{n}"} for n in range(2, 9)]
    report = judged(sign(V1), Answer(body={"keys": keys}))
    (found,) = [one for one in report.checks if one.code.endswith("-473")]
    assert "key-2, key-3, key-4, key-5, key-6 and 2 others" in found.message
    assert str(secret["d"]) not in repr(report)


def test_what_a_site_says_is_cleaned() -> None:
    evil = "\x1b[31m\u202ekey" + "x" * 5000
    for card, keys in (
        (sign(V1, kid=evil), Answer(body={"keys": [jwk(ec(), kid=evil)]})),
        (sign(V1, entry(alg=evil, typ=evil)), KEYS),
        (sign(V1, jku="https://weather.example/" + evil), KEYS),
        (sign(V1, kid=evil), Answer(body={"keys": [jwk(ec(), kid=evil, use=evil, private=True)]})),
        (sign(V1) | {evil: 1}, KEYS),
    ):
        report = judged(card, keys)
        assert report.checks
        for one in report.checks:
            assert one.message.isprintable()
            assert one.recommendation.isprintable()
            assert len(one.message) < 3000
            assert "\x1b" not in repr(one.data)


def test_rows_are_bounded() -> None:
    report = judged(sign(V1, *[{}] * 10_000))
    assert [fired(report).count(number) for number in (143, 470)] == [1, 50]


def test_libraries_come_with_a_key_to_check_with() -> None:
    """Neither for an unsigned card nor for a signature without a key; both cost a cold start more than all the rest."""
    script = """
import sys
from parley.documents.card_signature import FetchedKeySet, check_signatures
def loaded(): return {"joserfc", "rfc8785", "cryptography"} & set(sys.modules)
import json
card, jku, keys = json.loads(sys.stdin.read())
check_signatures({"name": "A"}, jku, {})
check_signatures(card, jku, {})
assert not loaded(), loaded()
assert check_signatures(card, jku, {jku: FetchedKeySet(jku, json.dumps(keys).encode())}).all[0].form == "as-served"
assert len(loaded()) == 3, loaded()
"""
    given = json.dumps([sign(V1), JKU, {"keys": [jwk(ec())]}])
    done = subprocess.run([sys.executable, "-c", script], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
