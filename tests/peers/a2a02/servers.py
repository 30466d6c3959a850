"""A2A agents on the official SDK (a2a-sdk 0.2.x), whose card is at agent.json; each at a port of its own on loopback.

Arguments: the modes. Prints one line: a JSON object of their origins, by mode.
"""

import asyncio
import json
import socket
import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, HTTPAuthSecurityScheme, SecurityScheme
from starlette.applications import Starlette


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
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[FORECAST],
    )
    if mode == "extended":
        made.security_schemes = {"bearer": SecurityScheme(root=HTTPAuthSecurityScheme(scheme="bearer"))}
        made.security = [{"bearer": []}]
        made.supports_authenticated_extended_card = True
    return made


def app(mode: str, origin: str) -> Starlette:
    made = card(mode, origin)
    more = made.model_copy(update={"skills": [FORECAST, WARNINGS]}) if mode == "extended" else None
    handler = DefaultRequestHandler(agent_executor=Forecaster(), task_store=InMemoryTaskStore())
    return A2AStarletteApplication(agent_card=made, http_handler=handler, extended_agent_card=more).build()


async def main() -> None:
    serving = []
    origins = {}
    for mode in sys.argv[1:]:
        listener = socket.socket(proto=socket.IPPROTO_TCP)  # else asyncio leaves Nagle's algorithm on
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        origins[mode] = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = uvicorn.Server(uvicorn.Config(app(mode, origins[mode]), log_level="error"))
        serving.append(server.serve(sockets=[listener]))
    sys.stdout.write(f"{json.dumps(origins)}\n")
    sys.stdout.flush()
    await asyncio.gather(*serving)


asyncio.run(main())
