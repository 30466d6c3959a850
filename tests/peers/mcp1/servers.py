"""MCP servers on the official SDK (mcp 1.x), which speaks the legacy era, each at a port of its own on loopback.

Arguments: the modes. Prints one line: a JSON object of their endpoints, by mode.
"""

import asyncio
import json
import socket
import sys
from typing import Any

import uvicorn
from mcp.server.fastmcp import FastMCP


def app(mode: str, port: int) -> Any:
    host = "0.0.0.0" if mode == "open" else "127.0.0.1"  # a setting; what is bound is below
    stateless = mode in ("stateless", "json")
    server = FastMCP("weather", host=host, port=port, stateless_http=stateless, json_response=mode == "json")

    @server.tool()
    def get_forecast(place: str, days: int = 3) -> str:
        """The forecast for a place."""
        return f"{place}: fair for {days} days"

    @server.tool()
    def get_warnings(place: str) -> list[str]:
        """The warnings for a place."""
        return [place]

    return server.sse_app() if mode == "sse" else server.streamable_http_app()


async def main() -> None:
    serving = []
    endpoints = {}
    for mode in sys.argv[1:]:
        listener = socket.socket(proto=socket.IPPROTO_TCP)  # else asyncio leaves Nagle's algorithm on
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        endpoints[mode] = f"http://127.0.0.1:{port}/{'sse' if mode == 'sse' else 'mcp'}"
        serving.append(uvicorn.Server(uvicorn.Config(app(mode, port), log_level="error")).serve(sockets=[listener]))
    sys.stdout.write(f"{json.dumps(endpoints)}\n")
    sys.stdout.flush()
    await asyncio.gather(*serving)


asyncio.run(main())
