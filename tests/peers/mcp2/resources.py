"""MCP servers on the official SDK (mcp 2.x) that ask for authorization, each at a port of its own on loopback.

Arguments: NAME=ISSUER for a resource server of that authorization server, NAME=own for one that is its own. Prints one
line: a JSON object of their endpoints, by name.
"""

from typing import Any

from listening import serve
from mcp.server.auth.provider import AccessToken, OAuthAuthorizationServerProvider, TokenVerifier
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer


class Verifier(TokenVerifier):
    async def verify_token(self, token: str) -> AccessToken | None:
        return None


class Provider(OAuthAuthorizationServerProvider):
    async def load_access_token(self, token: str) -> AccessToken | None:
        return None


def resource(base: str, issuer: str) -> MCPServer:
    endpoint = f"{base}/mcp"
    if issuer == "own":
        registration = ClientRegistrationOptions(enabled=True, valid_scopes=["forecasts"])
        settings = AuthSettings(
            issuer_url=base,
            resource_server_url=endpoint,
            required_scopes=["forecasts"],
            validate_token_resource=False,
            client_registration_options=registration,
        )
        return MCPServer("weather", auth_server_provider=Provider(), auth=settings)
    settings = AuthSettings(
        issuer_url=issuer, resource_server_url=endpoint, required_scopes=["forecasts"], validate_token_resource=True
    )
    return MCPServer("weather", token_verifier=Verifier(), auth=settings)


def app(argument: str, origin: str) -> Any:
    return resource(origin, argument.partition("=")[2]).streamable_http_app()


serve(app, lambda _: "/mcp")
