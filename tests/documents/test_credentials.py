"""What counts as a credential, and what only looks like one. No key here is anybody's: all are drawn from a seed."""

import base64
import dataclasses
import json
import os
import random
import string
import subprocess
import sys
from pathlib import Path

import pytest

from parley.audit import judge
from parley.documents import credentials
from parley.documents.credentials import MASK, Search, search
from parley.documents.server_card import Purpose
from parley.evidence import Evidence
from parley.render.report_json import report_json
from parley.wire import strict_json
from servers import environment
from sites import HOST, Site, card, catalog, entry, served

_FIELD = Path(os.environ.get("PARLEY_FIELD") or Path(__file__).resolve().parents[2].parent / "shared" / "field")

_drawn = random.Random(460)
_LETTERS = string.ascii_letters + string.digits
_URL_SAFE = _LETTERS + "-_"
_HEX = "0123456789abcdef"
_BASE32 = string.ascii_uppercase + "234567"


def drawn(length: int, of: str = _LETTERS) -> str:
    return "".join(_drawn.choice(of) for _ in range(length))


def b64(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def jwt(claims: object, **header: str) -> str:
    return f"{b64({'alg': 'HS256', 'typ': 'JWT'} | header)}.{b64(claims)}.{drawn(43, _URL_SAFE)}"


def pem(kind: str = "", lines: int = 12, end: bool = True) -> str:
    body = "\n".join(drawn(64, _LETTERS + "+/") for _ in range(lines))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n" + (f"-----END {kind}PRIVATE KEY-----" if end else "")


AWS = "AKIA" + drawn(16, _BASE32)
GITHUB = "ghp_" + drawn(36)
PASSWORD = drawn(16)

CREDENTIALS = {
    "AWS": (AWS, "AWS access key ID", "AKIA*** (20 characters)"),
    "AWS, temporary": ("ASIA" + drawn(16, _BASE32), "AWS access key ID", "ASIA*** (20 characters)"),
    "AWS, by its name": ("aws_secret_access_key = " + drawn(40), "AWS secret access key", "*** (40 characters)"),
    "GitHub": (GITHUB, "GitHub token", "ghp_*** (40 characters)"),
    "GitHub, fine grained": (f"github_pat_{drawn(22)}_{drawn(59)}", "GitHub fine grained personal access token", "github_pat_*** (93 characters)"),
    "GitLab": ("glpat-" + drawn(20), "GitLab token", "glpat-*** (26 characters)"),
    "Slack": (f"xoxb-{drawn(12, string.digits)}-{drawn(13, string.digits)}-{drawn(24)}", "Slack token", "xoxb-*** (56 characters)"),
    "Stripe": ("sk_live_" + drawn(24), "Stripe credential", "sk_live_*** (32 characters)"),
    "OpenAI": (f"sk-proj-{drawn(74, _URL_SAFE)}T3BlbkFJ{drawn(74, _URL_SAFE)}", "OpenAI API key", "sk-proj-*** (164 characters)"),
    "Anthropic": (f"sk-ant-api03-{drawn(93, _URL_SAFE)}AA", "Anthropic API key", "sk-ant-*** (108 characters)"),
    "Google": ("AIza" + drawn(35, _URL_SAFE), credentials.GOOGLE_API_KEY, "AIza*** (39 characters)"),
    "Hugging Face": ("hf_" + drawn(34, string.ascii_letters), "Hugging Face token", "hf_*** (37 characters)"),
    "npm": ("npm_" + drawn(36), "npm access token", "npm_*** (40 characters)"),
    "PyPI": ("pypi-AgEIcHlwaS5vcmc" + drawn(120, _URL_SAFE), "PyPI API token", "pypi-*** (140 characters)"),
    "a token": (jwt({"sub": drawn(8), "exp": 1900000000}), "JSON Web Token", None),
    "a token with a role": (jwt({"role": "service_role"}), "JSON Web Token", None),
    "Telegram": (f"{drawn(10, '123456789')}:AA{drawn(33)}", "Telegram bot token", "*** (46 characters)"),
    "a token in a command": (f'curl -H "Authorization: Bearer {jwt({"sub": drawn(8)})}" {HOST}', "JSON Web Token", None),
    "a key": (pem(), "private key", None),
    "an RSA key": (pem("RSA "), "private key", None),
    "an SSH key": (pem("OPENSSH "), "private key", None),
    "a key on one line": (pem().replace("\n", "\\n"), "private key", None),
    "a key cut off": (pem("EC ", lines=3, end=False), "private key", None),
    "a key with headers": (pem("RSA ").replace("-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n", 1), "private key", None),
    "a key of OpenPGP": (pem().replace("PRIVATE KEY", "PGP PRIVATE KEY BLOCK"), "private key", None),
    "a URL": (f"https://svc:{PASSWORD}@db.acme.test-site.net/x", "password in a URL", "*** (16 characters)"),
    "a database": (f"postgres://app:{PASSWORD}@db.acme.io:5432/prod", "password in a URL", "*** (16 characters)"),
    "a password with an escape": (f"https://svc:{PASSWORD[:7]}%26{PASSWORD[7:]}@acme.io/", "password in a URL", "*** (19 characters)"),
    "a password with a dollar": (f"https://svc:{PASSWORD[:7]}${PASSWORD[7:]}@acme.io/", "password in a URL", "*** (17 characters)"),
    "a key with an escape": (f"https://acme.io/?k={GITHUB[:9]}%{ord(GITHUB[9]):02x}{GITHUB[10:]}", "GitHub token", "ghp_*** (42 characters)"),
    "a key with its prefix escaped": (f"https://acme.io/?k=%67{GITHUB[1:]}&x=%2F%20", "GitHub token", "*** (42 characters)"),
    "a host named like hosting": (f"https://svc:{PASSWORD}@hosting.acme.io/", "password in a URL", "*** (16 characters)"),
}  # fmt: skip

HARMLESS = {
    "prose": "Use your API key sk-... in the Authorization header. Create one at https://acme.io/keys.",
    "prose on tokens": "api_key: required, string. Bearer authentication; password: at least twelve characters.",
    "crosses": "sk-" + "x" * 48,
    "crosses of a project": "sk-proj-" + "x" * 60,
    "crosses of Anthropic": "sk-ant-api03-" + "x" * 93 + "AA",
    "your key": "sk-your-api-key-here",
    "a place": "<YOUR_API_KEY>",
    "a variable": "Bearer ${OPENAI_API_KEY}",
    "a template": "https://{user}:{password}@db.acme.io/x",
    "AWS's example": "AKIAIOSFODNN7EXAMPLE",
    "AWS's example of a secret": "aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "GitHub, crosses": "ghp_" + "x" * 36,
    "GitHub, capitals": "ghp_" + "X" * 36,
    "GitHub, digits in a row": "ghp_1234567890abcdefghijklmnopqrstuvwxyz",
    "GitHub, a piece repeated": "ghp_" + "a1B2c3" * 6,
    "a token cut short": "eyJhbGciOi...",
    "a token's header": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9...",
    "a token with an ellipsis": jwt({"sub": "ab"}) + "...",
    "the token everybody shows": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
    "a signed card": jwt({"name": "Weather", "skills": []}, alg="ES256"),
    "a verifiable credential": jwt({"iss": "did:web:acme.io", "vc": {}}, alg="EdDSA"),
    "a signed statement": jwt({"iss": HOST}, typ="entity-statement+jwt"),
    "no token": f"{b64(['HS256'])}.{b64({})}.{drawn(43)} and {b64({'alg': 'HS256'})}.{drawn(20)}.{drawn(43)}",
    "a detached signature": f"{b64({'alg': 'ES256', 'kid': 'a'})}..{drawn(86, _URL_SAFE)}",
    "a long URL": f"https://docs.acme.io/document/d/{drawn(44, _URL_SAFE)}/edit",
    "a UUID": "550e8400-e29b-41d4-a716-446655440000",
    "a hash": "sha256:" + drawn(64, _HEX),
    "integrity": f"sha512-{drawn(86)}==",
    "an icon": "data:image/png;base64," + drawn(4000, _LETTERS + "+/"),
    "a public key": f"-----BEGIN PUBLIC KEY-----\n{drawn(64)}\n-----END PUBLIC KEY-----",
    "a certificate": f"-----BEGIN CERTIFICATE-----\nMII{drawn(300)}\n-----END CERTIFICATE-----",
    "a key left out": "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "the start of a key": f"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg{drawn(60)}...\n-----END PRIVATE KEY-----",
    "prose on keys": "It starts with -----BEGIN PRIVATE KEY----- and goes on with line after line of letters and 64 digits Each until the end",
    "a publishable key": "pk_live_" + drawn(24),
    "an address": "0x" + drawn(40, _HEX),
    "a hash or who knows": "0x" + drawn(64, _HEX),
    "a DID": "did:key:z6Mk" + drawn(44),
    "userinfo of an example": "https://user:password@example.com/x",
    "userinfo in a manual": "https://user:pass@host/x and https://admin:secret123@db.acme.io",
    "an escaped word for a password": "https://svc:pass%77ord@db.acme.io/x",
    "a variable for a password": "https://svc:$DB_PASSWORD@db.acme.io/x",
    "a variable of Windows for a password": "https://svc:%DB_PASSWORD%@db.acme.io/x",
    "escapes": "https://acme.io/%E4%BD%A0%e5%a5%bd?q=100%25%41%zz%",
    "a local database": f"postgres://app:{PASSWORD}@localhost:5432/db",
    "an account in a path": "https://medium.com/@user:post",
    "Stripe's example": "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
    "a resource of AWS": "arn:aws:notifications::381491923782:managed-notification-configuration/category/AWS-Health",
    "a token of a manual": jwt({"k": "value"}),
    "Supabase's key for web pages": jwt({"iss": "supabase", "role": "anon", "exp": 1900000000}),
    "words": "sk-learn-contrib-plugins-for-everyone risk-assessment-analysis-service-agent-endpoint",
    "words with a prefix": "hf_transformers_pipeline_for_text_generation",
}  # fmt: skip


def in_skill(text: str) -> Search:
    return search(json.dumps({"skills": [{"id": "a"}, {"description": text}]}).encode())


@pytest.mark.parametrize(("text", "sort", "masked"), CREDENTIALS.values(), ids=CREDENTIALS.keys())
def test_credential(text: str, sort: str, masked: str | None) -> None:
    for around in ("{}", "Call it with {} please", "({})", "key={}\n"):
        found = in_skill(around.format(text))
        assert [(one.path, one.in_name, one.sort) for one in found.credentials] == [
            ("skills[1].description", False, sort)
        ]
        value = found.credentials[0].value
        assert value in text
        if masked is None:
            assert found.credentials[0].masked == f"*** ({len(value)} characters)"
        else:
            assert found.credentials[0].masked == masked
        left = json.loads(found.masked)["skills"][1]["description"]
        assert left == around.format(text).replace(value, MASK * len(value))
        assert search(found.masked) == ((), found.masked)


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS.keys())
def test_harmless(text: str) -> None:
    for around in ("{}", "Such as {} or the like", '"{}"'):
        assert in_skill(around.replace("{}", text)).credentials == ()


def test_connection_string() -> None:
    key = drawn(86) + "=="
    text = f"DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={key};EndpointSuffix=core.windows.net"
    assert [(one.sort, one.value) for one in in_skill(f"Such as {text}").credentials] == [
        ("key in a connection string", key)
    ]
    published = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
    assert in_skill(text.replace(key, published)).credentials == ()


# --- where ---


def found(document: object) -> list[tuple[str, bool, str]]:
    return [(one.path, one.in_name, one.value) for one in search(json.dumps(document).encode()).credentials]


def test_places() -> None:
    document = {"a": [[GITHUB]], "x": {AWS: {"b": GITHUB}}, "s": AWS + " " + GITHUB}
    hidden = MASK * 19 + "2"
    assert found(document) == [
        ("a[0][0]", False, GITHUB),
        (f"x.{hidden}", True, AWS),
        (f"x.{hidden}.b", False, GITHUB),
        ("s", False, AWS),
        ("s", False, GITHUB),
    ]
    assert found(GITHUB) == [("the whole document", False, GITHUB)]
    assert found([1, GITHUB]) == [("[1]", False, GITHUB)]


def test_hidden_member() -> None:
    """Of two members with one name readers see the last; whoever reads the text sees both."""
    seen = search(b'{"description": "%s", "description": "Forecasts"}' % GITHUB.encode())
    assert [(one.path, one.value) for one in seen.credentials] == [("description", GITHUB)]
    assert seen.masked == b'{"description": "%s", "description": "Forecasts"}' % (MASK.encode() * len(GITHUB))


def test_escaped() -> None:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in AWS)
    seen = search(f'\ufeff{{"{escaped}": "é {escaped} \\ud800 \\/"}}'.encode())
    assert [(one.in_name, one.value) for one in seen.credentials] == [(True, AWS), (False, AWS)]
    hidden = MASK * len(AWS)
    assert strict_json.parse(seen.masked).notes == {"bom", "surrogate"}  # type: ignore[union-attr]
    assert json.loads(seen.masked.removeprefix(b"\xef\xbb\xbf")) == {hidden: f"é {hidden} \ud800 /"}


def test_escaped_as_in_a_url() -> None:
    """What follows an escape is masked where it stands."""
    written = "%41" + AWS[1:9] + f"%{ord(AWS[9]):X}" + AWS[10:]
    seen = search(json.dumps([f"%41 {written} %42 {AWS} %43", "%44"]).encode())
    assert [one.value for one in seen.credentials] == [written, AWS]
    assert json.loads(seen.masked) == [f"%41 {MASK * 24} %42 {MASK * 19}2 %43", "%44"]
    text = f"%41 {'%42' * 100_000} {written}"
    assert [one.value for one in in_skill(text).credentials] == [written]


def test_no_json() -> None:
    seen = search(f"{{\n\n'key': '{GITHUB}',\n{AWS}".encode())
    assert [(one.path, one.value) for one in seen.credentials] == [("line 3", GITHUB), ("line 4", AWS)]
    assert GITHUB.encode() not in seen.masked
    assert search(b"\xff\xfe" + AWS.encode()).credentials[0].path == "line 1"
    assert search(b"") == ((), b"")


def test_private_member_of_a_key() -> None:
    public = {
        "kty": "EC",
        "crv": "P-256",
        "x": drawn(43),
        "y": drawn(43),
        "kid": drawn(43),
        "x5c": ["MII" + drawn(900)],
    }
    secret = drawn(43, _URL_SAFE)
    assert found({"jwks": {"keys": [public]}}) == []
    assert found({"jwks": {"keys": [public, public | {"d": secret}]}}) == [("jwks.keys[1].d", False, secret)]
    assert found({"kty": "oct", "k": secret}) == [("k", False, secret)]
    assert found({"kty": "EC", "d": "..."}) == []
    assert found({"d": secret, "k": secret}) == []


def test_bare_key_by_its_name() -> None:
    digits = "0x" + drawn(64, _HEX)
    assert found({"privateKey": digits, "private_key": digits[2:], "wallet-private-key": digits}) == [
        ("privateKey", False, digits),
        ("private_key", False, digits[2:]),
        ("wallet-private-key", False, digits),
    ]
    assert (
        found({"privateKeyHash": digits, "publicKey": digits, "txHash": digits, "private_key": "0x" + "0" * 64}) == []
    )


def test_signatures_of_the_card() -> None:
    token = jwt({"sub": drawn(9)})
    assert found({"signatures": [{"protected": token, "signature": token}]}) == []
    assert found({"signatures": [{"header": token}], "signature": token}) != []


# --- bounds ---


def test_long() -> None:
    """Whole, however long, and wherever a window ends."""
    for long in ("sk-ant-api03-" + drawn(100_000), pem(lines=1500), jwt({"sub": drawn(75_000)})):
        seen = in_skill("x " * 3000 + long)
        assert [one.value for one in seen.credentials] == [long]
    for before in range(0, 4200, 17):
        seen = in_skill("x " * (before // 2) + GITHUB + " and " + "word " * 900)
        assert [one.value for one in seen.credentials] == [GITHUB]


def test_many() -> None:
    keys = ["AKIA" + drawn(16, _BASE32) for _ in range(15_000)]
    keys = [key for key in keys if not credentials._is_placeholder(key)]
    seen = search(json.dumps({"skills": [{"description": key} for key in keys]}).encode())
    assert [one.value for one in seen.credentials] == keys
    assert seen.credentials[-1].path == f"skills[{len(keys) - 1}].description"
    assert b"AKIA" not in seen.masked


@pytest.mark.parametrize("unit", ["eyJ", "glrt-", "a", "-----BEGIN PRIVATE KEY-----A", "https://a:b@", "\\", " "])
def test_what_is_made_to_be_slow(unit: str) -> None:
    """Ends: the detector alone takes minutes for the first."""
    text = (unit * (900_000 // len(unit)))[:900_000]
    assert in_skill(text).credentials == ()
    assert search(text.encode()).credentials == ()


def test_the_library_is_imported_only_for_a_card() -> None:
    script = (
        "import sys, parley.audit, parley.cli, parley.documents.credentials; assert 'redact_secret' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], env=environment(), check=True)


# --- masked in every output ---


def test_no_report_quotes_it() -> None:
    """Rules quote what is wrong with a card; the probes ask for what it names."""
    secrets = {name: "ghp_" + drawn(36) for name in ("name", "version", "schema", "url", "link", "query", "member")}
    site = Site(
        {
            "/.well-known/ai-catalog.json": catalog(
                entry(url=f"/{secrets['link']}/card.json"),
                entry(data=card(schema_=secrets["schema"], remotes=[{"type": AWS, "url": secrets["url"]}])),
            ),
            f"/{secrets['link']}/card.json": served(
                card(
                    name=secrets["name"],
                    version="^" + secrets["version"],
                    remotes=[{"type": "streamable-http", "url": f"https://mcp.weather.example/?k={secrets['query']}"}],
                    **{secrets["member"]: 1},
                )
            ),
        },
    )
    evidence = site.gather()
    assert any(secrets["link"] in exchange.url for exchange in evidence.exchanges)
    shown = json.dumps(report_json(judge(evidence)))
    assert MASK * 40 + "/card.json" in shown
    assert f'Replace \\"{MASK * 39}' in shown
    for value in (*secrets.values(), AWS):
        assert value[:12] not in shown
    assert secrets["name"] in json.dumps(evidence.to_json()), "a recording holds what was received"


def test_no_report_quotes_it_as_it_was_asked_for() -> None:
    """A URL that is asked for has its host in small letters, and no escape that need not be."""
    key = "glpat-" + "Zt8Qw3LmXa71BdWcYhRn"
    links = (f"https://{key}.weather.example/", f"{HOST}/%67{key[1:]}")
    for link in links:
        evidence = Site({"/.well-known/ai-catalog.json": catalog(entry(url=link))}).gather()
        assert any(key.lower() in exchange.url.lower() for exchange in evidence.exchanges)
        assert key[6:18].lower() not in json.dumps(report_json(judge(evidence))).lower()


def test_other_verdicts_stay() -> None:
    clean, leaky = card(), card(description=f"Key {GITHUB}.", name="com.example/" + AWS)
    one, other = (Site({"/mcp/server-card": served(each)}).audit() for each in (clean, leaky))
    assert [auditor.status for auditor in one.auditors] == [auditor.status for auditor in other.auditors]


def test_what_differed_still_does() -> None:
    other = "ghp_" + drawn(36)
    seen = json.loads(search(json.dumps([GITHUB, other, GITHUB, {other: 1}]).encode()).masked)
    assert seen == [MASK * 40, MASK * 39 + "2", MASK * 40, {MASK * 39 + "2": 1}]
    site = Site({"/.well-known/ai-catalog.json": catalog(*(entry(url=f"/{key}") for key in (AWS, GITHUB, other)))})
    masked = credentials.masked(site.gather())
    links = [exchange.url for exchange in masked.exchanges if exchange.purpose == Purpose.LINK]
    assert links == [f"{HOST}/{MASK * 20}", f"{HOST}/{MASK * 39}2", f"{HOST}/{MASK * 39}3"]


def test_a_password_is_masked_where_it_is_one() -> None:
    """Elsewhere the same word is a word."""
    word = "forecasts-2026-k"
    url = f"https://svc:{word}@db.acme.io/"
    site = Site({"/.well-known/ai-catalog.json": catalog(entry(url=url), entry(url=f"/{word}"))})
    shown = json.dumps(report_json(judge(site.gather())))
    assert f":{word}@" not in shown
    assert f"{HOST}/{word}" in shown


def test_where_a_site_sends_its_clients() -> None:
    """A redirect that is followed, and one that is not."""
    there = f"/c.json?token={GITHUB}"
    answers = {
        "/.well-known/ai-catalog.json": served(card(), content_type=None, location=f"{HOST}{there}"),
        "/mcp/server-card": dataclasses.replace(served(card()), final_url=f"{HOST}{there}"),
    }
    evidence = Site(answers).gather()
    assert GITHUB in json.dumps([exchange.final_url for exchange in evidence.exchanges])
    assert GITHUB not in json.dumps(report_json(judge(evidence)))


def test_received_stays_at_hand() -> None:
    evidence = Site({"/mcp/server-card": served(card(description=GITHUB))}).gather()
    masked = credentials.masked(evidence)
    assert masked.original is evidence
    assert GITHUB not in json.dumps(masked.to_json())
    harmless = Site({"/mcp/server-card": served(card())}).gather()
    assert credentials.masked(harmless) is harmless


def test_a_search_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(raw: bytes) -> Search:
        raise RuntimeError

    evidence: Evidence = Site({"/mcp/server-card": served(card())}).gather()
    monkeypatch.setattr(credentials, "search", fails)
    assert credentials.masked(evidence) is evidence


# --- the field ---


def test_no_false_alarm_in_the_field() -> None:
    documents = sorted((_FIELD / "documents").glob("*/*"))
    if not documents:
        pytest.skip(f"NO FIELD DOCUMENTS: {_FIELD} is not there; set PARLEY_FIELD to their folder")
    assert len(documents) > 90
    assert {document.name: seen for document in documents if (seen := search(document.read_bytes()).credentials)} == {}


def test_a_document_is_searched_once_for_all_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []
    hits = credentials._hits

    def counted(texts: list[credentials._Text]) -> dict[int, list[credentials._Hit]]:
        searched.append(len(texts))
        return hits(texts)

    monkeypatch.setattr(credentials, "_hits", counted)
    credentials.forget()
    body = b'{"description": "the same, wherever it is asked for"}'
    assert credentials.search(body) == credentials.search(body, {})
    assert len(searched) == 1
    credentials.forget()
    credentials.search(body)
    assert len(searched) == 2
