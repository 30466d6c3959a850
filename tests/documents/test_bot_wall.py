import pytest

from parley.documents.bot_wall import bot_wall
from parley.evidence import Exchange, Request
from sites import Answer, Site


def exchange(answer: Answer) -> Exchange:
    return Site({"/": answer})(Request(purpose="x", url="https://weather.example/"))


@pytest.mark.parametrize(
    ("status", "headers", "body", "mark"),
    [
        (403, {"cf-mitigated": "challenge"}, b"", "cf-mitigated: challenge"),
        (503, {}, b"<title>Just a moment...</title>", "a page of Cloudflare"),
        (
            403,
            {},
            b'<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/jsch/v1"></script>',
            "a page of Cloudflare",
        ),
        (429, {"x-vercel-mitigated": "challenge"}, b"", "x-vercel-mitigated: challenge"),
        (403, {"x-datadome": "protected"}, b"", "x-datadome"),
        (403, {"x-amzn-waf-action": "captcha"}, b"", "x-amzn-waf-action: captcha"),
        (403, {}, b'<iframe src="/_Incapsula_Resource?x"></iframe>', "a page of Imperva"),
        (403, {}, b"<div id=px-captcha></div>", "a page of PerimeterX"),
    ],
)
def test_wall(status: int, headers: dict[str, str], body: bytes, mark: str) -> None:
    assert bot_wall(exchange(Answer(status=status, headers=headers, body=body))) == mark


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (403, {}, b"Forbidden"),
        (403, {"server": "cloudflare"}, b"<h1>403</h1>"),
        (429, {"retry-after": "60"}, b"slow down"),
        (503, {}, b"maintenance"),
        (401, {"cf-mitigated": "challenge"}, b""),
        (404, {}, b"<title>Just a moment...</title>"),
        (200, {"cf-mitigated": "challenge"}, b"<title>Just a moment...</title>"),
    ],
)
def test_no_wall(status: int, headers: dict[str, str], body: bytes) -> None:
    assert bot_wall(exchange(Answer(status=status, headers=headers, body=body))) is None
