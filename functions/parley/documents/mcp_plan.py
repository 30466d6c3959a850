"""The probe plan: every request that is made of an MCP endpoint, what it is for, and which are dropped first.

The one list of them. The probe sends by it, rules read by it what was answered, and CHECKS.md shows it.
"""

from enum import StrEnum
from typing import Final, NamedTuple

MODERN_VERSION: Final = "2026-07-28"
"""The first revision without a handshake, and the one that is asked for first."""

LEGACY_VERSION: Final = "2025-11-25"
"""The last revision with a handshake."""

OLD_VERSION: Final = "2025-03-26"
"""Proposed to a server that refused the last revision instead of answering with its own."""

VERSIONS: Final = ("2024-11-05", OLD_VERSION, "2025-06-18", LEGACY_VERSION, MODERN_VERSION)
"""All revisions that this auditor knows."""

NO_VERSION: Final = "1900-01-01"
"""A version that no server has."""

FUTURE_VERSION: Final = "2099-01-01"
"""A version that no server has yet."""

NO_METHOD: Final = "x-parley/no-such-method"
"""A method that no server has."""

NO_SESSION: Final = "parley-no-such-session"
NO_CURSOR: Final = "parley-no-such-cursor"
FOREIGN_ORIGIN: Final = "https://parley-foreign-origin.example"

REQUESTS: Final = 64
"""Requests that one audit makes of the target's host; what other questions leave of them is for lists' further pages."""

TOOL_PAGES: Final = 8
"""Pages of ``tools/list`` that one reading walks."""

PAGES: Final = 3
"""Pages of any other list."""


class Spoken(StrEnum):
    """In which era's words a request is made."""

    ANY = "any"
    MODERN = "modern"
    LEGACY = "legacy"


class Purpose(StrEnum):
    """What a request of the MCP probe is for, as the report's attempts show it."""

    DISCOVER = "MCP server/discover"
    INITIALIZE = "MCP initialize"
    STREAM = "MCP endpoint by GET"
    SUPPORTED = "MCP server/discover in a version that the server supports"
    OLDER = "MCP initialize in an older version"
    ENDPOINT_EVENT = "MCP HTTP+SSE endpoint event"
    SSE_INITIALIZE = "MCP initialize over HTTP+SSE"
    SSE_INITIALIZED = "MCP notifications/initialized over HTTP+SSE"
    SSE_TOOLS = "MCP tools/list over HTTP+SSE"
    INITIALIZED = "MCP notifications/initialized"
    TOOLS = "MCP tools/list"
    TOOLS_AGAIN = "MCP tools/list on another connection"
    TOOLS_THIRD = "MCP tools/list a third time"
    TOOLS_FOURTH = "MCP tools/list a fourth time"
    PROMPTS = "MCP prompts/list"
    RESOURCES = "MCP resources/list"
    TEMPLATES = "MCP resources/templates/list"
    NO_VERSION = "MCP server/discover in a version that does not exist"
    NO_METHOD = "MCP call of a method that does not exist"
    WITHOUT_METHOD = "MCP server/discover without Mcp-Method"
    OTHER_METHOD = "MCP server/discover with another Mcp-Method"
    OTHER_VERSION = "MCP server/discover with another version in its body"
    WITHOUT_CAPABILITIES = "MCP server/discover without clientCapabilities"
    LOWER_CASE = "MCP server/discover with header names in lower case"
    ORIGIN = "MCP server/discover from a foreign Origin"
    SESSION = "MCP server/discover with a session id and a Last-Event-ID"
    NOTIFICATION = "MCP notification that does not exist"
    CHARSET = "MCP server/discover with a charset"
    NO_CURSOR = "MCP tools/list with a cursor that does not exist"
    STREAM_END = "MCP server/discover to the end of its stream"
    PREFLIGHT = "MCP endpoint's CORS preflight"
    PING = "MCP ping"
    LEGACY_TOOLS = "MCP tools/list in a session"
    LEGACY_TOOLS_AGAIN = "MCP tools/list in a session, on another connection"
    LEGACY_PROMPTS = "MCP prompts/list in a session"
    LEGACY_RESOURCES = "MCP resources/list in a session"
    LEGACY_TEMPLATES = "MCP resources/templates/list in a session"
    LEGACY_PING = "MCP ping in a session"
    LEGACY_NO_VERSION = "MCP tools/list in a session, of a version that does not exist"
    LEGACY_WITHOUT_VERSION = "MCP tools/list in a session, without MCP-Protocol-Version"
    LEGACY_WITHOUT_SESSION = "MCP tools/list without the session's id"
    LEGACY_NO_SESSION = "MCP tools/list in a session that does not exist"
    LEGACY_ORIGIN = "MCP ping in a session, from a foreign Origin"
    LEGACY_FUTURE = "MCP initialize in a version that does not exist"
    LEGACY_CHARSET = "MCP ping in a session, with a charset"
    LEGACY_BATCH = "MCP batch of one ping"
    DELETE = "MCP end of the session"


class Step(NamedTuple):
    """One request of the plan, or one list's pages.

    ``key`` makes the JSON-RPC ids, numbers from ``number`` on where there is one; ``serves`` are the numbers of the
    rules that judge by it, and ``when`` says what must have come before. Rules on responses as such judge them all.
    """

    purpose: Purpose
    era: Spoken
    key: str
    call: str
    serves: tuple[int, ...]
    when: str = ""
    number: int | None = None

    def request_id(self, index: int) -> str | int:
        """The id of the step's request number ``index``: what is answered must bear it, type and all."""
        return f"parley:{self.key}/{index}" if self.number is None else self.number + index


_MODERN: Final = "the server is modern"
_LEGACY: Final = "the server is legacy or dual"

PLAN: Final = (
    Step(purpose=Purpose.DISCOVER, era=Spoken.MODERN, key="discover", call="server/discover", serves=(101, 102, 104, 110, 142, 302, 303, 354, 400, 402, 404, 405, 440, 441, 442, 453, 454, 490)),
    Step(purpose=Purpose.INITIALIZE, era=Spoken.LEGACY, key="initialize", call="initialize", serves=(101, 102, 110, 311, 380, 400, 403, 453, 481, 490), number=11),
    Step(purpose=Purpose.STREAM, era=Spoken.ANY, key="stream", call="GET", serves=(322, 421)),
    Step(purpose=Purpose.SUPPORTED, era=Spoken.MODERN, key="supported", call="server/discover", serves=(101, 102, 302, 303, 402), when="-32022 named other versions"),
    Step(purpose=Purpose.OLDER, era=Spoken.LEGACY, key="older", call="initialize", serves=(101, 380, 403), when="initialize was refused", number=50),
    Step(purpose=Purpose.ENDPOINT_EVENT, era=Spoken.LEGACY, key="sse", call="GET", serves=(101, 111, 328, 424), when="neither era answered, and GET is an event stream"),
    Step(purpose=Purpose.SSE_INITIALIZE, era=Spoken.LEGACY, key="sse-initialize", call="initialize", serves=(101, 102, 110, 403, 424), when="the stream's first event names an endpoint of the same origin", number=60),
    Step(purpose=Purpose.SSE_INITIALIZED, era=Spoken.LEGACY, key="sse-initialized", call="notifications/initialized", serves=(), when="initialize was answered on the stream"),
    Step(purpose=Purpose.SSE_TOOLS, era=Spoken.LEGACY, key="sse-tools", call="tools/list", serves=(103, 160, 161, 360, 361, 450, 451, 452, 460, 461, 462, 464), when="initialize was answered on the stream"),
    Step(purpose=Purpose.INITIALIZED, era=Spoken.LEGACY, key="initialized", call="notifications/initialized", serves=(321,), when=_LEGACY),
    Step(purpose=Purpose.TOOLS, era=Spoken.MODERN, key="tools", call="tools/list", serves=(103, 160, 161, 350, 351, 352, 360, 361, 362, 363, 364, 450, 451, 452, 460, 461, 462, 463, 104, 141, 142, 303, 354, 440, 441, 442, 443, 464), when=_MODERN),
    Step(purpose=Purpose.TOOLS_AGAIN, era=Spoken.MODERN, key="tools-again", call="tools/list", serves=(350, 351, 352), when=_MODERN, number=7000),
    Step(purpose=Purpose.NO_VERSION, era=Spoken.MODERN, key="no-version", call="server/discover", serves=(310, 410), when=_MODERN),
    Step(purpose=Purpose.LEGACY_FUTURE, era=Spoken.LEGACY, key="legacy-future", call="initialize", serves=(380,), when=_LEGACY),
    Step(purpose=Purpose.PREFLIGHT, era=Spoken.ANY, key="preflight", call="OPTIONS", serves=(327,), when="an era answered"),
    Step(purpose=Purpose.LEGACY_TOOLS, era=Spoken.LEGACY, key="legacy-tools", call="tools/list", serves=(103, 150, 160, 161, 360, 361, 382, 450, 451, 452, 460, 461, 462, 464), when=_LEGACY),
    Step(purpose=Purpose.LEGACY_TOOLS_AGAIN, era=Spoken.LEGACY, key="legacy-tools-again", call="tools/list", serves=(150,), when=_LEGACY, number=7100),
    Step(purpose=Purpose.WITHOUT_METHOD, era=Spoken.MODERN, key="without-method", call="server/discover", serves=(412,), when=_MODERN),
    Step(purpose=Purpose.NO_METHOD, era=Spoken.MODERN, key="no-method", call=NO_METHOD, serves=(415,), when=_MODERN, number=7200),
    Step(purpose=Purpose.WITHOUT_CAPABILITIES, era=Spoken.MODERN, key="without-capabilities", call="server/discover", serves=(414,), when=_MODERN),
    Step(purpose=Purpose.OTHER_VERSION, era=Spoken.MODERN, key="other-version", call="server/discover", serves=(411,), when=_MODERN),
    Step(purpose=Purpose.OTHER_METHOD, era=Spoken.MODERN, key="other-method", call="server/discover", serves=(413,), when=_MODERN),
    Step(purpose=Purpose.LEGACY_PING, era=Spoken.LEGACY, key="legacy-ping", call="ping", serves=(382, 482), when=_LEGACY),
    Step(purpose=Purpose.LEGACY_NO_VERSION, era=Spoken.LEGACY, key="legacy-no-version", call="tools/list", serves=(480,), when=f"{_LEGACY}, from 2025-06-18 on"),
    Step(purpose=Purpose.PROMPTS, era=Spoken.MODERN, key="prompts", call="prompts/list", serves=(364, 450, 452, 104, 141, 142, 303, 354, 440, 441, 442, 443, 464), when="prompts are declared"),
    Step(purpose=Purpose.RESOURCES, era=Spoken.MODERN, key="resources", call="resources/list", serves=(364, 365, 450, 452, 104, 141, 142, 303, 354, 440, 441, 442, 443, 464), when="resources are declared"),
    Step(purpose=Purpose.TEMPLATES, era=Spoken.MODERN, key="templates", call="resources/templates/list", serves=(364, 365, 452, 104, 141, 142, 303, 354, 440, 441, 442, 443, 464), when="resources are declared"),
    Step(purpose=Purpose.LEGACY_PROMPTS, era=Spoken.LEGACY, key="legacy-prompts", call="prompts/list", serves=(450, 452, 464), when="a legacy server declares prompts"),
    Step(purpose=Purpose.LEGACY_RESOURCES, era=Spoken.LEGACY, key="legacy-resources", call="resources/list", serves=(450, 452, 464), when="a legacy server declares resources"),
    Step(purpose=Purpose.LEGACY_TEMPLATES, era=Spoken.LEGACY, key="legacy-templates", call="resources/templates/list", serves=(452, 464), when="a legacy server declares resources"),
    Step(purpose=Purpose.ORIGIN, era=Spoken.MODERN, key="origin", call="server/discover", serves=(105,), when=_MODERN),
    Step(purpose=Purpose.LEGACY_ORIGIN, era=Spoken.LEGACY, key="legacy-origin", call="ping", serves=(105,), when=_LEGACY),
    Step(purpose=Purpose.SESSION, era=Spoken.MODERN, key="session", call="server/discover", serves=(323,), when="the server is modern only"),
    Step(purpose=Purpose.LEGACY_WITHOUT_VERSION, era=Spoken.LEGACY, key="legacy-without-version", call="tools/list", serves=(381,), when=f"{_LEGACY}, from 2025-06-18 on"),
    Step(purpose=Purpose.LOWER_CASE, era=Spoken.MODERN, key="lower-case", call="server/discover", serves=(416,), when=_MODERN),
    Step(purpose=Purpose.CHARSET, era=Spoken.MODERN, key="charset", call="server/discover", serves=(326,), when=_MODERN),
    Step(purpose=Purpose.LEGACY_CHARSET, era=Spoken.LEGACY, key="legacy-charset", call="ping", serves=(326,), when=_LEGACY),
    Step(purpose=Purpose.NOTIFICATION, era=Spoken.MODERN, key="notification", call=NO_METHOD, serves=(321,), when=_MODERN),
    Step(purpose=Purpose.PING, era=Spoken.MODERN, key="ping", call="ping", serves=(112,), when=_MODERN),
    Step(purpose=Purpose.LEGACY_BATCH, era=Spoken.LEGACY, key="legacy-batch", call="ping", serves=(181,), when=f"{_LEGACY}, from 2025-06-18 on"),
    Step(purpose=Purpose.STREAM_END, era=Spoken.MODERN, key="stream-end", call="server/discover", serves=(320,), when="server/discover was answered by an event stream"),
    Step(purpose=Purpose.LEGACY_NO_SESSION, era=Spoken.LEGACY, key="legacy-no-session", call="tools/list", serves=(383,), when="initialize issued a session id"),
    Step(purpose=Purpose.LEGACY_WITHOUT_SESSION, era=Spoken.LEGACY, key="legacy-without-session", call="tools/list", serves=(180,), when="initialize issued a session id"),
    Step(purpose=Purpose.NO_CURSOR, era=Spoken.MODERN, key="no-cursor", call="tools/list", serves=(353,), when="tools/list has several pages"),
    Step(purpose=Purpose.TOOLS_THIRD, era=Spoken.MODERN, key="tools-third", call="tools/list", serves=(350, 351, 352), when="the first two readings differ", number=7300),
    Step(purpose=Purpose.TOOLS_FOURTH, era=Spoken.MODERN, key="tools-fourth", call="tools/list", serves=(350, 351, 352), when="the first two readings differ", number=7400),
    Step(purpose=Purpose.DELETE, era=Spoken.LEGACY, key="delete", call="DELETE", serves=(), when="initialize issued a session id"),
)  # fmt: skip
"""In the order in which they are begun: where this audit's own means run out, what stands last is what is dropped.

The further pages of lists are asked for after all first ones, and dropped before them.
"""

STEPS: Final = {step.purpose: step for step in PLAN}
