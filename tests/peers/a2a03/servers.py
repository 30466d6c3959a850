"""A2A agents on the official SDK (a2a-sdk 0.3.x, and the same API in 0.2.x); each at a port of its own on loopback.

Arguments: the modes. Prints one line: a JSON object of their origins, by mode.
"""

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    APIKeySecurityScheme,
    AuthorizationCodeOAuthFlow,
    HTTPAuthSecurityScheme,
    In,
    OAuth2SecurityScheme,
    OAuthFlows,
    OpenIdConnectSecurityScheme,
    SecurityScheme,
)
from listening import serve
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route


class Forecaster(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError("only its card is of interest")

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError("only its card is of interest")


FORECAST = AgentSkill(
    id="forecast",
    name="Forecast",
    description="The forecast for a place, for up to ten days.",
    tags=["weather", "forecast"],
    examples=["Will it rain in Łódź tomorrow?"],
)
WARNINGS = AgentSkill(id="warnings", name="Warnings", description="Warnings for a place.", tags=["weather"])


def card(mode: str, origin: str) -> AgentCard:
    made = AgentCard(
        name="Weather",
        description="Says what the weather will be at a place.",
        url=f"{origin}/",
        version="1.4.0",
        capabilities=AgentCapabilities(streaming=True, push_notifications=False),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[FORECAST],
    )
    if mode == "bare":  # what the SDK insists on, and that empty
        made = made.model_copy(update={"description": "", "capabilities": AgentCapabilities(), "skills": []})
    if mode in ("secured", "extended"):
        flow = AuthorizationCodeOAuthFlow(
            authorization_url=f"{origin}/authorize", token_url=f"{origin}/token", scopes={"forecasts": "Read forecasts"}
        )
        made.security_schemes = {
            "bearer": SecurityScheme(root=HTTPAuthSecurityScheme(scheme="bearer", bearer_format="JWT")),
            "key": SecurityScheme(root=APIKeySecurityScheme(name="X-Key", in_=In.header)),
            "oauth": SecurityScheme(root=OAuth2SecurityScheme(flows=OAuthFlows(authorization_code=flow))),
            "oidc": SecurityScheme(
                root=OpenIdConnectSecurityScheme(open_id_connect_url=f"{origin}/.well-known/openid-configuration")
            ),
        }
        made.security = [{"bearer": []}, {"oauth": ["forecasts"]}]
        made.additional_interfaces = [
            AgentInterface(url=f"{origin}/", transport="JSONRPC"),
            AgentInterface(url=f"{origin}/rest", transport="HTTP+JSON"),
        ]
    if mode == "extended":
        made.supports_authenticated_extended_card = True
    return made


def provider(origin: str) -> Route:
    """What its OpenID Connect scheme names."""
    metadata = {"issuer": origin, "authorization_endpoint": f"{origin}/authorize", "token_endpoint": f"{origin}/token"}
    return Route("/.well-known/openid-configuration", lambda _: JSONResponse(metadata))


def app(mode: str, origin: str) -> Starlette:
    made = card(mode, origin)
    more = made.model_copy(update={"skills": [FORECAST, WARNINGS]}) if mode == "extended" else None
    handler = DefaultRequestHandler(agent_executor=Forecaster(), task_store=InMemoryTaskStore())
    routes = [provider(origin)] if made.security_schemes else []
    application = A2AStarletteApplication(agent_card=made, http_handler=handler, extended_agent_card=more)
    return application.build(routes=routes)


serve(app)
