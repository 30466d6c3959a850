import ipaddress
import random
import subprocess
import sys
from pathlib import Path

import pytest
from ssrfguard import DEFAULT_DENIED

from parley.fetch.policy import DEPLOYED, LOCAL, Limits, named_place, user_agent
from parley.wire.address import Place, place
from parley.wire.url import Url

FUNCTIONS = Path(__file__).parents[2] / "functions"


@pytest.mark.parametrize(
    "address",
    ["64:ff9b::7f00:1", "::7f00:1", "::ffff:100.64.0.1", "fec0::1", "ff02::1", "224.0.0.1", "4000::1"],
)
def test_is_global_would_have_let_these_pass(address: str) -> None:
    """Where the standard library's opinion is known to be no policy, on every Python; ours does not depend on it."""
    parsed = ipaddress.ip_address(address)
    assert parsed.is_global
    assert DEPLOYED.refuse_address(parsed, literal=False, led_from=None)


# Where we refuse and the other opinion does not, and why. Never the other way round.
STRICTER = [
    # It decodes what is embedded; we refuse every embedding, as smokescreen does: no public server needs one.
    "::/96",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "2002::/16",
    "2001::/23",
    # Anycast of protocols that are not HTTP, AS112 (answers for names of private networks), AMT relays.
    "192.0.0.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.175.48.0/24",
    "2620:4f:8000::/48",
    # Azure's host, on a public address.
    "168.63.129.16/32",
]


def generated() -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """The edges of every block that either side knows, and addresses at random within and beyond."""
    chance = random.Random(20260727)
    found: set[ipaddress.IPv4Address | ipaddress.IPv6Address] = set()
    for network in [block.network for block in DEFAULT_DENIED.blocks] + [ipaddress.ip_network(n) for n in STRICTER]:
        make = ipaddress.IPv4Address if network.version == 4 else ipaddress.IPv6Address
        first, last = int(network.network_address), int(network.broadcast_address)
        numbers = {first - 1, first, first + 1, last - 1, last, last + 1}
        numbers |= {chance.randint(first, last) for _ in range(20)}
        found |= {make(n) for n in numbers if 0 <= n <= int(make(2 ** (32 if network.version == 4 else 128) - 1))}
    found |= {ipaddress.IPv4Address(chance.getrandbits(32)) for _ in range(1500)}
    found |= {ipaddress.IPv6Address((1 << 125) + chance.getrandbits(125)) for _ in range(1500)}
    return sorted(found, key=lambda address: (address.version, int(address)))


def test_an_independent_opinion_agrees_but_for_what_is_explained() -> None:
    stricter = [ipaddress.ip_network(network) for network in STRICTER]
    unicast = ipaddress.ip_network("2000::/3")
    addresses = generated()
    assert len(addresses) > 4000
    for address in addresses:
        ours = place(address)[0] is not Place.PUBLIC
        theirs = DEFAULT_DENIED.classify(address).blocked
        # IPv6 that nobody has been given is not in their registry; we take only what is handed out.
        explained = any(address.version == network.version and address in network for network in stricter) or (
            address.version == 6 and address not in unicast
        )
        assert ours == theirs or (ours and explained), address


REFUSED_BY_DEPLOYED = [
    ("http://127.0.0.1/", "is at a loopback address (127.0.0.1), which this service does not visit"),
    ("https://[::1]/", "is at a loopback address (::1), which this service does not visit"),
    ("https://10.0.0.7/", "is at a private address (10.0.0.7), which this service does not visit"),
    ("https://1.1.1.1/", "has an IP address for a host (1.1.1.1), and this service visits names only"),
    ("https://localhost/", "has a name that only makes sense inside a network (localhost)"),
    ("https://localhost./", "has a name that only makes sense inside a network (localhost)"),
    ("https://intranet/", "has a name that only makes sense inside a network (intranet)"),
    ("https://printer.local/", "has a name that only makes sense inside a network (printer.local)"),
    (
        "https://metadata.google.internal/",
        "has a name that only makes sense inside a network (metadata.google.internal)",
    ),
    (
        "https://1.0.168.192.in-addr.arpa/",
        "has a name that only makes sense inside a network (1.0.168.192.in-addr.arpa)",
    ),
    ("https://a.example/", "has a name that does not exist on the internet (.example is set apart)"),
    ("https://a.onion/", "has a name that does not exist on the internet (.onion is set apart)"),
    ("https://a_b.com/", "has a host name that is not valid on the internet (a_b.com)"),
    ("https://a.com:22/", "is on port 22, which this service does not visit (80, 443, 8080 and 8443 are)"),
    ("https://audit.parley.dev/", "is this service's own address"),
    ("https://x.audit.parley.dev:8443/", "is this service's own address"),
    ("https://left-alone.com/", "is on a host whose operator asked not to be visited"),
    ("http://www.left-alone.com/", "is on a host whose operator asked not to be visited"),
]


@pytest.mark.parametrize(("url", "reason"), REFUSED_BY_DEPLOYED)
def test_deployed_refuses(url: str, reason: str) -> None:
    policy = DEPLOYED._replace(deny_hosts=frozenset({"audit.parley.dev"}), opted_out=frozenset({"left-alone.com"}))
    assert policy.refuse_url(Url.parse(url)) == reason


@pytest.mark.parametrize(
    "url",
    [
        "https://a.com/", "http://a.com/", "http://a.com:8080/", "https://a.com:8443/", "https://bücher.de/",
        "https://mylocal.com/", "https://local.dev/", "https://notparley.dev/", "https://a-b.c-d.museum/",
    ],
)  # fmt: skip
def test_deployed_takes(url: str) -> None:
    assert DEPLOYED._replace(deny_hosts=frozenset({"parley.dev"})).refuse_url(Url.parse(url)) is None


@pytest.mark.parametrize(
    "url",
    ["http://localhost:8000/", "http://server:8000/", "http://app.local/", "https://127.0.0.1:1/", "http://[::1]:22/",
     "http://10.0.0.1/", "http://a_b/"],
)  # fmt: skip
def test_local_takes(url: str) -> None:
    assert LOCAL.refuse_url(Url.parse(url)) is None


def test_local_too_leaves_alone_who_asked_for_it() -> None:
    policy = LOCAL._replace(opted_out=frozenset({"a.com"}))
    assert policy.refuse_url(Url.parse("http://a.com:9/")) == "is on a host whose operator asked not to be visited"


@pytest.mark.parametrize(
    ("led_from", "allowed"),
    [
        (None, {"1.1.1.1", "10.0.0.1", "127.0.0.1"}),
        (Place.LOOPBACK, {"1.1.1.1", "10.0.0.1", "127.0.0.1"}),
        (Place.PRIVATE, {"1.1.1.1", "10.0.0.1"}),
        (Place.PUBLIC, {"1.1.1.1"}),
    ],
)
def test_local_never_leads_to_somewhere_more_private(led_from: Place | None, allowed: set[str]) -> None:
    everything = ["1.1.1.1", "10.0.0.1", "127.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1", "64:ff9b::7f00:1"]
    taken = {
        text
        for text in everything
        if not LOCAL.refuse_address(ipaddress.ip_address(text), literal=True, led_from=led_from)
    }
    assert taken == allowed


def test_reasons_of_local() -> None:
    def reason(text: str, *, literal: bool = False) -> str | None:
        return LOCAL.refuse_address(ipaddress.ip_address(text), literal=literal, led_from=Place.PUBLIC)

    assert reason("10.0.0.7") == "resolves to a private address (10.0.0.7), where a target on the internet may not lead"
    assert reason("169.254.169.254", literal=True) == (
        "is at a cloud's metadata address (169.254.169.254), which is never visited"
    )


@pytest.mark.parametrize(
    ("host", "expected"),
    [("a.com", Place.PUBLIC), ("server", Place.PRIVATE), ("a.local", Place.PRIVATE), ("localhost", Place.LOOPBACK),
     ("x.localhost", Place.LOOPBACK), ("127.0.0.1", Place.LOOPBACK), ("192.168.1.1", Place.PRIVATE)],
)  # fmt: skip
def test_named_place(host: str, expected: Place) -> None:
    assert named_place(Url.parse(f"http://{host}/")) is expected


def test_redirects_keep_encryption() -> None:
    tls, plain, loopback = (Url.parse(u) for u in ("https://a.com/", "http://a.com/", "http://127.0.0.1:1/"))
    assert DEPLOYED.refuse_redirect(tls, plain) == "is no longer encrypted"
    assert DEPLOYED.refuse_redirect(plain, tls) is None
    assert LOCAL.refuse_redirect(tls, plain) == "is no longer encrypted"
    assert LOCAL.refuse_redirect(tls, loopback) is None


def test_only_public_names_are_looked_up_with_a_final_dot() -> None:
    assert DEPLOYED.looked_up("a.com") == "a.com."
    assert LOCAL.looked_up("server") == "server"


def test_user_agent_names_a_page() -> None:
    assert user_agent("https://a.com/bot").startswith("Parley/")
    assert user_agent("https://a.com/bot").endswith(" (+https://a.com/bot)")
    assert "(+https://parley.example/about)" in DEPLOYED.user_agent


def test_limits_from_a_time_a_person_chose() -> None:
    limits = Limits.for_timeout(2)
    assert (limits.fetch_seconds, limits.connect_seconds, limits.dns_seconds, limits.audit_seconds) == (2, 2, 2, 5)
    assert Limits.for_timeout(60).connect_seconds == 3
    assert Limits().ending_within(7).audit_seconds == 7
    assert Limits().ending_within(70).audit_seconds == 20


def test_reading_a_policy_loads_no_http_client() -> None:
    code = (
        "import sys; import parley.fetch.policy; "
        "print(*sorted({'requests', 'urllib3', 'socket', 'ssl', 'http.client', 'email'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(FUNCTIONS)}
    )
    assert done.stdout.strip() == ""
