"""MCP servers on the official SDK (mcp 1.x) that ask for authorization, each at a port of its own on loopback.

Arguments: NAME=ISSUER. Prints one line: a JSON object of their endpoints, by name.
"""

import asyncio
import json
import socket
import sys

import uvicorn
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.fastmcp import FastMCP


class Verifier(TokenVerifier):
    async def verify_token(self, token: str) -> AccessToken | None:
        return None


def resource(name: str, port: int, issuer: str) -> FastMCP:
    endpoint = f"http://127.0.0.1:{port}/{'sse' if name == 'sse' else 'mcp'}"
    settings = AuthSettings(issuer_url=issuer, resource_server_url=endpoint, required_scopes=["forecasts"])
    return FastMCP("weather", host="127.0.0.1", port=port, token_verifier=Verifier(), auth=settings)


async def main() -> None:
    serving = []
    endpoints = {}
    for argument in sys.argv[1:]:
        name, _, issuer = argument.partition("=")
        listener = socket.socket(proto=socket.IPPROTO_TCP)  # else asyncio leaves Nagle's algorithm on
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        server = resource(name, port, issuer)
        app = server.sse_app() if name == "sse" else server.streamable_http_app()
        endpoints[name] = f"http://127.0.0.1:{port}/{'sse' if name == 'sse' else 'mcp'}"
        serving.append(uvicorn.Server(uvicorn.Config(app, log_level="error")).serve(sockets=[listener]))
    sys.stdout.write(f"{json.dumps(endpoints)}\n")
    sys.stdout.flush()
    await asyncio.gather(*serving)


asyncio.run(main())
