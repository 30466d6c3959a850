"""Signing Agent Cards with the JOSE library, by keys that exist for one run."""

import base64
import json
from functools import cache

from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

Key = ECKey | OKPKey | RSAKey

SITE = "https://weather.example"
JKU = f"{SITE}/jwks.json"


@cache
def ec(curve: str = "P-256") -> ECKey:
    return ECKey.generate_key(curve)  # type: ignore[arg-type]


@cache
def rsa(bits: int = 2048) -> RSAKey:
    return RSAKey.generate_key(bits)


@cache
def okp(curve: str = "Ed25519") -> OKPKey:
    return OKPKey.generate_key(curve)  # type: ignore[arg-type]


def jwk(key: Key, *, private: bool = False, **members: object) -> dict[str, object]:
    return key.as_dict(private=private) | {"kid": "key-1"} | members


def encoded(value: object) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def signed(payload: str, key: Key, **header: object) -> dict[str, object]:
    """An entry of ``signatures`` over a text. ``header`` replaces members of the protected one, or removes with None."""
    whole: dict[str, object] = {"alg": "ES256", "typ": "JOSE", "kid": "key-1", "jku": JKU} | header
    protected = encoded({name: value for name, value in whole.items() if value is not None})
    name = key.curve_name if isinstance(key, OKPKey) else str(whole["alg"])
    method = JWSRegistry(algorithms=[name]).get_alg(name)
    text = f"{protected}.{encoded(payload.encode())}".encode()
    return {"protected": protected, "signature": encoded(method.sign(text, key))}
