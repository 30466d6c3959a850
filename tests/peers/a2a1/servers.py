"""A2A agents on the official SDK (a2a-sdk 1.x), which speaks 1.0 and, beside it, 0.3; each at a port of its own on loopback.

Arguments: the modes. Prints one line: a JSON object of their origins, by mode.
"""

from typing import Any

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    APIKeySecurityScheme,
    AuthorizationCodeOAuthFlow,
    HTTPAuthSecurityScheme,
    OAuth2SecurityScheme,
    OAuthFlows,
    OpenIdConnectSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a.utils.signing import create_agent_card_signer
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from jwt.algorithms import ECAlgorithm
from listening import serve
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

DUAL = ("dual", "signed-dual", "extended")
SECURED = ("secured", "signed-dual", "extended")


class Forecaster(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError("only its card is of interest")

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError("only its card is of interest")


def card(mode: str, origin: str) -> AgentCard:
    endpoint = f"{origin}/a2a"
    jsonrpc = AgentInterface(url=endpoint, protocol_binding="JSONRPC", protocol_version="1.0")
    if mode == "bare":  # no more than the SDK needs to start
        return AgentCard(name="Weather", version="1.4.0", supported_interfaces=[jsonrpc])
    made = AgentCard(
        name="Weather",
        description="Says what the weather will be at a place.",
        version="1.4.0",
        supported_interfaces=[jsonrpc],
        capabilities=AgentCapabilities(streaming=True, push_notifications=False),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[
            AgentSkill(
                id="forecast",
                name="Forecast",
                description="The forecast for a place, for up to ten days.",
                tags=["weather", "forecast"],
                examples=["Will it rain in Łódź tomorrow?"],
            )
        ],
    )
    if mode in DUAL:
        made.supported_interfaces.append(
            AgentInterface(url=endpoint, protocol_binding="JSONRPC", protocol_version="0.3")
        )
    if mode == "rest":
        made.supported_interfaces.append(
            AgentInterface(url=f"{origin}/rest", protocol_binding="HTTP+JSON", protocol_version="1.0")
        )
    if mode == "extended":
        made.capabilities.extended_agent_card = True
    if mode in SECURED:
        secure(made, origin)
    return made


def secure(made: AgentCard, origin: str) -> None:
    """One scheme of each kind but mutual TLS, and a requirement without scopes."""
    flow = AuthorizationCodeOAuthFlow(
        authorization_url=f"{origin}/authorize", token_url=f"{origin}/token", scopes={"forecasts": "Read forecasts"}
    )
    schemes = {
        "bearer": SecurityScheme(
            http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer", bearer_format="JWT")
        ),
        "key": SecurityScheme(api_key_security_scheme=APIKeySecurityScheme(location="header", name="X-Key")),
        "oauth": SecurityScheme(oauth2_security_scheme=OAuth2SecurityScheme(flows=OAuthFlows(authorization_code=flow))),
        "oidc": SecurityScheme(
            open_id_connect_security_scheme=OpenIdConnectSecurityScheme(
                open_id_connect_url=f"{origin}/.well-known/openid-configuration"
            )
        ),
    }
    for name, scheme in schemes.items():
        made.security_schemes[name].CopyFrom(scheme)
    made.security_requirements.append(SecurityRequirement(schemes={"bearer": StringList()}))


def provider(origin: str) -> Route:
    """What its OpenID Connect scheme names."""
    metadata = {"issuer": origin, "authorization_endpoint": f"{origin}/authorize", "token_endpoint": f"{origin}/token"}
    return Route("/.well-known/openid-configuration", lambda _: JSONResponse(metadata))


def extended(public: AgentCard) -> AgentCard:
    made = AgentCard()
    made.CopyFrom(public)
    made.skills.append(
        AgentSkill(id="warnings", name="Warnings", description="Warnings for a place.", tags=["weather"])
    )
    return made


def signed(made: AgentCard, origin: str) -> tuple[AgentCard, dict[str, Any]]:
    """With the set of keys to check it by, which its header points to."""
    key = ec.generate_private_key(ec.SECP256R1())
    jwk = {**ECAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": "key-1", "use": "sig", "alg": "ES256"}
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    header = {"kid": "key-1", "alg": "ES256", "jku": f"{origin}/jwks.json", "typ": "JOSE"}
    return create_agent_card_signer(pem, header)(made), {"keys": [jwk]}


def app(mode: str, origin: str) -> Starlette:
    made = card(mode, origin)
    more = extended(made) if mode == "extended" else None
    routes = [provider(origin)] if mode in SECURED else []
    if mode.startswith("signed"):
        made, keys = signed(made, origin)
        routes.append(Route("/jwks.json", lambda _: JSONResponse(keys)))
    handler = DefaultRequestHandler(
        agent_executor=Forecaster(), task_store=InMemoryTaskStore(), agent_card=made, extended_agent_card=more
    )
    routes += create_agent_card_routes(made)
    routes += create_jsonrpc_routes(handler, "/a2a", enable_v0_3_compat=mode in DUAL)
    if mode == "rest":
        routes += create_rest_routes(handler, path_prefix="/rest")
    return Starlette(routes=routes)


serve(app)
