"""What an Agent Card holds: required members, skills, modes and claims, by the version that it is of."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from parley.documents.agent_card import (
    AgentCard,
    Interface,
    Shape,
    View,
    absolute,
    binding,
    objects,
    snake,
)
from parley.documents.mcp_plan import VERSIONS
from parley.documents.reach import place_of, without_user
from parley.rules.a2a_evidence import SCHEMA_0_3, V0_3, V1, A2aEvidence
from parley.rules.rule import Composed, Finding, Findings, check, listed
from parley.wire.text import MISSING, clean, kind, plain, quoted

LONG: Final = 4_000
"""Characters of a description that no client needs to choose an agent."""

PROMPT: Final = 600
"""Characters of a description from which on it is looked at for a prompt's words."""

_SHOWN: Final = 12

_CARD: Final = f"{V1}#441-agentcard"
_REQUIRED: Final = f"{V1}#57-field-presence-and-optionality"
_SKILL: Final = f"{V1}#445-agentskill"
_CARD_0: Final = f"{V0_3}#55-agentcard-object-structure"

# The members of each object, by A2A 1.0's proto and by the JSON schema of 0.3.0, which has all that 0.2 had.
_BOTH: Final = (
    "name",
    "description",
    "provider",
    "version",
    "documentationUrl",
    "capabilities",
    "securitySchemes",
    "defaultInputModes",
    "defaultOutputModes",
    "skills",
    "signatures",
    "iconUrl",
)
_ONLY_1: Final = ("supportedInterfaces", "securityRequirements")
_ONLY_0: Final = (
    "protocolVersion",
    "url",
    "preferredTransport",
    "additionalInterfaces",
    "security",
    "supportsAuthenticatedExtendedCard",
)
_LEGACY: Final = ("authentication", "supportsExtendedAgentCard")
_FLAGS: Final = ("streaming", "pushNotifications", "stateTransitionHistory", "extendedAgentCard")
_NESTED: Final[Mapping[str, tuple[str, ...]]] = {
    "provider": ("organization", "url"),
    "capabilities": (*_FLAGS, "extensions"),
    "supportedInterfaces": ("url", "protocolBinding", "protocolVersion", "tenant"),
    "additionalInterfaces": ("url", "transport"),
    "skills": (
        "id",
        "name",
        "description",
        "tags",
        "examples",
        "inputModes",
        "outputModes",
        "security",
        "securityRequirements",
    ),
    "signatures": ("protected", "signature", "header"),
}
_TOP: Final = (*_BOTH, *_ONLY_1, *_ONLY_0, *_LEGACY)

_OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "protocolBinding": ("transport", "type", "protocol", "binding", "preferredTransport"),
    "protocolVersion": ("version",),
    "url": ("uri", "endpoint", "href", "serviceUrl"),
    "name": ("displayName", "title"),
    "id": ("slug",),
    "transport": ("protocolBinding", "type", "protocol"),
    "tags": ("keywords", "categories"),
    "organization": ("name",),
    "supportedInterfaces": ("interfaces", "endpoints", "additionalInterfaces"),
}
"""Names by which required members are written in the field."""


class _Lack(NamedTuple):
    """A required member that is not as it must be: where, what is there instead, and what might have been meant."""

    path: str
    observed: str
    hint: str


class A2aCardRules(A2aEvidence):
    """Whether a card is one of the version that its members are of."""

    # Facts.

    @check(
        101,
        title="Agent Card found",
        when="An Agent Card was found, of any version.",
        seen="{nameOrUrl}: an Agent Card of {shape} at {cardUrl}{also}; it {claims}.",
        why="A card is judged by the version that its members are of, whatever it claims.",
        spec=_CARD,
    )
    def check_rule_found(self, card: AgentCard) -> Findings:
        """Once per card."""
        also = f", and the same at {', '.join(map(clean, card.document.also_at[:3]))}" if card.document.also_at else ""
        interfaces = [one.version for one in card.interfaces if one.view is View.V1 and isinstance(one.version, str)]
        claimed = [card.claim] if card.claim is not None else []
        versions = list(dict.fromkeys(plain(one) for one in (*claimed, *interfaces)))
        yield Finding(
            nameOrUrl=card.name_or_url,
            shape=f"A2A {card.shape.value}" if card.shape is not Shape.HYBRID else "A2A 1.0 and 0.x",
            cardUrl=card.url,
            also=Composed(also),
            claims=Composed(f"claims {', '.join(versions[:4])}" if versions else "claims no version"),
        )

    @check(
        105,
        title="Unknown members",
        when="The card has members that no version of A2A knows.",
        seen="The card {nameOrUrl} at {cardUrl} has members that A2A does not know: {members}.",
        why="Clients ignore them; a misspelt one is as good as missing.",
        spec=f"{V1}#57-field-presence-and-optionality",
    )
    def check_rule_unknown_members(self, card: AgentCard) -> Findings:
        """All in one finding, with a hint where one looks like a known name; ``x-`` names are nobody's misspelling."""
        unknown = list(dict.fromkeys(_unknown(card.members)))
        if unknown:
            told = [f"{path}{_hint(path, known)}" for path, known in unknown[:_SHOWN]]
            rest = [path for path, _ in unknown[_SHOWN:]]  # hints take time, and are not shown of these
            yield Finding(nameOrUrl=card.name_or_url, cardUrl=card.url, members=listed([*told, *rest], _SHOWN))

    @check(
        106,
        title="Extensions",
        when="The card declares extensions.",
        seen="The card {nameOrUrl} at {cardUrl} declares extensions: {extensions}.",
        why="A client that does not know a required one cannot use the agent; a version in the URI lets both agree.",
        spec=f"{V1}#463-extension-versioning-and-compatibility",
    )
    def check_rule_extensions(self, card: AgentCard) -> Findings:
        """Says which are required, and which have no version in their URI."""
        told = []
        for _, one in objects(card.capabilities, "extensions"):
            uri = one.get("uri")
            notes = ["required"] if one.get("required") is True else []
            if isinstance(uri, str) and not re.search(r"\d", uri):
                notes.append("no version in its URI")
            told.append(plain(uri) + (f" ({', '.join(notes)})" if notes else ""))
        if told:
            yield Finding(nameOrUrl=card.name_or_url, cardUrl=card.url, extensions=listed(told))

    @check(
        107,
        title="Member of A2A 0.1",
        when="The card has authentication, which A2A has not had since 0.2.",
        seen="The card {nameOrUrl} at {cardUrl} has authentication, as A2A 0.1 had it.",
        why="No client since reads it; what it says is to be said by securitySchemes.",
        recommendation="Say it by securitySchemes on {nameOrUrl}, and remove authentication.",
        spec=f"{V0_3}#55-agentcard-object-structure",
    )
    def check_rule_authentication(self, card: AgentCard) -> Findings:
        """Any value but null."""
        if card.members.get("authentication") is not None:
            yield Finding(nameOrUrl=card.name_or_url, cardUrl=card.url)

    @check(
        110,
        title="Members of A2A 0.x",
        when="A card of A2A 1.0 has members that only 0.x had.",
        seen="The card {nameOrUrl} at {cardUrl} still has members of A2A 0.x: {members}.",
        why="Clients of A2A 1.0 ignore them, and those of 0.x need url beside them.",
        spec=f"{V1}#appendix-a-migration--legacy-compatibility",
    )
    def check_rule_left_over(self, card_1: AgentCard) -> Findings:
        """Not in a hybrid card, but for stateTransitionHistory, which is gone from 1.0; security is another rule's."""
        left = [name for name in _ONLY_0 if name in card_1.members and name != "security"]
        found = left if card_1.shape is Shape.V1 else []
        found += ["capabilities.stateTransitionHistory"] if "stateTransitionHistory" in card_1.capabilities else []
        if found and (card_1.shape is Shape.V1):
            yield Finding(nameOrUrl=card_1.name_or_url, cardUrl=card_1.url, members=Composed(", ".join(found)))

    # Warnings.

    @check(
        320,
        title="Null for absent",
        when="A member that need not be there is null.",
        seen="The card {nameOrUrl} at {cardUrl} has members that are null: {members}.",
        why="A2A has no null: several clients refuse the card for it.",
        recommendation="Leave {members} out of {nameOrUrl}.",
        spec=_REQUIRED,
    )
    def check_rule_null(self, card: AgentCard) -> Findings:
        """All in one finding. A required member that is null is missing, and told there."""
        found = list(dict.fromkeys(path for path, value in _optional(card) if value is None))
        if found:
            yield Finding(nameOrUrl=card.name_or_url, cardUrl=card.url, members=listed(found))

    @check(
        321,
        title="Modes are media types",
        when="An input or output mode is no media type, such as text for text/plain.",
        seen="{path} of {nameOrUrl} at {cardUrl} has {observed}, which is no media type.",
        why="Clients compare modes with the media types that they can send and show; a bare word matches none.",
        recommendation="Write {instead} for {observed} on {nameOrUrl}.",
        spec=_CARD,
    )
    def check_rule_modes(self, card: AgentCard) -> Findings:
        """Each value once, where it stands first."""
        seen = set()
        for path, mode in _modes(card):
            if isinstance(mode, str) and mode not in seen and not _is_media_type(mode):
                seen.add(mode)
                instead = _MEDIA_TYPES.get(mode.strip().lower(), "a media type, such as text/plain,")
                yield Finding(
                    path=path,
                    nameOrUrl=card.name_or_url,
                    cardUrl=card.url,
                    observed=quoted(mode),
                    instead=Composed(instead),
                )

    @check(
        322,
        title="Version of an early card",
        when="A card with nothing later than A2A 0.2.3 has no protocolVersion.",
        seen="The card {nameOrUrl} at {cardUrl} has no protocolVersion; A2A requires one since 0.2.5.",
        why="Clients must guess how to speak to the agent.",
        recommendation="Set protocolVersion on {nameOrUrl}, or move to A2A 1.0 and supportedInterfaces.",
        spec=_CARD_0,
    )
    def check_rule_early_version(self, card_0: AgentCard) -> Findings:
        """It was legal up to 0.2.4, so it does not block."""
        if card_0.is_early:
            yield Finding(nameOrUrl=card_0.name_or_url, cardUrl=card_0.url)

    @check(
        323,
        title="Preferred transport",
        when="A card of A2A 0.3 has no preferredTransport.",
        seen="The card {nameOrUrl} at {cardUrl} has no preferredTransport.",
        why="The text of A2A 0.3 requires it, though its schema takes JSONRPC where it is absent.",
        recommendation="Set preferredTransport on {nameOrUrl}, such as JSONRPC.",
        spec=f"{V0_3}#561-main-url-and-preferred-transport",
    )
    def check_rule_preferred_transport(self, card_0: AgentCard) -> Findings:
        """Optional in 0.2."""
        is_0_3 = card_0.shape is Shape.V0_3 or (card_0.shape is Shape.HYBRID and _claims(card_0.claim, "0.3"))
        transport = "preferredTransport"
        if is_0_3 and card_0.members.get(transport) is None and not _is_respelt(card_0.members, transport):
            yield Finding(nameOrUrl=card_0.name_or_url, cardUrl=card_0.url)

    @check(
        324,
        title="Claimed version",
        when="The card's protocolVersion is no version of A2A, or of one that its members are not of.",
        seen="The card {nameOrUrl} at {cardUrl} claims protocolVersion {observed}, {but}.",
        why="Clients choose by it how to read the card and how to speak to the agent.",
        recommendation="Set protocolVersion on {nameOrUrl} to the A2A version that the agent speaks.",
        spec=f"{V1}#36-versioning",
    )
    def check_rule_claim(self, card: AgentCard) -> Findings:
        """A 0.x card that claims 1.0 is a fault, told by 423; a pure 1.0 card needs no claim of its own.

        A version of MCP is a fault in a 0.x card, told by 430.
        """
        claim = card.claim
        if not isinstance(claim, str) or not claim.strip() or (View.V0 in card.views and claim.strip() in VERSIONS):
            return
        but = None
        if not re.fullmatch(r"\s*v?\d{1,3}\.\d{1,3}(\.\d{1,5})?([-+][\w.+-]{1,40})?\s*", claim):
            but = "which is no version of A2A"
        elif card.shape is Shape.V1 and _claims(claim, "0"):
            but = "but has supportedInterfaces and no url, as only cards of A2A 1.0"
        elif not (_claims(claim, "0") or _claims(claim, "1")):
            but = "which there is no A2A of"
        if but is not None:
            yield Finding(nameOrUrl=card.name_or_url, cardUrl=card.url, observed=quoted(claim), but=Composed(but))

    @check(
        325,
        title="Both views agree",
        when="A card for clients of A2A 1.0 and 0.x sends them to different places, or by different transports.",
        seen="The card {nameOrUrl} at {cardUrl} sends clients of A2A 0.x to {observed}, {but}.",
        why="Clients of the two versions then meet different agents, or one of them none.",
        recommendation="List the url of {nameOrUrl}, with its transport, among supportedInterfaces.",
        spec=f"{V1}#appendix-a-migration--legacy-compatibility",
    )
    def check_rule_views(self, hybrid: AgentCard) -> Findings:
        """The main interface of the 0.x view against all of the 1.0 view."""
        main = next(one for one in hybrid.interfaces if one.path == "url")
        newer = [one for one in hybrid.interfaces if one.view is View.V1]
        here = [one for one in newer if _same_url(one.url, main.url)]
        but = None
        if newer and not here:
            but = "which is not among supportedInterfaces"
        elif here and _transport(main) not in {_transport(one) for one in here}:
            listed = ", ".join(dict.fromkeys(plain(one.binding) for one in here[:4]))
            but = f"where supportedInterfaces has {listed}"
        if but is not None:
            shown = f"{_shown_url(main.url)} by {_transport(main) or plain(main.binding)}"
            yield Finding(nameOrUrl=hybrid.name_or_url, cardUrl=hybrid.url, observed=Composed(shown), but=Composed(but))

    @check(
        326,
        title="Placeholders",
        when="A text of the card is a placeholder that nobody filled in.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}: a placeholder.",
        why="The card was published before it was finished; clients and people are misled.",
        recommendation="Set {path} on {nameOrUrl} to what is meant.",
        spec=_CARD,
    )
    def check_rule_placeholders(self, card: AgentCard) -> Findings:
        """Only where one cannot be meant: descriptions may well speak of variables and to-do lists.

        The host that serves the card, and what is above or below it, are somebody's.
        """
        place = place_of(card.url)
        here = "-" if place is None else place.host
        for path, text in _texts(card):
            if _is_placeholder(path, text, here):
                shown = quoted(without_user(text) if _is_url(path) else text)
                yield Finding(path=path, nameOrUrl=card.name_or_url, cardUrl=card.url, observed=Composed(shown))

    @check(
        327,
        title="Prompt in a description",
        when=f"A description has more than {LONG} characters, or more than {PROMPT} and reads like a prompt.",
        seen="{path} of {nameOrUrl} at {cardUrl} has {length} characters{how}: {observed}.",
        why="Everybody can read a card; agents that read it may take such a text for instructions.",
        recommendation="Say in a sentence or two on {nameOrUrl} what {path} is for; keep prompts out of the card.",
        spec=f"{V1}#133-extended-agent-card-access-control",
    )
    def check_rule_prompts(self, card: AgentCard) -> Findings:
        """A role or a task that is given, and one more sign: a description may well address its reader."""
        for path, text in _descriptions(card):
            if len(text) <= PROMPT:
                continue
            start = text[:20_000]
            is_prompt = _is_prompt(start)
            if is_prompt or len(text) > LONG:
                yield Finding(
                    path=path,
                    nameOrUrl=card.name_or_url,
                    cardUrl=card.url,
                    length=len(text),
                    how=Composed(", and reads like a prompt" if is_prompt else ""),
                    observed=quoted(text),
                )

    @check(
        329,
        title="Empty lists in A2A 0.x",
        when="A card of A2A 0.x has no skills, a skill no tags, or the card no modes, though the member is there.",
        seen="{path} of {nameOrUrl} at {cardUrl} is empty.",
        why="A2A 0.x allows it and 1.0 does not: clients choose an agent by its skills, and skills by their tags.",
        recommendation="Fill {path} on {nameOrUrl}.",
        spec=_CARD_0,
    )
    def check_rule_empty_0(self, card_0: AgentCard) -> Findings:
        """In a hybrid card it is a fault, by the rules of A2A 1.0."""
        if card_0.shape is Shape.HYBRID:
            return
        paths = [
            name for name in ("skills", "defaultInputModes", "defaultOutputModes") if card_0.members.get(name) == []
        ]
        paths += [f"{skill.path}.tags" for skill in card_0.skills if skill.value.get("tags") == []]
        for path in paths:
            yield Finding(path=path, nameOrUrl=card_0.name_or_url, cardUrl=card_0.url)

    @check(
        330,
        title="Blank texts in A2A 0.x",
        when="A required text of a card of A2A 0.x is there, but blank, or all of a skill's tags are.",
        seen="{path} of {nameOrUrl} at {cardUrl} is blank.",
        why="The schema allows it, but people and clients learn nothing from it.",
        recommendation="Fill {path} on {nameOrUrl}.",
        spec=_CARD_0,
    )
    def check_rule_blank_0(self, card_0: AgentCard) -> Findings:
        """In a hybrid card it is a fault, by the rules of A2A 1.0."""
        if card_0.shape is Shape.HYBRID:
            return
        for name in ("name", "description", "version"):
            if _is_blank(card_0.members.get(name)):
                yield Finding(path=name, nameOrUrl=card_0.name_or_url, cardUrl=card_0.url)
        for skill in card_0.skills:
            for name in ("id", "name", "description"):
                if _is_blank(skill.value.get(name)):
                    yield Finding(path=f"{skill.path}.{name}", nameOrUrl=card_0.name_or_url, cardUrl=card_0.url)
            if _are_blank(skill.value.get("tags")):
                yield Finding(path=f"{skill.path}.tags", nameOrUrl=card_0.name_or_url, cardUrl=card_0.url)

    @check(
        331,
        title="Additional interfaces of A2A 0.x",
        when="An entry of additionalInterfaces lacks url or transport, or is no object.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}{hint}.",
        why="Clients cannot use an interface without either.",
        recommendation="Set {path} on {nameOrUrl}, or remove the entry.",
        spec=f"{V0_3}#555-agentinterface-object",
    )
    def check_rule_additional_interfaces(self, card_0: AgentCard) -> Findings:
        """What they hold is another rule's business."""
        for lack in _entries(card_0.members, "additionalInterfaces", ("url", "transport")):
            yield _lacking(card_0, lack)

    @check(
        332,
        title="Extensions have a URI",
        when="An entry of capabilities.extensions has no uri, or is no object.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}{hint}.",
        why="The URI is all that a client can tell an extension by.",
        recommendation="Set {path} on {nameOrUrl}, or remove the entry.",
        spec=f"{V1}#444-agentextension",
    )
    def check_rule_extension_uri(self, card: AgentCard) -> Findings:
        """Each entry, and extensions that are no array."""
        for lack in _entries(card.capabilities, "extensions", ("uri",)):
            yield _lacking(card, lack._replace(path=f"capabilities.{lack.path}"))

    # Required members.

    @check(
        410,
        title="Name",
        when="The card has no name, or it is null or no string (or blank, in A2A 1.0).",
        seen="The card at {cardUrl} has no name: {observed}{hint}.",
        why="People and clients know the agent by it; every version of A2A requires it.",
        recommendation="Set name on the card at {cardUrl}.",
        spec=_REQUIRED,
        blocks=True,
    )
    def check_rule_name(self, card: AgentCard) -> Findings:
        """Of any version."""
        yield from _required(card, "name")

    @check(
        411,
        title="Description",
        when="The card has no description, or it is null or no string (or blank, in A2A 1.0).",
        seen="The card {nameOrUrl} at {cardUrl} has no description: {observed}{hint}.",
        why="Other agents choose by it whom to ask; every version of A2A requires it.",
        recommendation="Set description on {nameOrUrl}.",
        spec=_REQUIRED,
        blocks=True,
    )
    def check_rule_description(self, card: AgentCard) -> Findings:
        """Of any version."""
        yield from _required(card, "description")

    @check(
        412,
        title="Version",
        when="The card has no version, or it is null or no string (or blank, in A2A 1.0).",
        seen="The card {nameOrUrl} at {cardUrl} has no version: {observed}{hint}.",
        why="It is the agent's own version, by which clients know whether what they keep is current.",
        recommendation="Set version on {nameOrUrl}, such as 1.0.0.",
        spec=_REQUIRED,
        blocks=True,
    )
    def check_rule_version(self, card: AgentCard) -> Findings:
        """Of any version."""
        yield from _required(card, "version")

    @check(
        413,
        title="URL of a 0.x card",
        when="A card of A2A 0.x has no url, or it is null, blank or no string.",
        seen="The card {nameOrUrl} at {cardUrl} has no url: {observed}{hint}.",
        why="It is where clients of A2A 0.x speak to the agent.",
        recommendation="Set url on {nameOrUrl}, or move to A2A 1.0 and supportedInterfaces.",
        spec=_CARD_0,
        blocks=True,
    )
    def check_rule_url(self, card_0: AgentCard) -> Findings:
        """What it holds is another rule's business."""
        if (lack := _text_lack(card_0.members, "url", "url", blank=True)) is not None:
            yield _lacking(card_0, lack)

    @check(
        414,
        title="Supported interfaces",
        when="A card of A2A 1.0 has no supportedInterfaces, or they are no array, or empty.",
        seen="The card {nameOrUrl} at {cardUrl} has no supportedInterfaces: {observed}{hint}.",
        why="They are the only places where clients of A2A 1.0 look for the agent's addresses.",
        recommendation="Set supportedInterfaces on {nameOrUrl}: url, protocolBinding and protocolVersion of each.",
        spec=f"{V1}#831-supported-interfaces-declaration",
        blocks=True,
    )
    def check_rule_interfaces(self, card_1: AgentCard) -> Findings:
        """At least one entry."""
        if (lack := _list_lack(card_1.members, "supportedInterfaces", empty=True)) is not None:
            yield _lacking(card_1, lack)

    @check(
        415,
        title="Interface's members",
        when="An entry of supportedInterfaces lacks url, protocolBinding or protocolVersion, or is no object.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}{hint}.",
        why="Without all three, a client cannot tell where and how to speak to the agent.",
        recommendation="Set {path} on {nameOrUrl}.",
        spec=f"{V1}#446-agentinterface",
        blocks=True,
    )
    def check_rule_interface_members(self, card_1: AgentCard) -> Findings:
        """What they hold is another rule's business."""
        names = ("url", "protocolBinding", "protocolVersion")
        if isinstance(card_1.members.get("supportedInterfaces"), list):
            for lack in _entries(card_1.members, "supportedInterfaces", names):
                yield _lacking(card_1, lack)

    @check(
        416,
        title="Capabilities",
        when="The card has no capabilities, or they are null or no object.",
        seen="The card {nameOrUrl} at {cardUrl} has no capabilities object: {observed}{hint}.",
        why="Clients learn from it whether the agent streams and notifies; every version of A2A requires it.",
        recommendation="Set capabilities on {nameOrUrl} to an object; {{}} if it has none.",
        spec=_REQUIRED,
        blocks=True,
    )
    def check_rule_capabilities(self, card: AgentCard) -> Findings:
        """An empty object will do."""
        value = card.members.get("capabilities")
        if not isinstance(value, dict):
            observed = kind(value) if value is not None else _absent(card.members, "capabilities")
            yield _lacking(card, _Lack("capabilities", observed, _proto(card, "capabilities")))

    @check(
        417,
        title="Default modes",
        when="defaultInputModes or defaultOutputModes is missing, or no array of strings (or empty, in A2A 1.0).",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}{hint}.",
        why="Clients learn from them what they can send to the agent, and what they get.",
        recommendation="Set {path} on {nameOrUrl} to media types, such as text/plain.",
        spec=_REQUIRED,
        blocks=True,
    )
    def check_rule_default_modes(self, card: AgentCard) -> Findings:
        """Both of them."""
        for name in ("defaultInputModes", "defaultOutputModes"):
            lack = _list_lack(card.members, name, empty=View.V1 in card.views)
            lack = lack or _strings_lack(card.members, name, name)
            if lack is not None:
                yield _lacking(card, lack._replace(hint=lack.hint + _proto(card, name)))

    @check(
        418,
        title="Skills",
        when="The card has no skills, or they are no array (or empty, in A2A 1.0).",
        seen="The card {nameOrUrl} at {cardUrl} has no skills: {observed}{hint}.",
        why=(
            "Other agents choose by skills whom to ask. A2A 1.0 wants at least one (section 5.7), though an example in "
            "its section 8.4.1 has none."
        ),
        recommendation="Describe what the agent can do by skills on {nameOrUrl}.",
        spec=_REQUIRED,
        blocks=True,
    )
    def check_rule_skills(self, card: AgentCard) -> Findings:
        """An empty array is allowed in A2A 0.x, and told there as a warning."""
        lack = _list_lack(card.members, "skills", empty=View.V1 in card.views)
        if lack is not None:
            yield _lacking(card, lack._replace(hint=lack.hint + _proto(card, "skills")))

    @check(
        419,
        title="Skill's members",
        when="A skill lacks id, name, description or tags (at least one, in A2A 1.0), or is no object.",
        seen="{path} of {nameOrUrl} at {cardUrl} is no whole skill: {lacks}.",
        why="Clients choose and show a skill by them; every version of A2A requires all four.",
        recommendation="Set id, name, description and tags of {path} on {nameOrUrl}.",
        spec=_SKILL,
        blocks=True,
    )
    def check_rule_skill_members(self, card: AgentCard) -> Findings:
        """Once per skill."""
        listed = card.members.get("skills")
        for index, skill in enumerate(listed if isinstance(listed, list) else []):
            lacks = list(_skill_lacks(skill, is_1=View.V1 in card.views))
            if lacks:
                yield Finding(
                    path=f"skills[{index}]",
                    nameOrUrl=card.name_or_url,
                    cardUrl=card.url,
                    lacks=Composed("; ".join(lacks)),
                )

    @check(
        420,
        title="Skills' ids differ",
        when="Two skills have the same id.",
        seen="{count} skills of {nameOrUrl} at {cardUrl} have the id {observed}: {paths}.",
        why="Clients name a skill by its id, and cannot tell these apart.",
        recommendation="Give each skill of {nameOrUrl} an id of its own.",
        spec=_SKILL,
    )
    def check_rule_skill_ids(self, card: AgentCard) -> Findings:
        """Once per id."""
        places: dict[str, list[str]] = {}
        for skill in card.skills:
            if isinstance(identifier := skill.value.get("id"), str) and identifier.strip():
                places.setdefault(identifier, []).append(skill.path)
        for identifier, paths in places.items():
            if len(paths) > 1:
                shown = ", ".join(paths[:4]) + (", ..." if len(paths) > 4 else "")
                yield Finding(
                    count=len(paths),
                    nameOrUrl=card.name_or_url,
                    cardUrl=card.url,
                    observed=quoted(identifier),
                    paths=Composed(shown),
                )

    @check(
        421,
        title="camelCase",
        when="A member is spelled as Protocol Buffers have it (default_input_modes), not as JSON must.",
        seen="The card {nameOrUrl} at {cardUrl} has members in snake_case: {members}.",
        why="A2A's JSON is camelCase: clients do not know these members, and take them for missing.",
        recommendation="Write {instead} on {nameOrUrl}.",
        spec=f"{V1}#55-json-field-naming-convention",
        blocks=True,
    )
    def check_rule_camel_case(self, card: AgentCard) -> Findings:
        """All known names in one finding; others' own names may be spelled as they like."""
        found = list(dict.fromkeys(_snake_case(card.members)))
        if found:
            yield Finding(
                nameOrUrl=card.name_or_url,
                cardUrl=card.url,
                members=listed(path for path, _ in found),
                instead=listed(dict.fromkeys(name for _, name in found)),
            )

    @check(
        422,
        title="Provider",
        when="provider is there, but no object, or lacks organization or url.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}{hint}.",
        why="A provider that is named must be named in full; clients refuse half of it.",
        recommendation="Set {path} on {nameOrUrl}, or leave provider out.",
        spec=f"{V1}#442-agentprovider",
    )
    def check_rule_provider(self, card: AgentCard) -> Findings:
        """Optional as a whole."""
        provider = card.members.get("provider")
        if provider is None:
            return
        if not isinstance(provider, dict):
            yield _lacking(card, _Lack("provider", f"{kind(provider)}, not an object", ""))
            return
        for name in ("organization", "url"):
            if (lack := _text_lack(provider, name, f"provider.{name}", blank=View.V1 in card.views)) is not None:
                yield _lacking(card, lack)

    @check(
        423,
        title="Claims 1.0 without its interfaces",
        when="The card claims A2A 1.x, but has url and no supportedInterfaces, as cards of A2A 0.x have.",
        seen="The card {nameOrUrl} at {cardUrl} claims protocolVersion {observed}, but has no supportedInterfaces.",
        why="Clients of A2A 1.0 find no address of the agent, and those of 0.x are told that it is not for them.",
        recommendation="Set supportedInterfaces on {nameOrUrl}, or protocolVersion to the 0.x version that it speaks.",
        spec=f"{V1}#831-supported-interfaces-declaration",
        blocks=True,
    )
    def check_rule_claims_1(self, card_0: AgentCard) -> Findings:
        """A hybrid card has them."""
        if card_0.shape is not Shape.HYBRID and _claims(card_0.claim, "1"):
            yield Finding(nameOrUrl=card_0.name_or_url, cardUrl=card_0.url, observed=quoted(card_0.claim))

    @check(
        424,
        title="Protocol version of a 0.x card",
        when="A card with members of A2A 0.2.4 or later has no protocolVersion, or it is null, blank or no string.",
        seen="The card {nameOrUrl} at {cardUrl} has no protocolVersion: {observed}{hint}.",
        why="A2A 0.x requires it since 0.2.5: clients choose by it how to speak to the agent.",
        recommendation="Set protocolVersion on {nameOrUrl} to the version that the agent speaks.",
        spec=_CARD_0,
        blocks=True,
    )
    def check_rule_protocol_version(self, card_0: AgentCard) -> Findings:
        """An earlier card owes none, which is told as a warning."""
        lack = _text_lack(card_0.members, "protocolVersion", "protocolVersion", blank=True)
        if lack is not None and not card_0.is_early:
            yield _lacking(card_0, lack._replace(hint=""))  # its version is the agent's own

    @check(
        425,
        title="Capabilities are booleans",
        when="streaming, pushNotifications or another capability is no boolean.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}, not a boolean.",
        why='Clients refuse the card, or take the text "false" for true.',
        recommendation="Set {path} on {nameOrUrl} to true or false.",
        spec=f"{V1}#443-agentcapabilities",
    )
    def check_rule_flags(self, card: AgentCard) -> Findings:
        """Null is told as such."""
        flags = [(f"capabilities.{name}", card.capabilities.get(name)) for name in _FLAGS]
        flags += [(name, card.members.get(name)) for name in ("supportsAuthenticatedExtendedCard",)]
        for path, value in flags:
            if value is not None and not isinstance(value, bool):
                yield Finding(path=path, nameOrUrl=card.name_or_url, cardUrl=card.url, observed=quoted(value))

    @check(
        426,
        title="Types of optional members",
        when="An optional member of the card, a skill, an interface or an extension is of another type than A2A's.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}.",
        why="Clients that read cards by the data model refuse the whole card.",
        recommendation="Correct {path} on {nameOrUrl}, or leave it out.",
        spec=SCHEMA_0_3,
    )
    def check_rule_types(self, card: AgentCard) -> Findings:
        """Texts, lists of texts, and what interfaces and extensions may have; security is another rule's business."""
        for path, holder, name, type_ in _typed(card):
            value = holder.get(name)
            lack = None
            if type_ is list:
                lack = _list_lack(holder, name, empty=False, path=path) or _strings_lack(holder, name, path)
            elif value is not None and not isinstance(value, type_):
                lack = _Lack(path, f"{kind(value)}, not {_TYPES[type_]}", "")
            if lack is not None and value is not None:
                yield Finding(
                    path=lack.path, nameOrUrl=card.name_or_url, cardUrl=card.url, observed=Composed(lack.observed)
                )


_TYPES: Final[Mapping[type, str]] = {str: "a string", bool: "a boolean", dict: "an object"}


def _typed(card: AgentCard) -> Iterator[tuple[str, Mapping[str, object], str, type]]:
    """The optional members that are no objects of their own: place, holder, name, and type; a list is one of texts."""
    for name in ("documentationUrl", "iconUrl"):
        yield name, card.members, name, str
    for skill in card.skills:
        for name in ("examples", "inputModes", "outputModes"):
            yield f"{skill.path}.{name}", skill.value, name, list
    for one in card.interfaces:
        if one.view is View.V1:
            yield f"{one.path}.tenant", one.value, "tenant", str
    for path, extension in objects(card.capabilities, "extensions"):
        for name, type_ in (("description", str), ("required", bool), ("params", dict)):
            yield f"capabilities.{path}.{name}", extension, name, type_


# What is missing.


def _lacking(card: AgentCard, lack: _Lack) -> Finding:
    return Finding(
        path=lack.path,
        nameOrUrl=card.name_or_url,
        cardUrl=card.url,
        observed=Composed(lack.observed),
        hint=Composed(lack.hint),
    )


def _required(card: AgentCard, name: str) -> Iterator[Finding]:
    lack = _text_lack(card.members, name, name, blank=View.V1 in card.views)
    if lack is not None:
        yield _lacking(card, lack._replace(hint=lack.hint + _proto(card, name)))


def _text_lack(members: Mapping[str, object], name: str, path: str, *, blank: bool) -> _Lack | None:
    value = members.get(name)
    if isinstance(value, str):
        return _Lack(path, "blank", "") if blank and not value.strip() else None
    if _is_respelt(members, name):
        return None
    if value is None:
        return _Lack(path, _absent(members, name), _instead(members, name))
    return _Lack(path, f"{kind(value)}, not a string", "")


def _is_respelt(members: Mapping[str, object], name: str) -> bool:
    """Whether a member that is not there stands under its name in snake_case, which is told as such."""
    return name not in members and members.get(snake(name)) is not None


def _is_blank(value: object) -> bool:
    return isinstance(value, str) and not value.strip()


def _are_blank(texts: object) -> bool:
    """Whether a list has texts, and nothing in them: as good as empty."""
    return isinstance(texts, list) and bool(texts) and all(_is_blank(text) for text in texts)


def _list_lack(members: Mapping[str, object], name: str, *, empty: bool, path: str | None = None) -> _Lack | None:
    value = members.get(name)
    path = path or name
    if isinstance(value, list):
        return _Lack(path, "empty", "") if empty and not value else None
    if _is_respelt(members, name):
        return None
    if value is None:
        return _Lack(path, _absent(members, name), _instead(members, name))
    return _Lack(path, f"{kind(value)}, not an array", "")


def _strings_lack(members: Mapping[str, object], name: str, path: str) -> _Lack | None:
    value = members.get(name)
    for index, item in enumerate(value if isinstance(value, list) else []):
        if not isinstance(item, str):
            return _Lack(f"{path}[{index}]", f"{kind(item)}, not a string", "")
    return None


def _skill_lacks(skill: object, *, is_1: bool) -> Iterator[str]:
    if not isinstance(skill, dict):
        yield f"it is {kind(skill)}, not an object"
        return
    for name in ("id", "name", "description"):
        if (lack := _text_lack(skill, name, name, blank=is_1)) is not None:
            yield f"{lack.path} is {lack.observed}{lack.hint}"
    tags = _list_lack(skill, "tags", empty=is_1) or _strings_lack(skill, "tags", "tags")
    if tags is None and is_1 and _are_blank(skill.get("tags")):
        tags = _Lack("tags", "blank", "")
    if tags is not None:
        yield f"{tags.path} is {tags.observed}{tags.hint}"


def _entries(members: Mapping[str, object], name: str, required: Sequence[str]) -> Iterator[_Lack]:
    """What the objects in an array lack, and what in it is no object; the array itself, if it is none."""
    listed = members.get(name)
    if listed is not None and not isinstance(listed, list):
        yield _Lack(name, f"{kind(listed)}, not an array", "")
        return
    for index, item in enumerate(listed or []):
        if not isinstance(item, dict):
            yield _Lack(f"{name}[{index}]", f"{kind(item)}, not an object", "")
            continue
        for member in required:
            if (lack := _text_lack(item, member, f"{name}[{index}].{member}", blank=True)) is not None:
                yield lack


def _absent(members: Mapping[str, object], name: str) -> str:
    return "null" if name in members else MISSING.strip("()")


def _instead(members: Mapping[str, object], name: str) -> str:
    """The other name by which a missing member may have been meant."""
    for other in _OTHER_NAMES.get(name, ()):
        if members.get(other) is not None:
            return f" (there is {other})"
    return ""


def _proto(card: AgentCard, name: str) -> str:
    """A word on SDKs that leave out what is empty, as Protocol Buffers do: the member is required all the same."""
    if card.shape is not Shape.V1 or name in card.members:
        return ""
    return "; SDKs built on Protocol Buffers leave it out when it is empty, but A2A requires it"


# What else is there.


def _nested(members: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object], tuple[str, ...]]]:
    """The objects of a card whose members are known: each with its place, and those members."""
    for name, known in _NESTED.items():
        value = members.get(name, members.get(snake(name)))
        if name in ("provider", "capabilities"):
            if isinstance(value, dict):
                yield f"{name}.", value, known
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    yield f"{name}[].", item, known


def _unknown(members: Mapping[str, object]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for place, holder, known in (("", members, _TOP), *_nested(members)):
        spelled = _SPELLED[known]
        for name in holder:
            if name not in spelled and not name.lower().startswith(("x-", "x_", "$", "_", "@")):
                yield place + clean(name, 60), known


def _snake_case(members: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for place, holder, known in (("", members, _TOP), *_nested(members)):
        spelled = _SPELLED[known]
        for name in holder:
            meant = spelled.get(name, name)
            if meant != name and meant not in holder:
                yield place + name, meant


_SPELLED: Final = {
    known: {name: name for name in known} | {snake(name): name for name in known if snake(name) != name}
    for known in (_TOP, *_NESTED.values())
}
"""For each object, its members as they are spelled, and as Protocol Buffers spell them."""


def _hint(path: str, known: Sequence[str]) -> str:
    import difflib  # only where there is something to say

    name = path.rpartition(".")[2]
    alike = [one for one in known if one.lower() == name.lower().replace("-", "").replace("_", "")]
    alike = alike or difflib.get_close_matches(name, known, n=1, cutoff=0.85)
    return f" (is {alike[0]} meant?)" if alike else ""


def _optional(card: AgentCard) -> Iterator[tuple[str, object]]:
    """The members that need not be there, with their places; security schemes are other rules' business."""
    required = {"securitySchemes"}
    required |= {"name", "description", "version", "capabilities", "defaultInputModes", "defaultOutputModes", "skills"}
    required |= {"supportedInterfaces"} if View.V1 in card.views else set()
    required |= {"url", "protocolVersion"} if View.V0 in card.views else set()
    for name in _TOP:
        if name in card.members and name not in required:
            yield name, card.members[name]
    for place, holder, known in _nested(card.members):
        needed = _NEEDED.get(place, ())
        for name in known:
            if name in holder and name not in needed:
                yield place + name, holder[name]


_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "provider.": ("organization", "url"),
    "supportedInterfaces[].": ("url", "protocolBinding", "protocolVersion"),
    "additionalInterfaces[].": ("url", "transport"),
    "skills[].": ("id", "name", "description", "tags"),
    "signatures[].": ("protected", "signature"),
}


def _modes(card: AgentCard) -> Iterator[tuple[str, object]]:
    for name in ("defaultInputModes", "defaultOutputModes"):
        value = card.members.get(name)
        for mode in value if isinstance(value, list) else []:
            yield name, mode
    for skill in card.skills:
        for name in ("inputModes", "outputModes"):
            value = skill.value.get(name)
            for mode in value if isinstance(value, list) else []:
                yield f"{skill.path}.{name}", mode


_MEDIA_TYPES: Final = {
    "text": "text/plain",
    "plain": "text/plain",
    "json": "application/json",
    "data": "application/json",
    "markdown": "text/markdown",
    "html": "text/html",
    "image": "image/png (or whichever it is)",
    "audio": "audio/mpeg (or whichever it is)",
    "video": "video/mp4 (or whichever it is)",
    "file": "application/octet-stream (or whichever it is)",
    "pdf": "application/pdf",
    "csv": "text/csv",
}


def _is_media_type(mode: str) -> bool:
    return len(mode) <= 255 and bool(re.fullmatch(r"[\w!#$&^.+*-]+/[\w!#$&^.+*-]+(\s*;.*)?", mode.strip()))


def _claims(claim: object, version: str) -> bool:
    """Whether a claim is of a version: ``0.3.0`` is of 0.3, and of 0."""
    return isinstance(claim, str) and (claim.strip().lstrip("v") + ".").startswith(version + ".")


def _same_url(one: object, other: object) -> bool:
    left, right = absolute(one), absolute(other)
    return one == other if left is None or right is None else left.rstrip("/") == right.rstrip("/")


_BINDINGS: Final = {"REST": "HTTP+JSON", "HTTP": "HTTP+JSON", "JSON-RPC": "JSONRPC"}


def _shown_url(url: object) -> str:
    return plain(without_user(url) if isinstance(url, str) else url)


def _transport(interface: Interface) -> str:
    """A binding by its right name, since wrong ones are told of elsewhere."""
    return _BINDINGS.get(binding(interface), binding(interface))


def _texts(card: AgentCard) -> Iterator[tuple[str, str]]:
    """Short texts that stand for themselves, and URLs."""
    provider = card.members.get("provider")
    found: list[tuple[str, object]] = [
        (name, card.members.get(name)) for name in ("name", "description", "version", "documentationUrl", "iconUrl")
    ]
    if isinstance(provider, dict):
        found += [(f"provider.{name}", provider.get(name)) for name in ("organization", "url")]
    found += [(one.path if one.path == "url" else f"{one.path}.url", one.url) for one in card.interfaces]
    for skill in card.skills:
        found += [(f"{skill.path}.{name}", skill.value.get(name)) for name in ("id", "name", "description")]
    for path, value in found:
        if isinstance(value, str) and value:
            yield path, value


def _is_url(path: str) -> bool:
    return path.lower().endswith("url")


def _is_placeholder(path: str, text: str, here: str) -> bool:
    """Whether a text is one; ``here`` is the host that serves the card."""
    start = text[:2048]
    whole = start.strip().strip("<>[]{}").lower()
    if whole in ("tbd", "fixme", "changeme", "change me", "placeholder", "lorem ipsum", "xxx"):
        return True
    if whole in ("todo", "string"):  # an agent or a skill may well be called so
        return not path.endswith(("name", "id"))
    if path.endswith("description"):
        return start.lower().lstrip().startswith("lorem ipsum dolor sit amet")
    if re.search(r"\$\{[^{}]{0,80}\}|\{\{[^{}]{0,80}\}\}|<your[ _-][^<>]{0,60}>|%[A-Z][A-Z_]{2,40}%", start):
        return True
    host = re.match(r"(?:[a-z][a-z0-9+.-]*://)?([^/?#:]*)", start, re.IGNORECASE) if _is_url(path) else None
    name = host[1].lower() if host else ""
    if f".{name}".endswith(f".{here}") or f".{here}".endswith(f".{name}"):
        return False
    return bool(
        re.search(r"(^|\.)example\.(com|org|net)$|(^|[.-])your[-_]?(domain|company|org|host|agent|server|app)\b", name)
    )


def _descriptions(card: AgentCard) -> Iterator[tuple[str, str]]:
    text = card.members.get("description")
    if isinstance(text, str):
        yield "description", text
    for skill in card.skills:
        if isinstance(text := skill.value.get("description"), str):
            yield f"{skill.path}.description", text


_ROLES: Final = (
    r"\byou are (?:an?|the)\b",
    r"\byour (?:task|job|role|goal) is\b",
    r"\bsystem prompt\b|<\|?(?:system|im_start)|\b(?:previous|above) instructions\b",
    r"(?:^|\n)[ \t]{0,8}#{1,3} (?:instructions|rules|guidelines|role|constraints)\b",
)
_ORDERS: Final = (
    r"\byou (?:must|should) (?:never|always|not)\b|\byou must\b",
    r"\b(?:never|do not|don't) (?:reveal|mention|disclose|share|tell)\b",
    r"\b(?:always|only) (?:respond|reply|answer|use)\b",
)


def _is_prompt(text: str) -> bool:
    roles, orders = (sum(bool(re.search(sign, text, re.IGNORECASE)) for sign in signs) for signs in (_ROLES, _ORDERS))
    return roles > 0 and roles + orders > 1
