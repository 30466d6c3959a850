"""Where Agent Cards are found, and how they are served."""

import re
from collections.abc import Iterator
from typing import Final

from parley.documents.agent_card import CURRENT, LEGACY, Discovery, Document, Purpose, answer, instead
from parley.documents.location import Cause, Location, first_told
from parley.evidence import Evidence, Exchange
from parley.rules.a2a_evidence import V0_3, V1, A2aEvidence, ServedCard
from parley.rules.rule import Composed, Finding, Findings, Given, check, listed
from parley.wire.media_type import A2A, AGENT_CARD, JSON, essence
from parley.wire.strict_json import NotJson, Parsed
from parley.wire.text import MISSING, clean, kind, quoted
from parley.wire.url import Url, UrlError

SPECIFICATION: Final = "A2A 1.0 (v1.0.1), 0.3 (v0.3.0) and 0.2 (v0.2.0 to v0.2.6)"

_REASONS_SHOWN: Final = 6
_DISCOVERY: Final = f"{V1}#82-discovery-mechanisms"
_JSON_TEXT: Final = "https://www.rfc-editor.org/rfc/rfc8259"


class A2aServedRules(A2aEvidence):
    """Discovery, and the responses that carry cards."""

    def claim(self) -> Given[Location]:
        """Places where a catalog, or who gave the URL, says that there is a card, and where none was obtained.

        What is only for who is known is no such place. Not to be had behind a bot wall, or where this auditor could not
        look.
        """
        open_causes = (Cause.OURS, Cause.WALL)
        refused = {exchange.url for exchange in self.found.refused}
        told = [place.told for place in self.found.claims if place.cause in open_causes]
        dead = (place for place in self.found.claims if place.cause not in open_causes and place.url not in refused)
        return Given(tuple(dead), told[0] if told else None)

    def older(self) -> Given[ServedCard]:
        """Every card at the path of A2A 0.2; not to be had where it cannot be told what is at the current one."""
        served = self.served()
        older = tuple(one for one in served.values if one.card.document.purpose is Purpose.LEGACY)
        current = answer(self.evidence.exchanges, Purpose.CURRENT)
        unseen = None if current is None else self._open(current)
        return Given((), unseen) if older and unseen is not None else Given(older, served.missing)

    def nothing(self) -> Given[Discovery]:
        """The search, where it came to nothing; not to be had where it was this auditor that could not look."""
        found = self.found
        if self.evidence.refusal is not None or found.documents or found.claims or self.failing is not None:
            return Given()
        ours = first_told(self.found.locations, Cause.OURS)
        return Given((found,)) if ours is None else Given(missing=ours)

    def refused(self) -> Given[Exchange]:
        """Answers 401 and 403 where a card is due."""
        return Given(self.found.refused, self._unseen())

    def catch_all(self) -> Given[Document]:
        """What the site answers to everything, where it does so."""
        return Given(self.found.documents[:1] if self.is_catch_all else (), self._unseen())

    def failure(self) -> Given[Exchange]:
        """The answer of status 5xx at the current path, if it is a route of its own that fails."""
        return Given(() if self.failing is None else (self.failing,), self._unseen())

    @property
    def failing(self) -> Exchange | None:
        """The answer of status 5xx at the current path, if it is a route of its own that fails.

        Somebody's code runs there if the path beside it has no such trouble. 503 is no such sign: that is a server
        with too much to do, or none behind a gateway.
        """
        broken = [one for one in self.found.broken if one.purpose == Purpose.CURRENT and one.status != 503]
        legacy = answer(self.evidence.exchanges, Purpose.LEGACY)
        if not broken or legacy is None or legacy.answered is None or legacy.answered >= 500:
            return None
        return None if broken[0].url in {place.url for place in self.found.claims} else broken[0]

    def _signs(self) -> Iterator[str]:
        """What says that there should be a card, where there is none."""
        for place in self.found.claims:
            who = "an AI Catalog entry links to" if place.linked else "the URL given is that of an Agent Card,"
            yield f"{who} {place.told}"
        if not self.is_catch_all:
            for document in self.found.documents:
                is_beyond = isinstance(document.content, NotJson) and document.content.is_beyond
                if not is_beyond and not is_of_another_format(document):
                    how = "answered 200" if document.exchange is not None else "stands in the AI Catalog"
                    yield f"{clean(document.url)} {how}, but holds no Agent Card: {_what(document)}"
        if (failing := self.failing) is not None:
            yield f"GET {clean(failing.url)} answered {failing.status}, unlike the path beside it"
        refused = [one for one in self.found.refused if one.purpose == Purpose.CURRENT]
        legacy = answer(self.evidence.exchanges, Purpose.LEGACY)
        if refused and legacy is not None and legacy.answered not in (None, 401, 403):
            yield f"GET {clean(refused[0].url)} answered {refused[0].status}, unlike the path beside it"

    def _is_aside(self, document: Document) -> bool:
        """Whether something else stands at the path of A2A 0.2, which is a common name, while there is a card."""
        return document.purpose is Purpose.LEGACY and not document.is_claimed and bool(self.cards)

    # Facts.

    @check(
        100,
        title="Specification implemented",
        when="Every run.",
        seen=f"Audited by {SPECIFICATION}, each card by the version that its members are of.",
        why="A verdict means something only together with the text it was reached by.",
        spec=V1,
    )
    def check_rule_specification(self, audit: Evidence) -> Findings:
        """Fires always."""
        yield Finding(specification=SPECIFICATION)

    @check(
        102,
        title="No Agent Card found",
        when="No Agent Card was obtained at the well-known paths, and nothing says that there is one.",
        seen="No Agent Card was obtained: {reasons}. An agent may also show its card only to clients that it knows.",
        why="Without a card in a known place, clients must be told of an agent some other way.",
        recommendation=f"If there is an A2A agent here, publish its card at {{origin}}{CURRENT}.",
        spec=_DISCOVERY,
    )
    def check_rule_none(self, nothing: Discovery) -> Findings:
        """Gives the reason per location; a dead claim is told by 400."""
        places = nothing.locations
        told = listed((place.told for place in places), _REASONS_SHOWN, by="; ")
        locations = [{"url": place.url, "reason": place.reason} for place in places]
        yield Finding(reasons=told, origin=self._origin(), locations=locations)

    @check(
        103,
        title="Card needs credentials",
        when="A place where an Agent Card is due answers 401 or 403.",
        seen="{url} answered {status}: what is there is only for who is known.",
        why="That is allowed, but it is also all that can be told of it from outside.",
        spec=f"{V1}#82-discovery-mechanisms",
    )
    def check_rule_refused(self, refused: Exchange) -> Findings:
        """A bot wall is none of these."""
        yield Finding(url=refused.url, status=refused.status)

    @check(
        104,
        title="Answers alike to everything",
        when="Both well-known paths, and one that does not exist, answer 200 with the same kind of document.",
        seen="{origin} answers 200 to whatever is asked for, and so at the Agent Card's paths: {what}.",
        why="Clients that look for a card get something else, and must find out that it is none.",
        recommendation="Answer 404 for what does not exist.",
        spec=_DISCOVERY,
    )
    def check_rule_catch_all(self, catch_all: Document) -> Findings:
        """Only where no card is among what was found."""
        yield Finding(origin=self._origin(), what=Composed(_what(catch_all)))

    @check(
        108,
        title="Two different cards",
        when="The two well-known paths serve Agent Cards that differ.",
        seen="{cardUrl} ({shape}) and {otherUrl} ({otherShape}) serve different cards.",
        why="Each is read by clients of its own time; both must be kept up to date.",
        spec=f"{V0_3}#53-recommended-location",
    )
    def check_rule_two_cards(self, discovered: Discovery) -> Findings:
        """The same card at both is one card."""
        by_purpose = {card.document.purpose: card for card in discovered.cards}
        current, legacy = by_purpose.get(Purpose.CURRENT), by_purpose.get(Purpose.LEGACY)
        if current is not None and legacy is not None:
            yield Finding(
                cardUrl=current.url, shape=current.shape.value, otherUrl=legacy.url, otherShape=legacy.shape.value
            )

    @check(
        109,
        title="Something else at the older path",
        when="There is an Agent Card, and the path of A2A 0.2 serves something else.",
        seen="{url} is no Agent Card: {what}.",
        why="Clients of A2A 0.2 look there; agent.json is the name of other formats too, so this may be meant.",
        spec=f"{V0_3}#53-recommended-location",
    )
    def check_rule_other_at_legacy(self, document: Document) -> Findings:
        """Where there is no card at all, it is a fault."""
        if self._is_aside(document) and _is_no_card(document):
            yield Finding(url=document.url, what=Composed(_what(document)))

    @check(
        120,
        title="Caching",
        when="The response has no Cache-Control with max-age, or no ETag.",
        seen="{cardUrl} was served without {missing}.",
        why="With both, clients fetch a card again only when it has changed.",
        recommendation="Add {missing} on {cardUrl}.",
        spec=f"{V1}#861-server-requirements",
    )
    def check_rule_caching(self, served: ServedCard) -> Findings:
        """no-cache and no-store are a choice as well."""
        control = (served.exchange.header("cache-control") or "").lower()
        missing = []
        if not re.search(r"max-age\s*=|no-cache|no-store", control):
            missing.append("Cache-Control: max-age=3600")
        if "no-store" not in control and not (served.exchange.header("etag") or "").strip():
            missing.append("ETag")
        if missing:
            yield Finding(cardUrl=served.url, missing=Composed(" and ".join(missing)))

    @check(
        121,
        title="CORS",
        when="The response has no Access-Control-Allow-Origin header.",
        seen="{cardUrl} was served without Access-Control-Allow-Origin.",
        why="Clients that run in a browser cannot read the card; A2A does not ask for it, and other clients can.",
        recommendation="Add Access-Control-Allow-Origin: * on {cardUrl} if clients may run in browsers.",
        spec=_DISCOVERY,
    )
    def check_rule_cors(self, served: ServedCard) -> Findings:
        """Absent, or empty."""
        if not (served.exchange.header("access-control-allow-origin") or "").strip():
            yield Finding(cardUrl=served.url)

    @check(
        122,
        title="Redirect to another host",
        when="The card was served by another host than the one that was asked.",
        seen="{url} redirects to {cardUrl}, on another host.",
        why="Clients must trust both hosts, and some follow no redirect to another one.",
        spec=_DISCOVERY,
    )
    def check_rule_other_host(self, served: ServedCard) -> Findings:
        """From http to https, or to another path, is no such thing."""
        asked, came = _url(served.exchange.url), _url(served.exchange.final_url)
        if asked is not None and came is not None and asked.host != came.host:
            yield Finding(url=served.exchange.url, cardUrl=served.url)

    # Warnings.

    @check(
        300,
        title="Older path only",
        when="An Agent Card is served at the path of A2A 0.2, and none at the current one.",
        seen="{cardUrl} is an Agent Card, but {currentUrl} {reason}.",
        why="Clients of A2A 0.3 and 1.0 look only at the current path.",
        recommendation="Serve the card at {currentUrl} too.",
        spec=_DISCOVERY,
    )
    def check_rule_legacy_only(self, older: ServedCard) -> Findings:
        """Not where a catalog, or who gave the URL, names another card."""
        current = answer(self.evidence.exchanges, Purpose.CURRENT)
        if current is not None and not any(card.document.purpose is not Purpose.LEGACY for card in self.cards):
            told = [place.reason for place in self.found.locations if place.url == current.url]
            reason = told[0] if told else "is no Agent Card"
            yield Finding(cardUrl=older.url, currentUrl=current.url, reason=Composed(reason))

    @check(
        301,
        title="Media type",
        when=f"The response's Content-Type is none of {JSON}, {A2A} and {AGENT_CARD}.",
        seen="{cardUrl} was served with Content-Type {observed}.",
        why="Clients may refuse to read a document as JSON that is labelled otherwise.",
        recommendation=f"Serve {{cardUrl}} with Content-Type {JSON} instead of {{observed}}.",
        spec=f"{V1}#1411-applicationa2ajson",
    )
    def check_rule_media_type(self, served: ServedCard) -> Findings:
        """Compares the essence."""
        content_type = served.exchange.header("content-type")
        if essence(content_type) not in (JSON, A2A, AGENT_CARD):
            yield Finding(cardUrl=served.url, observed=MISSING if content_type is None else quoted(content_type))

    @check(
        302,
        title="Byte order mark",
        when="The card's JSON text starts with a byte order mark.",
        seen="The card at {cardUrl} starts with a byte order mark.",
        why="JSON must not be sent with one, and several parsers refuse it.",
        recommendation="Save the card at {cardUrl} as UTF-8 without a byte order mark.",
        spec=f"{_JSON_TEXT}#section-8.1",
    )
    def check_rule_bom(self, served: ServedCard) -> Findings:
        """As the parser notes it."""
        if "bom" in _notes(served):
            yield Finding(cardUrl=served.url)

    @check(
        303,
        title="Members twice",
        when="An object in the card's JSON text has two members of one name.",
        seen="The card at {cardUrl} has an object with two members of the same name.",
        why="Which of them counts differs from parser to parser, so clients may read different cards.",
        recommendation="Remove the member that is not meant from the card at {cardUrl}.",
        spec=f"{_JSON_TEXT}#section-4",
    )
    def check_rule_duplicate_members(self, served: ServedCard) -> Findings:
        """As the parser notes it."""
        if "duplicate-member" in _notes(served):
            yield Finding(cardUrl=served.url)

    @check(
        304,
        title="Card at another place",
        when=(
            "The URL given is an Agent Card's, or an AI Catalog entry names one, and none was obtained there, though "
            "there is one elsewhere."
        ),
        seen="No Agent Card could be obtained where {who} says that there is one: {reason}; there is one at {cardUrl}.",
        why="Clients that are sent there do not find the agent.",
        recommendation="Serve the card at {url}, or correct {what}.",
        spec=_DISCOVERY,
    )
    def check_rule_dead_entry(self, claim: Location) -> Findings:
        """Without any card it is a fault. A current path that only the older one stands in for is told as such."""
        current = answer(self.evidence.exchanges, Purpose.CURRENT)
        is_current = current is not None and claim.url == current.url and not claim.linked
        is_told = is_current and any(one.row.number == 300 for one in self.judged)
        if self.cards and not is_told:
            yield Finding(
                who="an AI Catalog entry" if claim.linked else "the URL given",
                url=claim.url,
                reason=Composed(claim.told),
                cardUrl=self.cards[0].url,
                what="the entry in the AI Catalog" if claim.linked else "what names that URL",
            )

    @check(
        305,
        title="Older path fails",
        when="There is an Agent Card, and the path of A2A 0.2 answers with a server error.",
        seen="{url} answered {status}.",
        why="Clients of A2A 0.2 look there; for them the agent is broken, not absent.",
        recommendation="Serve the card at {url} too, or answer 404.",
        spec=f"{V0_3}#53-recommended-location",
    )
    def check_rule_legacy_fails(self, discovered: Discovery) -> Findings:
        """5xx, but for 503. Where it is the URL given, that is told."""
        claimed = {place.url for place in discovered.claims}
        for exchange in discovered.broken:
            if exchange.purpose == Purpose.LEGACY and exchange.status != 503 and exchange.url not in claimed:
                yield Finding(url=exchange.url, status=exchange.status)

    # Faults.

    @check(
        400,
        title="Card where it is said to be",
        when="The URL given is an Agent Card's, or a catalog entry names one, and no Agent Card was obtained anywhere.",
        seen="No Agent Card could be obtained where {who} says that there is one: {reason}.",
        why="Clients that are sent there cannot learn of the agent.",
        recommendation="Serve the Agent Card at {url}, or at {origin}/.well-known/agent-card.json.",
        spec=_DISCOVERY,
        blocks=True,
    )
    def check_rule_claimed(self, claim: Location) -> Findings:
        """A bot wall, or this auditor's own limits, say nothing about the claim."""
        if not self.cards:
            who = "an AI Catalog entry" if claim.linked else "the URL given"
            yield Finding(who=who, url=claim.url, reason=Composed(claim.told), origin=self._origin())

    @check(
        401,
        title="Card's path answers",
        when="The current well-known path answers with a server error (503 aside), and the older one does not.",
        seen="{url} answered {status}, unlike {legacyUrl}.",
        why="Something serves a card there, and fails: no client can read it.",
        recommendation="Find out from the server's log why {url} fails, and serve the card.",
        spec=_DISCOVERY,
        blocks=True,
    )
    def check_rule_server_error(self, failure: Exchange) -> Findings:
        """Where both fail, the site as a whole has trouble, which says nothing of a card."""
        legacy = answer(self.evidence.exchanges, Purpose.LEGACY)
        yield Finding(url=failure.url, status=failure.status, legacyUrl=legacy.url if legacy else LEGACY)

    @check(
        402,
        title="JSON object",
        when="What is served as an Agent Card cannot be parsed as a JSON object.",
        seen="The document at {cardUrl} is no Agent Card: {reason}.",
        why="An Agent Card is one JSON object; clients cannot read anything else.",
        recommendation="Serve a JSON Agent Card at {cardUrl}.",
        spec=f"{V1}#143-well-known-uri-registration",
        blocks=True,
    )
    def check_rule_json(self, document: Document) -> Findings:
        """A web page counts only where somebody says that there is a card."""
        beyond = isinstance(document.content, NotJson) and document.content.is_beyond
        if document.members is None and not beyond and not self._is_aside(document):
            yield Finding(cardUrl=document.url, reason=Composed(_what(document)))

    @check(
        403,
        title="Agent Card",
        when="The JSON object is no A2A Agent Card of any version, by its members.",
        seen="The document at {cardUrl} is no A2A Agent Card but {what}.",
        why="The path is where A2A clients look for a card; they cannot do anything with another format.",
        recommendation=(
            "Serve an A2A Agent Card at {cardUrl} (name, description, version, supportedInterfaces, capabilities, "
            "defaultInputModes, defaultOutputModes, skills), or move what is there to another path."
        ),
        spec=f"{V1}#143-well-known-uri-registration",
        blocks=True,
    )
    def check_rule_format(self, document: Document) -> Findings:
        """Says what it is instead; nothing else is told of such a document."""
        if document.members is not None and (what := instead(document.members)) and not self._is_aside(document):
            yield Finding(cardUrl=document.url, what=Composed(what))

    @check(
        404,
        title="HTTPS",
        when="The card was served over http, or a catalog entry links to it by http (localhost is exempt).",
        seen="{cardUrl} {how}.",
        why="Whoever sits between can replace the card, and send the agent's clients elsewhere.",
        recommendation="Serve {cardUrl} over https instead of http.",
        spec=f"{V1}#71-protocol-security",
    )
    def check_rule_https(self, served: ServedCard) -> Findings:
        """The URL that answered in the end, and the link as the catalog writes it."""
        url, asked = _url(served.url), _url(served.exchange.url)
        if url is None or url.is_loopback:
            return
        if url.scheme == "http":
            yield Finding(cardUrl=served.url, how=Composed("was served over http"))
        elif served.card.document.link_is_http and asked is not None and not asked.is_loopback:
            yield Finding(cardUrl=served.url, how=Composed(f"is linked to as {clean(served.exchange.url)}"))

    def _origin(self) -> str:
        target = self.evidence.target
        return target.origin if target else "https://<your host>"


def _url(text: str) -> Url | None:
    try:
        return Url.parse(text)
    except UrlError:
        return None


def _notes(served: ServedCard) -> frozenset[str]:
    content = served.card.document.content
    return content.notes if isinstance(content, Parsed) else frozenset()


def _is_no_card(document: Document) -> bool:
    return document.members is None or instead(document.members) is not None


def is_of_another_format(document: Document) -> bool:
    """Whether JSON that is no card stands at the path of A2A 0.2, a name that other formats have too: no sign of A2A.

    What cannot be read as JSON may well have been meant for a card.
    """
    is_json = isinstance(document.content, Parsed)
    return is_json and document.purpose is Purpose.LEGACY and not document.is_claimed and _is_no_card(document)


def _what(document: Document) -> str:
    """What a document is that is no card, as the end of a sentence."""
    if document.is_html:
        return "it is HTML, a web page"
    if isinstance(document.content, NotJson):
        return document.content.reason
    if document.members is None:
        return f"it is {kind(document.content.value)}, not a JSON object"
    return f"it is {instead(document.members)}"
