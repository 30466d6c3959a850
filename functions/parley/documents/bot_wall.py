"""Bot walls: answers that a protecting service gave in the site's stead. They say nothing about the site."""

import re
from typing import Final

from parley.evidence import Exchange

_STATUSES: Final = (403, 429, 503)

# Headers that only a challenge or a mitigation carries; the products' own documentation names them.
_HEADERS: Final = (
    ("cf-mitigated", r"challenge"),
    ("x-amzn-waf-action", r"challenge|captcha"),
    ("x-vercel-mitigated", r"challenge|deny"),
    ("x-datadome", r"."),
    ("x-datadome-cid", r"."),
    ("x-px-captcha", r"."),
    ("x-sucuri-block", r"."),
)

_BODIES: Final = (
    (
        "Cloudflare",
        rb"/cdn-cgi/challenge-platform/|cf-chl-|cf_chl_opt|<title>Just a moment\.\.\.|cf-browser-verification",
    ),
    ("Cloudflare", rb"<title>Attention Required! \| Cloudflare|cf-error-details"),
    ("DataDome", rb"captcha-delivery\.com|geo\.captcha-delivery"),
    ("PerimeterX", rb"px-captcha|captcha\.px-cdn\.net|_pxAppId"),
    ("Imperva", rb"_Incapsula_Resource|Incapsula incident ID"),
    ("Akamai", rb"errors\.edgesuite\.net|bm-verify|sec-if-cpt-container"),
    ("AWS WAF", rb"awswaf\.com/|AwsWafIntegration|gokuProps"),
    ("Vercel", rb"Vercel Security Checkpoint"),
    ("a captcha", rb"www\.google\.com/recaptcha/|hcaptcha\.com/1/api\.js|challenges\.cloudflare\.com/turnstile"),
    ("Anubis", rb"Making sure you(?:&#39;|')re not a bot!|/\.within\.website/x/cmd/anubis"),
    ("Sucuri", rb"Sucuri WebSite Firewall|sucuri\.net/privacy"),
)


def bot_wall(exchange: Exchange) -> str | None:
    """The mark of a bot wall in an answer, to be shown: ``cf-mitigated: challenge``; None if it bears none."""
    if exchange.status not in _STATUSES:
        return None
    for name, value in _HEADERS:
        seen = exchange.header(name)
        if seen and (found := re.search(value, seen, re.IGNORECASE)):
            return f"{name}: {found[0].lower()}" if len(value) > 1 else name
    start = exchange.body[:65_536]
    for product, mark in _BODIES:
        if re.search(mark, start, re.IGNORECASE):
            return f"a page of {product}"
    return None
