"""``37A-McpServerCardAuditor``: MCP Server Card v1, as published on 27 June 2026."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from parley.documents.allowance import UNREAD
from parley.documents.location import Cause, first_told, open_question
from parley.documents.server_card import Discovery, Document, Purpose, discovery
from parley.evidence import Evidence, Exchange
from parley.report import AuditorReport, Protocol, ProtocolReport, State, Status
from parley.rules.rule import Composed, Finding, Findings, Given, RuleSet, check, listed
from parley.wire.media_type import SERVER_CARD, essence
from parley.wire.strict_json import NotJson
from parley.wire.text import MISSING, clean, count, kind, plain, quoted
from parley.wire.url import Url, UrlError

SCHEMA_URL: Final = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
SCHEMA_COMMIT: Final = "92999cb3f5d82e648385cb92ce41ed9aa1386eda"
SPECIFICATION: Final = "MCP Server Card v1 (27 Jun 2026)"

_REPOSITORY: Final = "https://github.com/modelcontextprotocol/experimental-ext-server-card/blob"
_SCHEMA: Final = f"{_REPOSITORY}/{SCHEMA_COMMIT}/schema.json"
# The schema is the same at this later commit; its discovery document is the first to have both AI Catalog and CORS.
_DISCOVERY: Final = f"{_REPOSITORY}/8924e08682b4a936e6464b57845ec2ff17dc8776/docs/discovery.md"

# The pinned schema's patterns.
_NAME = re.compile(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+")
_TEMPLATE = re.compile(r"\{[a-zA-Z_][a-zA-Z0-9_]*\}")

_REASONS_SHOWN: Final = 6


class Card(NamedTuple):
    """A found document that is a JSON object."""

    document: Document
    members: Mapping[str, object]

    @property
    def url(self) -> str:
        """``{cardUrl}``: what served it, or its place in the catalog."""
        return self.document.url

    @property
    def name_or_url(self) -> str:
        """``{nameOrUrl}``: how the card's owner will know it."""
        name = self.members.get("name")
        return clean(name) if isinstance(name, str) and name else self.url

    @property
    def remotes(self) -> list[object]:
        """The entries of ``remotes``, of whatever type; none if it is no array."""
        remotes = self.members.get("remotes")
        return remotes if isinstance(remotes, list) else []


class ServedCard(NamedTuple):
    """A card that a response carried, unlike one that stands in the catalog itself."""

    card: Card
    exchange: Exchange

    @property
    def url(self) -> str:
        """``{cardUrl}``: what served it."""
        return self.card.url


class ServerCardRules(RuleSet):
    """Whether a Server Card can be found, and whether it is one."""

    prefix = "37A"
    name = "McpServerCardAuditor"
    title = "MCP Server Card"
    protocol = Protocol.SERVER_CARD

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(evidence)
        self.found = discovery(evidence)
        self.cards = tuple(
            Card(document=document, members=members)
            for document in self.found.documents
            if (members := document.members) is not None
        )

    # What rules may ask for, by parameter name.

    def audit(self) -> Given[Evidence]:
        """The audit as a whole."""
        return Given((self.evidence,))

    def search(self) -> Given[Discovery]:
        """The search for cards; not to be had where it was this auditor that could not look."""
        ours = first_told(self.found.locations, Cause.OURS)
        if self.found.documents or ours is None:
            return Given((self.found,))
        return Given(missing=ours)

    def document(self) -> Given[Document]:
        """Every document found where a card is due."""
        return Given(self.found.documents, self._missing())

    def card(self) -> Given[Card]:
        """Every document found that is a JSON object."""
        return Given(self.cards, self._missing())

    def served(self) -> Given[ServedCard]:
        """Every card that came as an HTTP response."""
        served = tuple(
            ServedCard(card=card, exchange=card.document.exchange) for card in self.cards if card.document.exchange
        )
        return Given(served, self._missing())

    def valid(self) -> Given[Card]:
        """Every card that no rule found a fault in. Asked for after all others."""
        faulty = self._faulty(blocking=False)
        return Given(tuple(card for card in self.cards if id(card.document) not in faulty))

    # The rules.

    @check(
        100,
        title="Specification implemented",
        when="Every run.",
        seen=f"Audited by {SPECIFICATION}, schema.json at commit {SCHEMA_COMMIT}.",
        why="A verdict means something only together with the text it was reached by.",
        recommendation=(
            f"This auditor implements MCP Server Card v1; documents must set $schema to {SCHEMA_URL}. "
            f"Schema pin {SCHEMA_COMMIT}."
        ),
        spec=_SCHEMA,
    )
    def check_rule_specification(self, audit: Evidence) -> Findings:
        """Fires always."""
        yield Finding(specification=SPECIFICATION, schemaUrl=SCHEMA_URL, commit=SCHEMA_COMMIT)

    @check(
        200,
        title="Valid Server Card",
        when="A Server Card was found and every rule passed for it.",
        seen='Server Card "{name}" {version} at "{cardUrl}" is valid.',
        why="Clients can read this card and connect by it.",
        spec=_SCHEMA,
    )
    def check_rule_valid(self, valid: Card) -> Findings:
        """Fires once per valid card."""
        yield Finding(name=valid.members.get("name"), version=valid.members.get("version"), cardUrl=valid.url)

    @check(
        300,
        title="Media type",
        when=f"The response's Content-Type is not {SERVER_CARD} (parameters and letter case do not matter).",
        seen="{cardUrl} was served with Content-Type {observed}.",
        why="Clients ask for a Server Card by its media type and may pass over a document that is labelled otherwise.",
        recommendation=f"Serve {{cardUrl}} with Content-Type {SERVER_CARD} instead of {{observed}}.",
        spec=f"{_DISCOVERY}#hosted-server-card-location",
    )
    def check_rule_media_type(self, served: ServedCard) -> Findings:
        """Compares the essence."""
        content_type = served.exchange.header("content-type")
        if essence(content_type) != SERVER_CARD:
            yield Finding(cardUrl=served.url, observed=MISSING if content_type is None else quoted(content_type))

    @check(
        400,
        title="Server Card found",
        when="No Server Card could be obtained from the catalog or a reserved location, or the URL is invalid.",
        seen="No MCP Server Card could be obtained: {reasons}.",
        why="Without a card, clients cannot learn of the server; its users must be told the address some other way.",
        recommendation=(
            "Publish a Server Card at {origin}/mcp/server-card or {origin}/.well-known/mcp/server-card.json, "
            "or list its URL in {origin}/.well-known/ai-catalog.json."
        ),
        spec=f"{_DISCOVERY}#client-discovery-flow",
        blocks=True,
    )
    def check_rule_found(self, search: Discovery) -> Findings:
        """Gives the reason per location."""
        target = self.evidence.target
        origin = target.origin if target else None
        if self.evidence.refusal is not None:
            reason = self.evidence.refusal
            yield Finding(
                reasons=Composed(clean(reason, 600)), origin=origin or Composed("https://<your host>"), locations=[]
            )
        elif not search.documents:
            places = search.locations
            yield Finding(
                reasons=listed((place.told for place in places), _REASONS_SHOWN, by="; "),
                origin=origin,
                locations=[{"url": place.url, "reason": place.reason} for place in places],
            )

    @check(
        401,
        title="JSON object",
        when="The document cannot be parsed as a JSON object.",
        seen="The document at {cardUrl} is no Server Card: {reason}.",
        why="A Server Card is one JSON object; clients cannot read anything else.",
        recommendation="Serve a JSON Server Card at {cardUrl}.",
        spec=f"{_DISCOVERY}#mcp-server-cards",
        blocks=True,
    )
    def check_rule_json(self, document: Document) -> Findings:
        """Says what came instead."""
        if document.members is not None:
            return
        if document.is_html:
            reason = "it is HTML, a web page"
        elif isinstance(document.content, NotJson):
            reason = document.content.reason
        else:
            reason = f"it is {kind(document.content.value)}, not a JSON object"
        yield Finding(cardUrl=document.url, reason=Composed(reason))

    @check(
        402,
        title="$schema present",
        when="The card has no $schema, or it is null.",
        seen="The card {nameOrUrl} at {cardUrl} has no $schema.",
        why="$schema says which version of the format a card follows; the schema requires it.",
        recommendation=f"Set $schema to {SCHEMA_URL} on {{nameOrUrl}}.",
        spec=_SCHEMA,
        blocks=True,
    )
    def check_rule_schema_present(self, card: Card) -> Findings:
        """Absent or null."""
        if card.members.get("$schema") is None:
            yield Finding(nameOrUrl=card.name_or_url, cardUrl=card.url)

    @check(
        403,
        title="$schema is v1",
        when="$schema is there, but is not exactly the v1 Server Card schema's URL.",
        seen="The card {nameOrUrl} at {cardUrl} sets $schema to {observed}.",
        why="Clients recognise a v1 card by exactly this URL; registry and date-versioned schemas are other formats.",
        recommendation="Replace {observed} with the v1 server-card.schema.json URL.",
        spec=_SCHEMA,
        blocks=True,
    )
    def check_rule_schema_v1(self, card: Card) -> Findings:
        """Any other value, of any type."""
        schema = card.members.get("$schema")
        if schema is not None and schema != SCHEMA_URL:
            yield Finding(nameOrUrl=card.name_or_url, cardUrl=card.url, observed=quoted(schema))

    @check(
        404,
        title="Name present",
        when="The card has no name, or it is null.",
        seen="The card at {cardUrl} has no name.",
        why="The name identifies the server across catalogs, registries and clients; the schema requires it.",
        recommendation="Set name in reverse-DNS form (e.g. com.example/weather) on the card at {cardUrl}.",
        spec=_SCHEMA,
        blocks=True,
    )
    def check_rule_name_present(self, card: Card) -> Findings:
        """Absent or null."""
        if card.members.get("name") is None:
            yield Finding(cardUrl=card.url)

    @check(
        405,
        title="Name's form",
        when="The name is not namespace/name: 3 to 200 characters, exactly one slash, the schema's letters only.",
        seen="The card at {cardUrl} is named {name}, which is not of the form namespace/name{hint}.",
        why="Clients and registries split the name at its one slash; the namespace keeps owners' names apart.",
        recommendation="Change {name} to namespace/name, e.g. com.example/weather.",
        spec=_SCHEMA,
        blocks=True,
    )
    def check_rule_name_form(self, card: Card) -> Findings:
        """The schema's pattern and lengths."""
        name = card.members.get("name")
        if name is None or (isinstance(name, str) and 3 <= len(name) <= 200 and _NAME.fullmatch(name)):
            return
        too_long = isinstance(name, str) and len(name) > 200 and _NAME.fullmatch(name)
        hint = f" of at most 200 characters (it has {len(name)})" if too_long and isinstance(name, str) else ""
        yield Finding(cardUrl=card.url, name=plain(name), hint=Composed(hint))

    @check(
        406,
        title="Version present",
        when="The card has no version, or it is null, blank or not a string.",
        seen="The card {nameOrUrl} at {cardUrl} has no usable version: {observed}.",
        why="The version tells clients and catalogs whether what they keep is still current; the schema requires it.",
        recommendation="Set version on {nameOrUrl} (e.g. 1.0.0); do not use ranges.",
        spec=_SCHEMA,
        blocks=True,
    )
    def check_rule_version_present(self, card: Card) -> Findings:
        """Absent, null, blank or not a string."""
        version = card.members.get("version")
        if not (isinstance(version, str) and version.strip()):
            yield Finding(nameOrUrl=card.name_or_url, cardUrl=card.url, observed=_observed(card.members, "version"))

    @check(
        407,
        title="One version",
        when="The version expresses a range, such as ^1.2.3, ~1.2.3, >=1.2.3, 1.x, 1.2.3 - 2.0.0 or 1.0 || 2.0.",
        seen="The card {nameOrUrl} at {cardUrl} sets version to {version}, which is a range.",
        why="A card describes one server as it runs now; a range names no version that a client could compare.",
        recommendation="Replace {version} on {nameOrUrl} with a single version such as 1.0.0.",
        spec=_SCHEMA,
        blocks=True,
    )
    def check_rule_version_single(self, card: Card) -> Findings:
        """Ranges of npm, PyPI, Maven and Gradle; words and dates are none."""
        version = card.members.get("version")
        if isinstance(version, str) and is_range(version):
            yield Finding(nameOrUrl=card.name_or_url, cardUrl=card.url, version=plain(version))

    @check(
        408,
        title="Description present",
        when="The card has no description, or it is blank or not a string.",
        seen="The card {nameOrUrl} at {cardUrl} has no usable description: {observed}.",
        why="The description is what people and models choose a server by; the schema requires it.",
        recommendation="Add a 1-100 character description to {nameOrUrl}.",
        spec=_SCHEMA,
        blocks=True,
    )
    def check_rule_description_present(self, card: Card) -> Findings:
        """Absent, null, blank or not a string."""
        description = card.members.get("description")
        if not (isinstance(description, str) and description.strip()):
            observed = _observed(card.members, "description")
            yield Finding(nameOrUrl=card.name_or_url, cardUrl=card.url, observed=observed)

    @check(
        409,
        title="Description's length",
        when="The description is longer than 100 characters (Unicode code points).",
        seen="The description of {nameOrUrl} at {cardUrl} has {length} characters: {observed}.",
        why="The schema allows 100, and clients that check it refuse the whole card.",
        recommendation="Shorten the description of {nameOrUrl} from {length} to at most 100 characters.",
        spec=_SCHEMA,
        blocks=True,
    )
    def check_rule_description_length(self, card: Card) -> Findings:
        """More than 100 code points."""
        description = card.members.get("description")
        if isinstance(description, str) and description.strip() and len(description) > 100:
            yield Finding(
                nameOrUrl=card.name_or_url, cardUrl=card.url, length=len(description), observed=quoted(description)
            )

    @check(
        410,
        title="Remote's type",
        when="An entry of remotes has another type than streamable-http or sse, or remotes is no array of objects.",
        seen="{where} of {nameOrUrl} at {cardUrl} is {observed}{instead}.",
        why="The type tells a client which transport to speak; with any other value it cannot connect.",
        recommendation="Set remotes[{i}].type on {nameOrUrl} to streamable-http or sse instead of {observed}.",
        spec=_SCHEMA,
        blocks=True,
    )
    def check_rule_remote_type(self, card: Card) -> Findings:
        """Missing counts; an entry that is no object is told here alone."""

        def finding(i: int, where: str, observed: str, instead: str = "") -> Finding:
            texts = {"where": where, "observed": observed, "instead": instead}
            shown = {name: Composed(text) for name, text in texts.items()}
            return Finding(i=i, nameOrUrl=card.name_or_url, cardUrl=card.url, **shown)

        if "remotes" in card.members and not isinstance(card.members["remotes"], list):
            yield finding(0, "remotes", kind(card.members["remotes"]), ", not an array")
        for i, remote in enumerate(card.remotes):
            if not isinstance(remote, dict):
                yield finding(i, f"remotes[{i}]", kind(remote), ", not an object")
            elif remote.get("type") not in ("streamable-http", "sse"):
                yield finding(i, f"remotes[{i}].type", _observed(remote, "type"))

    @check(
        411,
        title="Remote's URL",
        when="The url of an entry of remotes does not start with http://, https:// or a {template-variable}.",
        seen="remotes[{i}].url of {nameOrUrl} at {cardUrl} is {observed}.",
        why="It is where clients connect to; they cannot resolve a relative path or another scheme.",
        recommendation=(
            "Change remotes[{i}].url on {nameOrUrl} from {observed} to an http(s) URL or a {{template}} URL."
        ),
        spec=_SCHEMA,
        blocks=True,
    )
    def check_rule_remote_url(self, card: Card) -> Findings:
        """Missing counts."""
        for i, remote in enumerate(card.remotes):
            if not isinstance(remote, dict):
                continue
            url = remote.get("url")
            if isinstance(url, str) and (url.startswith(("http://", "https://")) or _TEMPLATE.match(url)):
                continue
            yield Finding(i=i, nameOrUrl=card.name_or_url, cardUrl=card.url, observed=_observed(remote, "url"))

    @check(
        412,
        title="CORS",
        when="The response that served the card has no Access-Control-Allow-Origin header.",
        seen="{cardUrl} was served without Access-Control-Allow-Origin.",
        why="Clients that run in a browser cannot read the card at all.",
        recommendation="Add Access-Control-Allow-Origin: * on {cardUrl}.",
        spec=f"{_DISCOVERY}#cors-requirements",
    )
    def check_rule_cors(self, served: ServedCard) -> Findings:
        """Absent, or empty."""
        if not (served.exchange.header("access-control-allow-origin") or "").strip():
            yield Finding(cardUrl=served.url)

    @check(
        413,
        title="HTTPS",
        when="The card was served over http, or a catalog entry links to it by http (localhost is exempt).",
        seen="{cardUrl} {how}.",
        why="Whoever sits between can replace the card, and send the server's users elsewhere.",
        recommendation="Serve {cardUrl} over https instead of http.",
        spec=f"{_DISCOVERY}#transport-security",
    )
    def check_rule_https(self, served: ServedCard) -> Findings:
        """The URL that answered in the end, and the link as the catalog writes it."""
        if _is_exempt(served.url):
            return
        if served.url.startswith("http:"):
            yield Finding(cardUrl=served.url, how=Composed("was served over http"))
        elif served.card.document.link_is_http and not _is_exempt(served.exchange.url):
            yield Finding(cardUrl=served.url, how=Composed(f"is linked to as {clean(served.exchange.url)}"))

    # The state.

    def judge(self) -> AuditorReport:
        """Green only where all that came was read."""
        report = super().judge()
        is_open = any(place.reason == UNREAD for place in self.found.locations)
        return report._replace(status=Status.INFORMATION) if is_open and report.status is Status.SUCCESS else report

    def protocol_report(self, judged: AuditorReport, others: Sequence[RuleSet]) -> ProtocolReport:
        """Confirmed by one card without a blocking finding; indicated by a card, or a link to one."""
        faulty = self._faulty(blocking=True)
        confirmed = [card for card in self.cards if id(card.document) not in faulty]
        signals = [document for document in self.found.documents if _is_signal(document)]
        links = [place for place in self.found.locations if place.linked]
        conclusive = True
        if confirmed:
            state = State.CONFIRMED
            because = [f"{_how(card.document)}, and holds a Server Card" for card in confirmed]
        elif signals:
            state = State.INDICATED
            because = [f"{_how(document)}, but holds no valid Server Card" for document in signals]
        else:
            state = State.INDICATED if links else State.NOT_DETECTED
            because = [f"an AI Catalog entry links to {place.told}" for place in links]
            because += [f"{_how(document)}, which is a web page" for document in self.found.documents]
            if self.evidence.refusal is not None:
                because = [self.evidence.refusal]
            elif (open_question := self._inconclusive()) is not None:
                conclusive = False
                because.insert(0, f"inconclusive: {open_question}")
            elif not because:
                because = [place.told for place in self.found.locations]
        status = judged.status if conclusive else Status.INFORMATION
        return ProtocolReport(state=state, status=status, because=tuple(because[:5]), conclusive=conclusive)

    def _faulty(self, *, blocking: bool) -> set[int]:
        """The documents, by identity, that a rule found a fault in."""
        return {
            id(_document(judged.subject))
            for judged in self.judged
            if judged.row.status in (Status.WARNING, Status.FAIL) and (judged.row.blocks or not blocking)
        }

    def _inconclusive(self) -> str | None:
        """Why it stays open whether there is a card, where none was found."""
        if self.found.documents:
            return None
        return open_question(self.found.locations)

    def _missing(self) -> str | None:
        """What kept a document from being had, other than that there is none. A broken link is no such thing."""
        if self.found.unfollowed:
            more = self.found.unfollowed
            return f"{count(more, 'more catalog link')} {'was' if more == 1 else 'were'} not followed"
        if self.found.unread:
            return f"{self.found.unread} more cards in the AI Catalog itself were not read"
        for place in self.found.locations:
            failed = place.cause is Cause.FAILED and not place.linked and not self.found.documents
            if failed or place.cause in (Cause.OURS, Cause.WALL):
                return place.told
        return None


_COMPARATOR = r"(?:\^|~>?|~=|>=?|<=?|!=|≥|≤|==?=?)\s*"
_VERSION = r"v?\d+(?:\.\d+)*(?:[-+][0-9A-Za-z.+-]+)?"
_WILDCARD = r"(?:v?\d+(?:\.\d+)*\.)?[xX*](?:\.[xX*\d]+)*|v?\d+(?:\.\d+)*\.\+"
_BOUND = rf"(?:(?:{_COMPARATOR})?(?:{_VERSION}|{_WILDCARD}))"
_DATE: Final = re.compile(r"(?:19|20)\d\d(?:([-./ ]?)\d\d?\1\d\d?)?")
_PLAIN: Final = re.compile(r"[0-9.]+")
_RANGES: Final = (
    rf"(?:\^|~>?|~=|>=?|<=?|!=|≥|≤)\s*(?:{_VERSION}|{_WILDCARD})(?:[\s,|].*)?",  # ^1.2.3, >=1.2.3 <2
    _WILDCARD,  # 1.x, 1.2.*, *, 1.+
    rf"{_BOUND}\s+-\s+{_BOUND}",  # 1.2.3 - 2.3.4
    rf"{_VERSION}(?:\s*,\s*|\s+){_COMPARATOR}(?:{_VERSION}|{_WILDCARD}).*",  # 1.0 <2.0
    rf"[\[(]\s*(?:{_VERSION})?\s*,\s*(?:{_VERSION})?\s*[\])]",  # [1.0,2.0)
)


def is_range(version: str) -> bool:
    """Whether a version is a range as npm, PyPI, Maven or Gradle read one. Words, dates and ``latest`` are none."""
    text = version.strip()
    if _PLAIN.fullmatch(text) or len(text) > 256 or _DATE.fullmatch(text):
        return False  # as most are: the patterns below are compiled for the others only
    alternatives = [part.strip() for part in text.split("||")]
    if len(alternatives) > 1:
        return any(re.fullmatch(_BOUND, part) or is_range(part) for part in alternatives)
    listed = [part for part in re.split(r"[\s,]+", text) if part]
    if len(listed) > 1 and all(re.fullmatch(_BOUND, part) and not _DATE.fullmatch(part) for part in listed):
        return True  # 1.2.3, 1.2.4
    return any(re.fullmatch(pattern, text) for pattern in _RANGES)


def _observed(members: Mapping[str, object], name: str) -> str:
    return quoted(members[name]) if name in members else MISSING


def _is_exempt(url: str) -> bool:
    try:
        return Url.parse(url).is_loopback
    except UrlError:
        return False


def _is_signal(document: Document) -> bool:
    """A web page at a guessed location is how single-page apps answer to all; where a link leads, it is a fault."""
    return document.purpose is Purpose.LINK or not document.is_html


def _document(subject: object) -> object:
    match subject:
        case Card(document=document) | ServedCard(card=Card(document=document)):
            return document
        case _:
            return subject


def _how(document: Document) -> str:
    if document.exchange is None:
        return f"{clean(document.url)} stands in the AI Catalog"
    content_type = clean(document.exchange.header("content-type") or "without a Content-Type")
    return f"GET {clean(document.url)} answered {document.exchange.status} {content_type}"
