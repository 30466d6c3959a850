"""Where an Agent Card sends its clients: bindings, versions and URLs of its interfaces."""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

from parley.documents.agent_card import BINDINGS, AgentCard, Interface, Purpose, View, absolute, answer, word
from parley.documents.mcp import talks
from parley.documents.mcp_plan import STEPS, VERSIONS
from parley.documents.mcp_reply import read
from parley.documents.reach import Place, Reach, is_within, place, place_of, tunnel, without_user
from parley.rules.a2a_evidence import PROTO, V0_3, V1, A2aEvidence, CardInterface
from parley.rules.rule import Composed, Finding, Findings, check, listed
from parley.wire.text import clean, kind, quoted
from parley.wire.url import CREDENTIALS, LONGEST, Url, UrlError

CORE: Final = ("JSONRPC", "GRPC", "HTTP+JSON")
"""The bindings that A2A itself defines."""

_MCP: Final = ("mcp", "streamablehttp", "mcphttp", "mcpstreamablehttp", "modelcontextprotocol")
_SHOWN: Final = 6

_BINDING: Final = f"{V1}#58-custom-binding-identification"
_URLS: Final = f"{V1}#831-supported-interfaces-declaration"
_TLS: Final = f"{V1}#71-protocol-security"
_VERSIONS: Final = f"{V1}#36-versioning"
_RELATIONS: Final = f"{V0_3}#564-validation-requirements"


class _Target(NamedTuple):
    """One URL of a card with what is spoken there, by its right name, and all its places in the card.

    ``url`` is None for what is no http(s) URL, and ``place`` where no host can be told.
    """

    written: str
    binding: str
    paths: list[str]
    url: Url | None
    place: Place | None

    @property
    def path(self) -> Composed:
        """Its places, for people: a card for clients of two versions names the same URL in both views."""
        more = len(self.paths) - 2
        return Composed(" and ".join(self.paths[:2]) + (f" (and {more} more)" if more > 0 else ""))

    @property
    def is_http(self) -> bool:
        """Whether what is spoken there is plain HTTP; so it is taken to be where no binding is named."""
        return self.binding in ("JSONRPC", "HTTP+JSON", "")

    @property
    def is_core(self) -> bool:
        """Whether the binding is one of A2A's own."""
        return self.is_http or self.binding in CORE


class A2aInterfaceRules(A2aEvidence):
    """Whether clients can follow where a card sends them. That the members are there is judged elsewhere."""

    @check(
        139,
        title="Interface on another host",
        when="An interface is on another host than the card, and neither host is below the other.",
        seen="The card {nameOrUrl} at {cardUrl} sends clients to other hosts: {hosts}.",
        why="That is allowed; a careful client wants a reason to trust it, such as a signature on the card.",
        spec=_URLS,
    )
    def check_rule_interface_other_host(self, card: AgentCard) -> Findings:
        """Public hosts only: what is not public is told as such."""
        here = place_of(card.url)
        hosts: dict[str, None] = {}
        for target in self._targets(card):
            there = None if target.is_http and target.url is None else target.place
            if here is not None and there is not None and there.reach is Reach.ANYWHERE:
                hosts |= {} if _are_related(here.host, there.host) else {there.host: None}
        if hosts:
            yield Finding(nameOrUrl=card.name_or_url, cardUrl=card.url, hosts=listed(hosts, _SHOWN))

    # Warnings.

    @check(
        360,
        title="Binding's name",
        when="A protocolBinding (transport, in A2A 0.x) is none of JSONRPC, GRPC and HTTP+JSON, and no URI.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}{but}.",
        why="Clients compare it letter by letter with the bindings that they speak, and pass over any other.",
        recommendation="Set {path} on {nameOrUrl} to {instead}.",
        spec=_BINDING,
    )
    def check_rule_interface_binding(self, interface: CardInterface) -> Findings:
        """Names in other spellings are told with the right one; A2A 0.x has URIs for extensions as well."""
        card, one = interface
        value = one.binding
        is_blank = isinstance(value, str) and not value.strip()
        if (is_blank and one.path != "url") or (isinstance(value, str) and (value in CORE or _is_uri(value))):
            return
        name = "preferredTransport" if one.path == "url" else "transport" if one.view is View.V0 else "protocolBinding"
        if value is None or (not isinstance(value, str) and one.path != "url"):
            return  # told as missing
        spelled = word(value) if isinstance(value, str) else ""
        meant = BINDINGS.get(spelled)
        but, instead = ", which is no binding of A2A and no URI", "JSONRPC, GRPC or HTTP+JSON, or to a binding's URI"
        if not isinstance(value, str):
            but, instead = f", {kind(value)}, not a string", "JSONRPC, GRPC or HTTP+JSON"
        elif meant is not None:
            but, instead = f": A2A's name for it is {meant}", meant
        elif spelled in _MCP:
            but = ", which is MCP: another protocol than A2A"
            instead = "the binding of an A2A endpoint, and tell of the MCP server by an MCP Server Card"
        yield Finding(
            path=name if one.path == "url" else f"{one.path}.{name}",
            nameOrUrl=card.name_or_url,
            cardUrl=card.url,
            observed=quoted(value),
            but=Composed(but),
            instead=Composed(instead),
        )

    @check(
        361,
        title="Interface's version",
        when="An entry's protocolVersion is not Major.Minor: it has a patch number, or is no version of A2A.",
        seen="{path}.protocolVersion of {nameOrUrl} at {cardUrl} is {observed}, {but}.",
        why="Clients compare it with the versions that they speak, such as 1.0, and may pass over the interface.",
        recommendation="Set {path}.protocolVersion on {nameOrUrl} to {instead}.",
        spec=_VERSIONS,
    )
    def check_rule_interface_version(self, interface: CardInterface) -> Findings:
        """A date that is a version of MCP is a fault, told there. A2A 0.x wants the patch number."""
        card, one = interface
        version = one.version
        if one.view is not View.V1 or not isinstance(version, str) or not version.strip() or version in VERSIONS:
            return
        form = re.fullmatch(r"\s*v?(\d{1,3})\.(\d{1,3})((?:[.+-]\S{0,40})?)\s*", version)
        instead = "the A2A version that it speaks, such as 1.0"
        if form is None:
            but = "which is no version of A2A"
        elif int(form[1]) > 1:
            but = "which there is no A2A of"
        elif version == f"{form[1]}.{form[2]}":
            return
        else:
            instead = f"{form[1]}.{form[2]}"
            but = "with a patch number" if form[3].startswith(".") else "not just Major.Minor"
        yield Finding(
            path=one.path,
            nameOrUrl=card.name_or_url,
            cardUrl=card.url,
            observed=quoted(version),
            but=Composed(but),
            instead=Composed(instead),
        )

    @check(
        363,
        title="Main interface among the additional ones",
        when="A card of A2A 0.x has additionalInterfaces, but the main url with its transport is not among them.",
        seen="additionalInterfaces of {nameOrUrl} at {cardUrl} do not have the main url {observed} by {transport}.",
        why="A client that reads only that list does not find the interface that the agent prefers.",
        recommendation="Add the main url with the transport {transport} to additionalInterfaces on {nameOrUrl}.",
        spec=_RELATIONS,
    )
    def check_rule_interface_completeness(self, card_0: AgentCard) -> Findings:
        """Where the url is listed with another transport only, that is the fault."""
        main, others = _main(card_0)
        if main is not None and others and not any(_same(one.url, main.url) for one in others):
            yield Finding(
                nameOrUrl=card_0.name_or_url,
                cardUrl=card_0.url,
                observed=quoted(without_user(str(main.url))),
                transport=_named(main),
            )

    @check(
        364,
        title="Main interface contradicted",
        when="A card of A2A 0.x lists its main url among additionalInterfaces with other transports only.",
        seen=(
            "The main url of {nameOrUrl} at {cardUrl} is one for {transport}, but additionalInterfaces list it for "
            "{observed}."
        ),
        why="One URL must not be declared for transports that contradict each other: clients may speak the wrong one.",
        recommendation="Make preferredTransport and additionalInterfaces on {nameOrUrl} say the same about {url}.",
        spec=_RELATIONS,
    )
    def check_rule_interface_conflict(self, card_0: AgentCard) -> Findings:
        """Only the main interface: a URL may well serve several transports."""
        main, others = _main(card_0)
        if main is None:
            return
        here = list(dict.fromkeys(name for one in others if _same(one.url, main.url) and (name := _named(one))))
        if here and _named(main) not in here:
            shown = ", ".join(here[:_SHOWN])
            yield Finding(
                nameOrUrl=card_0.name_or_url,
                cardUrl=card_0.url,
                url=without_user(str(main.url)),
                transport=_named(main),
                observed=Composed(clean(shown)),
            )

    @check(
        365,
        title="Interfaces twice",
        when="Two entries of supportedInterfaces, or of additionalInterfaces, say the same.",
        seen="{paths} of {nameOrUrl} at {cardUrl} are the same: {observed}.",
        why="Clients try interfaces in their order; the second one is never another chance.",
        recommendation="Remove one of {paths} from {nameOrUrl}, or correct what is meant to differ.",
        spec=_URLS,
    )
    def check_rule_interface_twice(self, card: AgentCard) -> Findings:
        """By URL, binding, version and tenant."""
        places: dict[tuple[str, ...], list[str]] = {}
        for one in card.interfaces:
            if one.path != "url" and isinstance(one.url, str) and one.url.strip():
                version = one.version if one.view is View.V1 else ""
                same = (one.view, one.url.strip(), _named(one), quoted(version), quoted(one.value.get("tenant") or ""))
                places.setdefault(same, []).append(one.path)
        for (_, url, name, *_), paths in places.items():
            if len(paths) > 1:
                more = f" and {len(paths) - 2} more" if len(paths) > 2 else ""
                yield Finding(
                    paths=Composed(f"{paths[0]} and {paths[1]}{more}"),
                    nameOrUrl=card.name_or_url,
                    cardUrl=card.url,
                    observed=Composed(f"{quoted(without_user(url))} by {quoted(name)}"),
                )

    @check(
        366,
        title="URL of another binding",
        when="The URL of a gRPC interface or of a custom binding names no host or no public one, or is plain http.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}, {but}.",
        why="What such a URL looks like is up to the binding, but clients must be able to reach it, encrypted.",
        recommendation="Set {path} on {nameOrUrl} to where the agent can be reached from outside.",
        spec=_URLS,
    )
    def check_rule_interface_other_binding(self, card: AgentCard) -> Findings:
        """gRPC may be ``host:port``, and a custom binding's URL of any scheme."""
        here = place_of(card.url)
        for target in self._targets(card):
            if target.is_http:
                continue
            there = target.place
            but = None
            if target.binding == "GRPC" and there is None and not re.match(r"[a-z][a-z0-9+.-]*:", target.written, re.I):
                but = "where no host can be told"
            elif there is None:
                continue
            elif not target.is_core and (hidden := _hidden(there, here)) is not None:
                but = hidden
            elif there.reach is Reach.ANYWHERE and target.written.strip().lower().startswith(("http://", "ws://")):
                but = "which is not encrypted"
            if but is not None:
                yield _finding(card, target, but)

    @check(
        367,
        title="Tunnel",
        when="An interface's host is one of a tunnel service, such as ngrok.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}, {but}.",
        why="Such addresses change, and end when the machine behind them is switched off.",
        recommendation="Give the agent of {nameOrUrl} a lasting address, and set {path} to it.",
        spec=_URLS,
    )
    def check_rule_interface_tunnel(self, card: AgentCard) -> Findings:
        """Not where the card itself is served through the same tunnel."""
        here = place_of(card.url)
        for target in self._targets(card):
            there = target.place
            service = tunnel(there.host) if there is not None else None
            if service is not None and there is not None and not (here is not None and here.host == there.host):
                yield _finding(card, target, f"a tunnel of {service} to somebody's own machine")

    # Faults.

    @check(
        430,
        title="MCP version",
        when="A protocolVersion is one of MCP, such as 2025-06-18.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}, a version of MCP; {where} is declared as A2A.",
        why="A2A and MCP are different protocols: a client of A2A cannot speak to an MCP server.",
        recommendation=(
            "Remove the MCP server from {nameOrUrl}, and describe it by an MCP Server Card; if it is an A2A endpoint, "
            "set {path} to the A2A version that it speaks."
        ),
        spec=_VERSIONS,
    )
    def check_rule_interface_mcp_version(self, interface: CardInterface) -> Findings:
        """In a 0.x view, the card's own claim."""
        card, one = interface
        if (
            isinstance(one.version, str)
            and one.version.strip() in VERSIONS
            and (one.view is View.V1 or one.path == "url")
        ):
            yield Finding(
                path="protocolVersion" if one.view is View.V0 else f"{one.path}.protocolVersion",
                nameOrUrl=card.name_or_url,
                cardUrl=card.url,
                observed=quoted(one.version),
                where=Composed(quoted(without_user(one.url)) if isinstance(one.url, str) else "it"),
            )

    @check(
        431,
        title="MCP endpoint as interface",
        when="An interface says that it is MCP, or its URL is one where this audit found an MCP server and no A2A.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}, which is an MCP server ({but}).",
        why="A2A and MCP are different protocols: a client of A2A cannot speak to an MCP server.",
        recommendation="Remove {path} from {nameOrUrl}, or set it to the agent's A2A endpoint.",
        spec=_URLS,
    )
    def check_rule_interface_mcp_endpoint(self, card: AgentCard) -> Findings:
        """By the entry's own words, or by what the MCP probe was answered at the same URL."""
        told = set()
        for one in card.interfaces:
            if isinstance(one.url, str) and one.path != "url" and (says := _says_mcp(one)) is not None:
                told.add(absolute(one.url))
                yield _finding(card, _Target(one.url, "", [f"{one.path}.url"], None, None), f"it says {says}")
        asked = {exchange.url for exchange in self.evidence.exchanges if exchange.purpose in STEPS} - told
        targets = [target for target in self._targets(card) if target.url is not None and str(target.url) in asked]
        if not targets:
            return
        eras = {talk.url: talk.era for talk in talks(self.evidence) if talk.era is not None}
        for target in targets:
            url = str(target.url)
            if url in eras and not self._is_a2a(url):
                yield _finding(card, target, f"this audit found one there, of the {eras[url].value} era")

    @check(
        432,
        title="Interface over https",
        when="The URL of a JSONRPC or HTTP+JSON interface is http, on a public host.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}, {but}.",
        why="Production deployments must be encrypted: anybody in between reads and changes what is said.",
        recommendation="Serve the interface over https, and set {path} on {nameOrUrl} to that URL.",
        spec=_TLS,
    )
    def check_rule_interface_https(self, card: AgentCard) -> Findings:
        """On one's own machine or network it is no fault, if the card is served there too."""
        for target in self._targets(card):
            there = target.place
            is_plain = target.is_http and target.written.strip().lower().startswith("http://")
            if is_plain and there is not None and there.reach is Reach.ANYWHERE:
                yield _finding(card, target, "not https")

    @check(
        433,
        title="Interface's URL is absolute",
        when="The URL of a JSONRPC or HTTP+JSON interface is no absolute http(s) URL.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}, which {but}.",
        why="Clients are given nothing else to find the interface by; a relative URL has no base there.",
        recommendation="Set {path} on {nameOrUrl} to an absolute https URL.",
        spec=PROTO,
    )
    def check_rule_interface_absolute(self, card: AgentCard) -> Findings:
        """Credentials in a URL, and its length, are told as such."""
        for target in self._targets(card):
            if not target.is_http or len(target.written) > LONGEST or target.written == str(target.url):
                continue
            try:
                Url.parse(target.written)
            except UrlError as error:
                if str(error) != CREDENTIALS:
                    yield _finding(card, target, str(error))

    @check(
        434,
        title="Interface can be reached",
        when="An interface is on a host that whoever reads the card cannot reach: loopback, 0.0.0.0, a private place.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}, {but}.",
        why="Clients elsewhere that follow it reach nothing, or something of their own.",
        recommendation="Set {path} on {nameOrUrl} to the URL by which clients reach the agent from outside.",
        spec=_URLS,
    )
    def check_rule_interface_reach(self, card: AgentCard) -> Findings:
        """A card that is served on one's own machine or network may name what is there; 0.0.0.0 is nowhere to call."""
        here = place_of(card.url)
        for target in self._targets(card):
            there = target.place
            if target.is_core and there is not None and (hidden := _hidden(there, here)) is not None:
                yield _finding(card, target, hidden)

    @check(
        435,
        title="User name in an interface's URL",
        when="The URL of an interface of A2A's own bindings carries a user name or a password before its host.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}, {but}.",
        why=(
            "HTTP has done away with such URLs (RFC 9110, section 4.2.4): browsers and many clients refuse them, and "
            "whoever reads the card reads the password."
        ),
        recommendation=(
            "Take the user name and password out of {path} on {nameOrUrl}, and declare by securitySchemes how clients "
            "authenticate; change a password that was in use."
        ),
        spec="https://www.rfc-editor.org/rfc/rfc9110#section-4.2.4",
    )
    def check_rule_interface_user(self, card: AgentCard) -> Findings:
        """Whether or not the password is one that lets anybody in; a custom binding may have its own use for it."""
        for target in self._targets(card):
            if target.is_core and without_user(target.written) != target.written:
                yield _finding(card, target, "which carries a user name or a password")

    @check(
        436,
        title="Length of an interface's URL",
        when=f"An interface's URL has more than {LONGEST} characters.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}, {but}.",
        why=f"Many clients, this auditor among them, ask for no URL of more than {LONGEST} characters.",
        recommendation="Give the agent of {nameOrUrl} a shorter URL, and set {path} to it.",
        spec=_URLS,
    )
    def check_rule_interface_length(self, card: AgentCard) -> Findings:
        """Of any binding."""
        for target in self._targets(card):
            if len(target.written) > LONGEST:
                yield _finding(card, target, f"which has {len(target.written)} characters")

    @cached_property
    def _known(self) -> dict[int, list[_Target]]:
        """The URLs of each card, by its identity: seven rules ask for them."""
        return {id(card): list(_targets(card)) for card in self.cards}

    def _targets(self, card: AgentCard) -> list[_Target]:
        return self._known[id(card)]

    def _is_a2a(self, url: str) -> bool:
        """Whether what answered there knows A2A: one endpoint may speak both."""
        for purpose in (Purpose.EXTENDED, Purpose.NO_VERSION):
            exchange = answer(self.evidence.exchanges, purpose, url)
            reply = read(exchange, 1) if exchange is not None else None
            if reply is not None and (reply.result is not None or reply.code in (-32004, -32007, -32009)):
                return True
        return False


def _targets(card: AgentCard) -> Iterator[_Target]:
    """The URLs of a card's interfaces, each once for what is spoken there, as far as they are texts."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in card.interfaces:
        if isinstance(one.url, str) and one.url.strip():
            path = one.path if one.path == "url" else f"{one.path}.url"
            found.setdefault((one.url, _named(one)), []).append(path)
    for (written, spoken), paths in found.items():
        yield _Target(written, spoken, paths, _url(written), _place(written, spoken))


def _place(written: str, spoken: str) -> Place | None:
    """Where the host of a URL is; gRPC may name a host alone."""
    found = place_of(written)
    if found is None and spoken == "GRPC" and re.fullmatch(r"[A-Za-z0-9_.-]{1,253}", written.strip()):
        return place(written.strip())
    return found


def _named(one: Interface) -> str:
    """A binding by its right name, however it is spelled; empty if there is none."""
    if one.binding is None and one.path == "url":
        return "JSONRPC"  # the schema's default since A2A 0.3.0; before 0.2.4 there was no other
    if not isinstance(one.binding, str):
        return ""
    return one.binding if _is_uri(one.binding) else BINDINGS.get(word(one.binding), one.binding.strip())


def _is_uri(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]{0,40}:[^\s<>\"\\]{1,2000}", text) is not None


def _says_mcp(one: Interface) -> str | None:
    """The member by which an entry says that it is MCP; an honest protocolBinding or version is told elsewhere."""
    if isinstance(one.version, str) and one.version.strip() in VERSIONS:
        return None
    for name in ("protocol", "type", "transport"):
        value = one.value.get(name)
        if isinstance(value, str) and value is not one.binding and word(value) in _MCP:
            return f"{name}: {quoted(value)}"
    return None


def _main(card: AgentCard) -> tuple[Interface | None, list[Interface]]:
    """The main interface of a 0.x view, if it has a URL, and the additional ones."""
    older = [one for one in card.interfaces if one.view is View.V0]
    main = next((one for one in older if one.path == "url" and isinstance(one.url, str) and one.url.strip()), None)
    return main, [one for one in older if one.path != "url"]


def _same(one: object, other: object) -> bool:
    left, right = absolute(one), absolute(other)
    return one == other if left is None or right is None else left.rstrip("/") == right.rstrip("/")


def _are_related(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return one == other or ("." in shorter and longer.endswith("." + shorter))


def _hidden(there: Place, here: Place | None) -> str | None:
    """Why who read the card cannot reach a place that it names; None if nothing speaks against it."""
    if there.reach is Reach.ANYWHERE or (here is not None and is_within(there, here)):
        return None
    return there.kind


def _finding(card: AgentCard, target: _Target, but: str, **values: object) -> Finding:
    return Finding(
        path=target.path,
        nameOrUrl=card.name_or_url,
        cardUrl=card.url,
        observed=quoted(without_user(target.written)),
        but=Composed(but),
        **values,
    )


def _url(written: str) -> Url | None:
    try:
        return Url.parse(written.strip())
    except UrlError:
        return None
