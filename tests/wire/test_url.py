import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.target import Target, TargetError, shown
from parley.wire.url import Url, UrlError

# Different ways to write one URL: (as written, normal form).
SAME = [
    ("https://example.com", "https://example.com/"),
    ("HTTPS://Example.COM:443", "https://example.com/"),
    ("https://example.com.", "https://example.com/"),
    ("http://example.com:80/", "http://example.com/"),
    ("https://example.com:8443/", "https://example.com:8443/"),
    ("https://example.com/a/../b", "https://example.com/b"),
    ("https://example.com/a/./b/..", "https://example.com/a/"),
    ("https://example.com/../../x", "https://example.com/x"),
    ("https://example.com/%7euser/%2fx", "https://example.com/~user/%2Fx"),
    ("https://example.com/%2e%2e/x", "https://example.com/x"),
    ("https://example.com/100%", "https://example.com/100%25"),
    ("https://example.com//a", "https://example.com//a"),
    ("https://example.com/ü", "https://example.com/%C3%BC"),
    ("https://BÜCHER.example/", "https://xn--bcher-kva.example/"),
    ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
    ("https://例え。テスト/", "https://xn--r8jz45g.xn--zckzah/"),
    ("https://example.com/?a=b c", None),
    ("https://example.com/?q=%41", "https://example.com/?q=A"),
    ("https://example.com/#top", "https://example.com/"),
    ("https://127.0.0.1/", "https://127.0.0.1/"),
    ("https://①②⑦.0.0.1/", "https://127.0.0.1/"),
    ("https://[0:0:0:0:0:0:0:1]:8080/x", "https://[::1]:8080/x"),
    ("https://a_b.example/", "https://a_b.example/"),
]


@pytest.mark.parametrize(("written", "normal"), [case for case in SAME if case[1]])
def test_normal_form(written: str, normal: str) -> None:
    assert str(Url.parse(written)) == normal
    assert str(Url.parse(normal)) == normal


REFUSED = [
    ("example.com", "is not an http(s) URL"),
    ("ftp://example.com", "is not an http(s) URL"),
    ("file:///etc/passwd", "is not an http(s) URL"),
    ("//example.com", "is not an http(s) URL"),
    ("https:", "has no host"),
    ("https:///x", "has no host"),
    ("https:example.com", "has no host"),
    ("https://user@example.com", "carries a user name or a password"),
    ("https://user:pw@example.com", "carries a user name or a password"),
    ("https://@example.com", "carries a user name or a password"),
    ("https://example.com:0", "has port 0"),
    ("https://example.com:65536", "has a host or a port that cannot be read"),
    ("https://example.com:x", "has a host or a port that cannot be read"),
    ("https://[::1", "has something in brackets that is no IPv6 address"),
    ("https://[v1.a]/", "has something in brackets that is no IPv6 address"),
    ("https://[127.0.0.1]/", "has something in brackets that is no IPv6 address"),
    ("https://[fe80::1%25eth0]/", "has an IPv6 address with a zone"),
    ("https://a..b/", "has a host name that is not valid"),
    ("https://.example/", "has a host name that is not valid"),
    ("https://-a.example/", "has a host name that is not valid"),
    ("https://a-.example/", "has a host name that is not valid"),
    (f"https://{'a' * 64}.example/", "has a host name that is not valid"),
    (f"https://{'a.' * 130}example/", "has a host name that is not valid"),
    ("https://a%2fb.example/", "has a host name that is not valid"),
    ("https://a*b.example/", "has a host name that is not valid"),
    ("https://xn--a.example/", "has a host name that is not valid (IDNA)"),
    ("https://a\u200bb.example/ü", None),
    ("https://127.1/", "has a host that looks like an IP address but is not four decimal numbers"),
    ("https://2130706433/", "has a host that looks like an IP address but is not four decimal numbers"),
    ("https://0x7f.0x1/", "has a host that looks like an IP address but is not four decimal numbers"),
    ("https://0177.0.0.1/", "has a host that looks like an IP address but is not four decimal numbers"),
    ("https://1.2.3.256/", "has a host that looks like an IP address but is not four decimal numbers"),
    (f"https://example.com/{'a' * 2048}", "is longer than 2048 characters"),
] + [
    (f"https://example.com/{character}x", "holds a character that does not belong in a URL")
    for character in ("\\", " ", "\t", "\r", "\n", "\x00", "\x7f", "\xa0", "\ud800", "\x1b")
]


@pytest.mark.parametrize(("text", "reason"), [case for case in REFUSED if case[1]])
def test_refused(text: str, reason: str) -> None:
    with pytest.raises(UrlError) as caught:
        Url.parse(text)
    assert str(caught.value).startswith(reason)


@given(st.text(max_size=60))
def test_any_text_is_a_url_or_a_reason(text: str) -> None:
    for candidate in (text, f"https://{text}", f"https://example.com/{text}"):
        try:
            url = Url.parse(candidate)
        except UrlError:
            continue
        assert str(url).isascii()
        assert Url.parse(str(url)) == url


@pytest.mark.parametrize(
    ("reference", "joined"),
    [
        ("/x", "https://example.com/x"),
        ("x", "https://example.com/a/x"),
        ("../x", "https://example.com/x"),
        ("?q", "https://example.com/a/b?q"),
        ("//other.example/x", "https://other.example/x"),
        ("http://other.example", "http://other.example/"),
        ("", "https://example.com/a/b"),
    ],
)
def test_join(reference: str, joined: str) -> None:
    assert str(Url.parse("https://example.com/a/b").join(reference)) == joined


@pytest.mark.parametrize("reference", ["\tx", "http://[", "javascript:alert(1)", "http://u@x.example", "/\\x"])
def test_join_refuses(reference: str) -> None:
    with pytest.raises(UrlError):
        Url.parse("https://example.com/a/b").join(reference)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("localhost", True),
        ("a.localhost", True),
        ("127.9.9.9", True),
        ("[::1]", True),
        ("localhost.example", False),
        ("10.0.0.1", False),
    ],
)
def test_loopback(host: str, loopback: bool) -> None:
    assert Url.parse(f"http://{host}/").is_loopback is loopback


# What a person may paste: (text, URL or reason).
PASTED = [
    ("example.com", "https://example.com/"),
    ("  example.com/mcp \n", "https://example.com/mcp"),
    ("example.com:8443/mcp", "https://example.com:8443/mcp"),
    ("localhost:8000", "https://localhost:8000/"),
    ("//example.com/x", "https://example.com/x"),
    ("http://server:8000", "http://server:8000/"),
    ("https://example.com/x#part", "https://example.com/x"),
    ("[::1]:8000", "https://[::1]:8000/"),
    ("mailto:ann@example.com", "'mailto:…' is not an http(s) URL"),
    ("ann:hunter2@example.com", "the URL carries a user name or a password"),
    ("hunter2:@example.com", "the URL carries a user name or a password"),
    ("ann:1234/x@example.com", "the URL carries a user name or a password"),
    ("example.com/@ann", "https://example.com/@ann"),
    ("example.com:8443/@ann", "https://example.com:8443/@ann"),
    ("[::1]:8000/@ann", "https://[::1]:8000/@ann"),
    ("ftp://ann:hunter2@example.com", "'ftp://…' is not an http(s) URL"),
    ("ann@example.com", "the URL carries a user name or a password"),
    (
        "example.com?key=hunter2",
        "the URL carries a query, which may hold a secret, and reports are public; leave it out",
    ),
    ("https://example.com/?", "the URL carries a query, which may hold a secret, and reports are public; leave it out"),
]


@pytest.mark.parametrize(("text", "expected"), PASTED)
def test_target(text: str, expected: str) -> None:
    if expected.startswith("http"):
        assert str(Target.parse(text)) == expected
        return
    with pytest.raises(TargetError) as caught:
        Target.parse(text)
    assert caught.value.reason == expected


@pytest.mark.parametrize(
    "text",
    [
        "https://ann:hunter2@example.com/path",
        "ann:hunter2@example.com",
        "https://ann:hun/hunter2@example.com",
        "https://ann:hunter2\\@example.com",
        "https://example.com/?token=hunter2",
        "https://example.com/#hunter2",
        "example.com?hunter2#x",
        "ftp://ann:hunter2@example.com",
        "hunter2@",
    ],
)
def test_shown_hides_what_may_be_secret(text: str) -> None:
    assert "hunter2" not in shown(text)
    assert shown("https://example.com/path") == "https://example.com/path"
