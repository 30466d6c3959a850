"""MCP servers on the official SDK (mcp 1.x) that ask for authorization, each at a port of its own on loopback.

Arguments: NAME=ISSUER. Prints one line: a JSON object of their endpoints, by name.
"""

from typing import Any

from listening import serve
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.fastmcp import FastMCP


class Verifier(TokenVerifier):
    async def verify_token(self, token: str) -> AccessToken | None:
        return None


def path(argument: str) -> str:
    return "/sse" if argument.startswith("sse=") else "/mcp"


def app(argument: str, origin: str) -> Any:
    settings = AuthSettings(
        issuer_url=argument.partition("=")[2],
        resource_server_url=origin + path(argument),
        required_scopes=["forecasts"],
    )
    port = int(origin.rpartition(":")[2])
    server = FastMCP("weather", host="127.0.0.1", port=port, token_verifier=Verifier(), auth=settings)
    return server.sse_app() if path(argument) == "/sse" else server.streamable_http_app()


serve(app, path)
