"""How an Agent Card says that its clients are to be authenticated: schemes and requirements, in either dialect."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final, NamedTuple

from parley.documents.agent_card import AgentCard, Purpose, Scheme, Shape, View, absolute, has, snake
from parley.documents.reach import Place, Reach, is_within, place_of, without_user
from parley.evidence import FailureCode
from parley.rules.a2a_evidence import PROTO, SCHEMA_0_3, V1, A2aEvidence, CardScheme, Resolved
from parley.rules.rule import Composed, Finding, Findings, Given, check, listed
from parley.wire import strict_json
from parley.wire.media_type import is_html
from parley.wire.strict_json import NotJson
from parley.wire.text import MISSING, clean, count, kind, plain, quoted
from parley.wire.url import LONGEST

_SCHEME: Final = f"{V1}#451-securityscheme"
_FLOWS: Final = f"{V1}#457-oauthflows"
_AUTHENTICATION: Final = f"{V1}#73-client-authentication-process"

WRAPPERS: Final[Mapping[str, str]] = {
    "apiKeySecurityScheme": "apiKey",
    "httpAuthSecurityScheme": "http",
    "oauth2SecurityScheme": "oauth2",
    "openIdConnectSecurityScheme": "openIdConnect",
    "mtlsSecurityScheme": "mutualTLS",
}
"""The five members that a scheme of A2A 1.0 has one of, each with the ``type`` that A2A 0.x has for it."""

_TYPES: Final = {type_: wrapper for wrapper, type_ in WRAPPERS.items()}
_MEANT: Final[Mapping[str, str]] = {
    "apikey": "apiKey",
    "key": "apiKey",
    "http": "http",
    "httpauth": "http",
    "bearer": "http",
    "basic": "http",
    "jwt": "http",
    "token": "http",
    "oauth": "oauth2",
    "oauth2": "oauth2",
    "oauth20": "oauth2",
    "openid": "openIdConnect",
    "oidc": "openIdConnect",
    "openidconnect": "openIdConnect",
    "mtls": "mutualTLS",
    "mutualtls": "mutualTLS",
}
"""What is meant by types as they are misspelt, in small letters and digits."""

_FLOW_NAMES: Final = ("authorizationCode", "clientCredentials", "implicit", "password", "deviceCode")
_DEPRECATED: Final = ("implicit", "password")
_FLOW_MEMBERS: Final[Mapping[View, Mapping[str, tuple[str, ...]]]] = {
    View.V1: {
        "authorizationCode": ("authorizationUrl", "tokenUrl", "scopes"),
        "clientCredentials": ("tokenUrl", "scopes"),
        "deviceCode": ("deviceAuthorizationUrl", "tokenUrl", "scopes"),
    },
    View.V0: {
        "authorizationCode": ("authorizationUrl", "tokenUrl", "scopes"),
        "clientCredentials": ("tokenUrl", "scopes"),
        "implicit": ("authorizationUrl", "scopes"),
        "password": ("tokenUrl", "scopes"),
    },
}
"""The members that each flow must have: A2A 1.0's proto asks nothing of the flows that it deprecates."""

_URLS: Final = ("authorizationUrl", "deviceAuthorizationUrl", "tokenUrl", "refreshUrl")

_REGISTERED: Final = frozenset(
    (
        "basic",
        "bearer",
        "concealed",
        "digest",
        "dpop",
        "gnap",
        "hoba",
        "mutual",
        "negotiate",
        "oauth",
        "privatetoken",
        "scram-sha-1",
        "scram-sha-256",
        "vapid",
    )
)
"""The HTTP authentication schemes that IANA has."""

_NAMES: Final[Mapping[View, str]] = {View.V1: "securityRequirements", View.V0: "security"}


class _Form(NamedTuple):
    """A scheme as the clients of one view read it: of which type, its members, and their place."""

    view: View
    type: str
    path: str
    members: Mapping[str, object]


class _Lack(NamedTuple):
    """A member that is not as it must be: where, what is there, and a word on what to do about it."""

    path: str
    observed: str
    hint: str = ""


class _Named(NamedTuple):
    """A scheme that a requirement names."""

    name: str
    path: str


class _Requirements(NamedTuple):
    """The requirements of one member, as its view reads them: OR of ANDs of names; and what is wrong with them.

    ``is_other`` tells that they are written as the other version has them, and so can be read by a person only.
    """

    view: View
    path: str
    named: list[_Named]
    choices: frozenset[frozenset[str]]
    lacks: list[_Lack]
    is_other: bool


class A2aSecurityRules(A2aEvidence):
    """Whether clients can learn from a card how to authenticate, and whether that leads anywhere."""

    def readable(self) -> Given[CardScheme]:
        """Every security scheme of every card that the clients of a view of the card find something in."""
        return Given(tuple(one for one in self._schemes if self._forms(one)), self._missing())

    def named_document(self) -> Given[Resolved]:
        """What came of the documents that cards name, but for what this auditor may not visit or could not have."""
        given = self.metadata()
        kept: list[Resolved] = []
        missing = given.missing
        for one in given.values:
            reason = None if one.exchange is None else _untellable(one)
            if reason is not None:
                missing = f"{one.exchange.url}: {reason}" if one.exchange is not None else missing
            elif one.exchange is not None:
                kept.append(one)
        return given._replace(values=tuple(kept), missing=missing)

    # Facts.

    @check(
        130,
        title="Schemes that nothing requires",
        when="The card declares security schemes, but no requirement names one.",
        seen="The card {nameOrUrl} at {cardUrl} declares {schemes}, but no {member} that names one.",
        why="Clients learn what they could authenticate by, but not whether they must.",
        recommendation="Say by {member} on {nameOrUrl} which of them clients need.",
        spec=_AUTHENTICATION,
    )
    def check_rule_security_unrequired(self, card: AgentCard) -> Findings:
        """By the name of any version, and of the skills too."""
        declared = card.members.get("securitySchemes")
        holders = [card.members, *(skill.value for skill in card.skills)]
        required = any(holder.get(name) or holder.get(snake(name)) for holder in holders for name in _NAMES.values())
        if isinstance(declared, dict) and declared and not required:
            yield Finding(
                nameOrUrl=card.name_or_url,
                cardUrl=card.url,
                schemes=count(len(declared), "security scheme"),
                member=_NAMES[card.views[-1]],
            )

    @check(
        131,
        title="HTTP authentication scheme of one's own",
        when="The scheme of an http security scheme is a name that IANA's registry does not have.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}, which IANA has not registered.",
        why="It should be registered; clients know no other schemes, and must be written for this one.",
        spec=f"{V1}#453-httpauthsecurityscheme",
    )
    def check_rule_security_registered(self, readable: CardScheme) -> Findings:
        """Letter case does not matter."""
        for form in self._forms(readable):
            value = form.members.get("scheme")
            if form.type == "http" and _is_token(value) and str(value).lower() not in _REGISTERED:
                yield _finding(readable.card, _Lack(f"{form.path}.scheme", quoted(value)))
                return

    # Warnings.

    @check(
        340,
        title="Deprecated OAuth flows",
        when="A scheme offers the implicit or the password flow of OAuth 2.0.",
        seen="{path} of {nameOrUrl} at {cardUrl} offers the {observed} flow.",
        why="A2A 1.0 deprecates both, and so does the security practice for OAuth (RFC 9700): they expose tokens.",
        recommendation="Offer authorizationCode with PKCE on {nameOrUrl} instead (or deviceCode, in A2A 1.0).",
        spec=PROTO,
    )
    def check_rule_security_deprecated(self, readable: CardScheme) -> Findings:
        """Each flow once, though a card for clients of both versions has it twice."""
        told = set()
        for form in self._forms(readable):
            for name in _flows(form):
                if name in _DEPRECATED and name not in told:
                    told.add(name)
                    yield _finding(readable.card, _Lack(f"{form.path}.flows.{name}", name))

    @check(
        341,
        title="Security declared",
        when="The card declares no security scheme, and has an interface with a public https URL.",
        seen="The card {nameOrUrl} at {cardUrl} declares no security scheme, and its agent is at {url}{hint}.",
        why="Either everybody may use the agent, at its owner's expense, or clients are not told how to authenticate.",
        recommendation="Declare by securitySchemes on {nameOrUrl} how clients authenticate, if they must.",
        spec=_AUTHENTICATION,
    )
    def check_rule_security_declared(self, card: AgentCard) -> Findings:
        """Schemes of another type than object are a fault, told there; and so are requirements that name none."""
        declares = has(card.members, "securitySchemes") and card.members.get("securitySchemes") != {}
        if declares or any(one.named for one in _written_requirements(card)):
            return
        for one in card.interfaces:
            is_https = isinstance(one.url, str) and one.url.strip().lower().startswith("https://")
            there = place_of(one.url) if is_https else None
            if there is not None and there.reach is Reach.ANYWHERE:
                url = absolute(one.url) or without_user(str(one.url).strip())
                old = card.members.get("authentication") is not None
                hint = " (authentication, which it has, is of A2A 0.1)" if old else ""
                yield Finding(nameOrUrl=card.name_or_url, cardUrl=card.url, url=url, hint=Composed(hint))
                return

    @check(
        342,
        title="Requirements under the other version's name",
        when="A card of A2A 1.0 has security, or one of 0.x securityRequirements, and not its own version's member.",
        seen="{path} of {nameOrUrl} at {cardUrl} is read by clients of {other} only, and the card is of {own}.",
        why=(
            "Clients do not know the member, and take the agent for one without requirements. The sample card of A2A "
            "1.0 (section 8.5) has security, but its data model has securityRequirements."
        ),
        recommendation="Write {instead} on {nameOrUrl} for {path}, in the form of {own}.",
        spec=PROTO,
    )
    def check_rule_security_other_name(self, card: AgentCard) -> Findings:
        """Of the card and of each skill; all skills in one finding."""
        own, other = card.views[0], _other(card.views[0])
        if found := [place for place, _ in _misnamed(card)]:
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            yield Finding(
                path=Composed(f"{found[0]}{_NAMES[other]}{more}"),
                nameOrUrl=card.name_or_url,
                cardUrl=card.url,
                other=f"A2A {other.value}",
                own=f"A2A {card.shape.value}",
                instead=_NAMES[own],
            )

    @check(
        343,
        title="Requirements of both views",
        when="A card for clients of A2A 1.0 and 0.x requires other schemes of the first than of the second.",
        seen="The card {nameOrUrl} at {cardUrl} requires {newer} by securityRequirements, and {older} by security.",
        why="Clients of one version are sent away, or let in without what the others need.",
        recommendation="Say the same by securityRequirements and by security on {nameOrUrl}.",
        spec=f"{V1}#appendix-a-migration--legacy-compatibility",
    )
    def check_rule_security_views(self, hybrid: AgentCard) -> Findings:
        """By the names; scopes may well differ."""
        newer, older = (_requirements(hybrid.members, view, "", set()) for view in (View.V1, View.V0))
        if newer.choices != older.choices and not (newer.lacks and not newer.is_other) and not older.lacks:
            yield Finding(
                nameOrUrl=hybrid.name_or_url,
                cardUrl=hybrid.url,
                newer=Composed(_choices(newer.choices)),
                older=Composed(_choices(older.choices)),
            )

    @check(
        344,
        title="Security for clients of one version only",
        when="A card for clients of A2A 1.0 and 0.x has a scheme or requirements that only one of the two can read.",
        seen="{path} of {nameOrUrl} at {cardUrl} is written as in A2A {observed}; clients of {hint} cannot read it.",
        why="They do not learn how to authenticate, though the card is meant for them too.",
        recommendation="Write {path} on {nameOrUrl} in both forms, beside each other.",
        spec=f"{V1}#appendix-a-migration--legacy-compatibility",
    )
    def check_rule_security_one_dialect(self, hybrid: AgentCard) -> Findings:
        """An object may have the members of both."""
        for scheme in hybrid.schemes:
            views = {form.view for form in self._forms(CardScheme(hybrid, scheme))}
            if len(views) == 1 and not _has_other_type(scheme):
                view = next(iter(views))
                yield _finding(hybrid, _Lack(scheme.path, view.value, _other(view).value))
        for one in _all_requirements(hybrid):
            if one.is_other:
                yield _finding(hybrid, _Lack(one.path, _other(one.view).value, one.view.value))

    @check(
        345,
        title="Null in security schemes",
        when="securitySchemes, or a member of a security scheme that need not be there, is null.",
        seen="The card {nameOrUrl} at {cardUrl} has members that are null: {members}.",
        why="A2A has no null: several clients refuse the card for it.",
        recommendation="Leave {members} out of {nameOrUrl}.",
        spec=f"{V1}#57-field-presence-and-optionality",
    )
    def check_rule_security_null(self, card: AgentCard) -> Findings:
        """All in one finding. A required member that is null is told as missing; so are schemes that are required."""
        found: list[str] = []
        if "securitySchemes" in card.members and card.members["securitySchemes"] is None:
            found += [] if any(one.named for one in _written_requirements(card)) else ["securitySchemes"]
        found += [path for scheme in card.schemes for path in _nulls(scheme)]
        if found:
            yield Finding(nameOrUrl=card.name_or_url, cardUrl=card.url, members=listed(found))

    @check(
        346,
        title="OAuth without a flow",
        when="An OAuth scheme of A2A 0.x has flows, but none that A2A knows.",
        seen="{path} of {nameOrUrl} at {cardUrl} has no flow that A2A 0.x knows{hint}.",
        why="The schema allows it, but clients do not learn how to get a token.",
        recommendation="Add a flow to {path} on {nameOrUrl}, such as authorizationCode.",
        spec=SCHEMA_0_3,
    )
    def check_rule_security_no_flow(self, readable: CardScheme) -> Findings:
        """The URL of the authorization server's metadata will do."""
        for form in self._forms(readable):
            flows = form.members.get("flows")
            if form.view is not View.V0 or form.type != "oauth2" or not isinstance(flows, dict):
                continue
            known = [name for name in _flows(form) if name != "deviceCode"]
            if not known and not form.members.get("oauth2MetadataUrl"):
                names = ", ".join(plain(name) for name in list(flows)[:4])
                hint = f" (there is {names})" if flows else ""
                yield _finding(readable.card, _Lack(f"{form.path}.flows", "", hint))

    @check(
        349,
        title="OAuth URLs can be reached",
        when="A URL of a security scheme is on a host that whoever reads the card cannot reach.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}, {hint}.",
        why="Clients elsewhere cannot get a token there.",
        recommendation="Set {path} on {nameOrUrl} to a URL that clients can reach from outside.",
        spec=_SCHEME,
    )
    def check_rule_security_reach(self, readable: CardScheme) -> Findings:
        """A card that is served on one's own machine or network may name what is there."""
        for path, value, there in self._urls(readable):
            if there is not None and there.reach is not Reach.ANYWHERE:
                here = place_of(readable.card.url)
                if not (here and is_within(there, here)):
                    yield _finding(readable.card, _Lack(path, quoted(value), there.kind))

    # Faults.

    @check(
        440,
        title="Security schemes are an object",
        when="securitySchemes is there, but no object.",
        seen="The card {nameOrUrl} at {cardUrl} has securitySchemes that are {observed}, not an object.",
        why="Requirements name schemes by their keys in it; clients that read by the data model refuse the card.",
        recommendation="Make securitySchemes on {nameOrUrl} an object: a name for each scheme.",
        spec=f"{V1}#441-agentcard",
    )
    def check_rule_security_schemes_object(self, card: AgentCard) -> Findings:
        """Null is told as such."""
        declared = card.members.get("securitySchemes")
        if declared is not None and not isinstance(declared, dict):
            yield Finding(nameOrUrl=card.name_or_url, cardUrl=card.url, observed=kind(declared))

    @check(
        441,
        title="A scheme is an object",
        when="An entry of securitySchemes, or the one member of it in A2A 1.0, is no object.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}, not an object.",
        why="Clients cannot read the scheme, and so not authenticate.",
        recommendation="Describe the scheme by an object on {nameOrUrl}, or remove it.",
        spec=_SCHEME,
    )
    def check_rule_security_scheme_object(self, scheme: CardScheme) -> Findings:
        """Null, too."""
        value = scheme.scheme.value
        if not isinstance(value, dict):
            yield _finding(scheme.card, _Lack(scheme.scheme.path, kind(value)))
        elif View.V1 in scheme.card.views:
            for name in WRAPPERS:
                if value.get(name) is not None and not isinstance(value[name], dict):
                    yield _finding(scheme.card, _Lack(f"{scheme.scheme.path}.{name}", kind(value[name])))

    @check(
        442,
        title="An SDK's own form of a scheme",
        when='A scheme is {"scheme": {"$case": ...}}: how the JavaScript SDK holds it in memory.',
        seen="{path} of {nameOrUrl} at {cardUrl} is the JavaScript SDK's own form of a scheme ($case: {observed}).",
        why=(
            "The SDK (@a2a-js/sdk) serves the card as it is in memory, which is not the JSON of A2A: no other client "
            "finds a scheme in it."
        ),
        recommendation="Serve what AgentCard.toJSON(card) of the SDK gives for {nameOrUrl}; then {path} is {instead}.",
        spec=_SCHEME,
    )
    def check_rule_security_case(self, scheme: CardScheme) -> Findings:
        """Whatever is in it."""
        if (case := _case(scheme.scheme.value)) is not None:
            wrapper = case if case in WRAPPERS else "httpAuthSecurityScheme"
            yield _finding(
                scheme.card,
                _Lack(scheme.scheme.path, quoted(case)),
                instead=Composed(f'{{"{wrapper}": {{...}}}}'),
            )

    @check(
        443,
        title="A scheme of A2A 0.x in a card of 1.0",
        when="A scheme in a card of A2A 1.0 has a type, as OpenAPI and A2A 0.x have it, and none of 1.0's members.",
        seen="{path} of {nameOrUrl} at {cardUrl} is written as A2A 0.x has it (type: {observed}).",
        why="Clients of A2A 1.0 find no scheme in it, and cannot authenticate.",
        recommendation="Write {path} on {nameOrUrl} as {instead}.",
        spec=_SCHEME,
    )
    def check_rule_security_openapi(self, scheme: CardScheme) -> Findings:
        """In a card for clients of both, it is one for clients of 0.x."""
        value = scheme.scheme.value
        if scheme.card.shape is not Shape.V1 or not _is_bare(value) or not isinstance(value, dict):
            return
        if "type" in value:
            yield _finding(
                scheme.card,
                _Lack(scheme.scheme.path, quoted(value["type"])),
                instead=Composed(_in_1(value)),
            )

    @check(
        444,
        title="Exactly one kind of scheme",
        when="A scheme in a card of A2A 1.0 has none of the five members that say what it is, or several.",
        seen="{path} of {nameOrUrl} at {cardUrl} has {observed}{hint}.",
        why="Clients cannot tell how to authenticate, and those that read by the data model refuse the card.",
        recommendation=f"Give {{path}} on {{nameOrUrl}} exactly one of {', '.join(WRAPPERS)}.",
        spec=_SCHEME,
    )
    def check_rule_security_exactly_one(self, scheme: CardScheme) -> Findings:
        """The forms that are told by their name are not told here."""
        value = scheme.scheme.value
        if View.V1 not in scheme.card.views or not isinstance(value, dict):
            return
        found = [name for name in WRAPPERS if value.get(name) is not None]
        if len(found) > 1:
            yield _finding(scheme.card, _Lack(scheme.scheme.path, " and ".join(found)))
        elif not found and "type" not in value and _case(value) is None:
            observed = "none of the members that say what it is"
            yield _finding(scheme.card, _Lack(scheme.scheme.path, observed, _unwrapped(value)))

    @check(
        445,
        title="Type of a 0.x scheme",
        when="A scheme in a card of A2A 0.x has no type, or none that A2A knows.",
        seen="{path} of {nameOrUrl} at {cardUrl} has the type {observed}{hint}.",
        why="Clients of A2A 0.x tell by it how to authenticate, and refuse a card with another.",
        recommendation=f"Set type on {{path}} of {{nameOrUrl}} to one of {', '.join(_TYPES)}.",
        spec=SCHEMA_0_3,
    )
    def check_rule_security_type(self, scheme: CardScheme) -> Findings:
        """In a card for clients of both versions, a scheme without a type is one for clients of 1.0."""
        value = scheme.scheme.value
        if View.V0 not in scheme.card.views or not isinstance(value, dict) or _is_type(value.get("type")):
            return
        if "type" not in value and len(scheme.card.views) > 1:
            return
        type_ = value.get("type")
        if type_ is None:
            wrapper = next((name for name in WRAPPERS if value.get(name) is not None), None)
            hint = f"; {wrapper} is how A2A 1.0 has it" if wrapper else ""
            if _case(value) is not None:
                return
        else:
            meant = _MEANT.get(re.sub(r"[^a-z0-9]", "", type_[:40].lower())) if isinstance(type_, str) else None
            hint = f" (is {meant} meant?)" if meant else ""
        observed = MISSING if type_ is None else quoted(type_)
        yield _finding(scheme.card, _Lack(scheme.scheme.path, observed, hint))

    @check(
        446,
        title="API key scheme",
        when="An API key scheme does not say where the key goes (location; in, in A2A 0.x), or lacks its name.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}{hint}.",
        why="Clients must know whether the key goes in a header, the query or a cookie, and under which name.",
        recommendation="Set {path} on {nameOrUrl}: a place is header, query or cookie.",
        spec=f"{V1}#452-apikeysecurityscheme",
    )
    def check_rule_security_api_key(self, readable: CardScheme) -> Findings:
        """The place is one of three words."""
        for form in self._forms(readable):
            if form.type == "apiKey":
                for lack in _api_key_lacks(form):
                    yield _finding(readable.card, lack)

    @check(
        447,
        title="HTTP scheme",
        when="An HTTP scheme does not say which, such as Bearer, or says what can be no name of one.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}{hint}.",
        why="It is the word that clients write into the Authorization header.",
        recommendation="Set {path} on {nameOrUrl} to the name of an HTTP authentication scheme, such as Bearer.",
        spec=f"{V1}#453-httpauthsecurityscheme",
    )
    def check_rule_security_http(self, readable: CardScheme) -> Findings:
        """A token, by RFC 9110."""
        for form in self._forms(readable):
            if form.type != "http":
                continue
            path, value = f"{form.path}.scheme", form.members.get("scheme")
            if isinstance(value, str) and value.strip():
                if not _is_token(value):
                    yield _finding(readable.card, _Lack(path, quoted(value), ", which can be no name of a scheme"))
            else:
                hint = "; bearerFormat alone does not say it" if form.members.get("bearerFormat") is not None else ""
                yield _finding(readable.card, _Lack(path, _seen(form.members, "scheme"), hint))

    @check(
        448,
        title="OpenID Connect URL",
        when="An OpenID Connect scheme has no openIdConnectUrl, or it is no absolute http(s) URL.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}{hint}.",
        why="All else about the provider is in the document that it names.",
        recommendation="Set {path} on {nameOrUrl} to the URL of the provider's openid-configuration.",
        spec=f"{V1}#455-openidconnectsecurityscheme",
    )
    def check_rule_security_openid(self, readable: CardScheme) -> Findings:
        """Whether it leads anywhere is judged by what came of asking."""
        for form in self._forms(readable):
            if form.type == "openIdConnect":
                lack = _url_lack(form.members, "openIdConnectUrl", form.path)
                if lack is not None:
                    yield _finding(readable.card, lack)

    @check(
        449,
        title="OAuth flows",
        when="An OAuth scheme has no flows object; in A2A 1.0 also if it has no flow that A2A knows, or several.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}{hint}.",
        why="Clients learn from it how to get a token. In A2A 1.0 a scheme has exactly one flow.",
        recommendation="Give {path} on {nameOrUrl} one flow; describe each further one by a scheme of its own.",
        spec=_FLOWS,
    )
    def check_rule_security_flows(self, readable: CardScheme) -> Findings:
        """A2A 0.x allows several, and has no deviceCode."""
        for form in self._forms(readable):
            if form.type != "oauth2":
                continue
            path, flows = f"{form.path}.flows", form.members.get("flows")
            if not isinstance(flows, dict):
                yield _finding(readable.card, _Lack(path, _seen(form.members, "flows", "an object")))
            elif form.view is View.V1:
                known = _flows(form)
                if len(known) > 1:
                    yield _finding(readable.card, _Lack(path, " and ".join(known), ": several flows"))
                elif not known:
                    yield _finding(readable.card, _Lack(path, "without a flow that A2A knows", _no_flow(flows)))

    @check(
        450,
        title="Members of an OAuth flow",
        when="An OAuth flow lacks a URL or the scopes that it must have, or a URL of it is no absolute http(s) URL.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}{hint}.",
        why="Clients cannot get a token without them.",
        recommendation="Set {path} on {nameOrUrl}.",
        spec=_FLOWS,
    )
    def check_rule_security_flow_members(self, readable: CardScheme) -> Findings:
        """What may be absent may be empty, too: an SDK writes empty texts for it."""
        for form in self._forms(readable):
            if form.type == "oauth2":
                for lack in _flow_lacks(form):
                    yield _finding(readable.card, lack)

    @check(
        451,
        title="Form of requirements",
        when="securityRequirements or security is no array of requirements as the card's version has them.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}{hint}.",
        why="Clients cannot tell what they need, and those that read by the data model refuse the card.",
        recommendation="Write {path} on {nameOrUrl} as {instead}.",
        spec=PROTO,
    )
    def check_rule_security_requirements(self, card: AgentCard) -> Findings:
        """In a card for clients of both versions, the other version's form is told as such."""
        for one in _all_requirements(card):
            instead = '[{"schemes": {"<scheme>": {"list": []}}}]' if one.view is View.V1 else '[{"<scheme>": []}]'
            if not (one.is_other and len(card.views) > 1):
                for lack in one.lacks[:1]:
                    yield _finding(card, lack, instead=Composed(instead))

    @check(
        452,
        title="Requirements name declared schemes",
        when="A requirement of the card or of a skill names a scheme that securitySchemes does not have.",
        seen="{path} of {nameOrUrl} at {cardUrl} names {observed}, which securitySchemes does not have{hint}.",
        why="Clients are asked for something that nothing describes, and cannot authenticate.",
        recommendation="Declare {observed} in securitySchemes on {nameOrUrl}, or correct {path}.",
        spec=f"{V1}#441-agentcard",
    )
    def check_rule_security_undeclared(self, card: AgentCard) -> Findings:
        """Each name once; also where requirements stand under the other version's name alone."""
        declared = card.members.get("securitySchemes")
        is_respelt = declared is None and has(card.members, "securitySchemes")
        if is_respelt or (declared is not None and not isinstance(declared, dict)):
            return  # told there
        places: dict[str, list[str]] = {}
        for one in _written_requirements(card):
            for named in one.named:
                if named.name not in (declared or {}):
                    places.setdefault(named.name, []).append(named.path)
        nothing = ": it is null" if "securitySchemes" in card.members and declared is None else ": there is none"
        for name, paths in places.items():
            more = f" (and {len(paths) - 1} more)" if len(paths) > 1 else ""
            known = f"; it has {', '.join(plain(key) for key in list(declared)[:4])}" if declared else nothing
            yield Finding(
                path=Composed(paths[0] + more),
                nameOrUrl=card.name_or_url,
                cardUrl=card.url,
                observed=quoted(name),
                hint=Composed(known),
            )

    @check(
        453,
        title="Named documents are there",
        when="An openIdConnectUrl or oauth2MetadataUrl leads to no document with an issuer or authorization endpoint.",
        seen="{path} of {nameOrUrl} at {cardUrl} names {url}, which {observed}{hint}.",
        why="Clients read there how to get a token; without it they cannot authenticate.",
        recommendation="Set {path} on {nameOrUrl} to the URL of the provider's metadata, and see that it is served.",
        spec=_SCHEME,
    )
    def check_rule_security_metadata(self, named_document: Resolved) -> Findings:
        """A bot wall, a rate limit or a place that may not be visited says nothing."""
        problem = _dead(named_document)
        if problem is not None:
            observed, hint = problem
            yield Finding(
                path=named_document.reference.path,
                nameOrUrl=named_document.card.name_or_url,
                cardUrl=named_document.card.url,
                url=named_document.reference.url,
                observed=Composed(observed),
                hint=Composed(hint),
            )

    @check(
        454,
        title="OAuth URLs over https",
        when="A URL of an OAuth or OpenID Connect scheme is http, on a public host.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}, not https.",
        why="Codes and tokens go there: OAuth requires encryption, and so does A2A for the metadata.",
        recommendation="Set {path} on {nameOrUrl} to an https URL.",
        spec=_FLOWS,
    )
    def check_rule_security_https(self, readable: CardScheme) -> Findings:
        """Each URL once."""
        for path, value, there in self._urls(readable):
            if value.strip().lower().startswith("http://") and there is not None and there.reach is Reach.ANYWHERE:
                yield _finding(readable.card, _Lack(path, quoted(value)))

    @check(
        455,
        title="Types in a security scheme",
        when="A member that a security scheme may have is of another type than A2A has it, or a scope's text is none.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {observed}{hint}.",
        why="Clients that read cards by the data model refuse the whole card.",
        recommendation="Correct {path} on {nameOrUrl}, or leave it out.",
        spec=_SCHEME,
    )
    def check_rule_security_types(self, readable: CardScheme) -> Findings:
        """Each place once; null is told as such."""
        told = set()
        for form in self._forms(readable):
            for lack in _wrong_types(form):
                if lack.path not in told:
                    told.add(lack.path)
                    yield _finding(readable.card, lack)

    # Reading: a card may have tens of thousands of schemes, and ten rules ask for the same of each.

    @cached_property
    def _read_forms(self) -> dict[int, list[_Form]]:
        """By the identity of a card's scheme, which lives as long as the card."""
        return {id(one.scheme): _forms(one) for one in self._schemes}

    @cached_property
    def _read_urls(self) -> dict[int, list[tuple[str, str, Place | None]]]:
        return {
            id(one.scheme): [(path, value, place_of(value)) for path, value in _urls(forms)]
            for one in self._schemes
            if (forms := self._forms(one))
        }

    def _forms(self, scheme: CardScheme) -> list[_Form]:
        return self._read_forms[id(scheme.scheme)]

    def _urls(self, scheme: CardScheme) -> list[tuple[str, str, Place | None]]:
        """The URLs of a scheme, with their places in the card, and where their hosts are."""
        return self._read_urls.get(id(scheme.scheme), [])


# Schemes.


def _forms(scheme: CardScheme) -> list[_Form]:
    """A scheme as each view's clients read it; none where they find nothing that can be read."""
    value = scheme.scheme.value
    found: list[_Form] = []
    if not isinstance(value, dict):
        return found
    path = scheme.scheme.path
    if View.V1 in scheme.card.views:
        wrapped = [(name, value[name]) for name in WRAPPERS if value.get(name) is not None]
        if len(wrapped) == 1 and isinstance(wrapped[0][1], dict):
            name, members = wrapped[0]
            found.append(_Form(View.V1, WRAPPERS[name], f"{path}.{name}", members))
    if View.V0 in scheme.card.views and _is_type(type_ := value.get("type")):
        found.append(_Form(View.V0, str(type_), path, value))
    return found


def _is_type(type_: object) -> bool:
    return isinstance(type_, str) and type_ in _TYPES


def _case(value: object) -> str | None:
    """The kind that a leaked union of the JavaScript SDK names."""
    match value:
        case {"scheme": {"$case": str(case)}}:
            return case
    return None


def _is_bare(value: object) -> bool:
    """Whether a scheme has none of A2A 1.0's members, and is no leaked union."""
    return (
        isinstance(value, dict) and not any(value.get(name) is not None for name in WRAPPERS) and _case(value) is None
    )


def _has_other_type(scheme: Scheme) -> bool:
    """Whether a scheme has a type that A2A 0.x does not know: that is told there."""
    return (
        isinstance(scheme.value, dict) and scheme.value.get("type") is not None and not _is_type(scheme.value["type"])
    )


def _unwrapped(value: Mapping[str, object]) -> str:
    """What a scheme without a kind looks like."""
    for name in WRAPPERS:
        if name in value:
            return f" ({name} is null)"
        if value.get(snake(name)) is not None:
            return f" ({snake(name)} is spelled as Protocol Buffers have it: {name} in JSON)"
    for member, name in (
        ("openIdConnectUrl", "openIdConnectSecurityScheme"),
        ("flows", "oauth2SecurityScheme"),
        ("location", "apiKeySecurityScheme"),
        ("in", "apiKeySecurityScheme"),
        ("scheme", "httpAuthSecurityScheme"),
        ("bearerFormat", "httpAuthSecurityScheme"),
    ):
        if value.get(member) is not None:
            return f" ({member} belongs into an object {name})"
    shown = ", ".join(plain(name) for name in list(value)[:4])
    return f" (its members: {shown})" if shown else " (it is empty)"


def _in_1(value: Mapping[str, object]) -> str:
    """How A2A 1.0 would have a scheme of 0.x."""
    type_ = value.get("type")
    word = re.sub(r"[^a-z0-9]", "", type_[:40].lower()) if isinstance(type_, str) else ""
    wrapper = _TYPES.get(_MEANT.get(word, ""), "")
    if wrapper == "apiKeySecurityScheme":
        return f'{{"{wrapper}": {{"location": {_json(value.get("in"))}, "name": {_json(value.get("name"))}}}}}'
    if wrapper == "httpAuthSecurityScheme":
        return f'{{"{wrapper}": {{"scheme": {_json(value.get("scheme"))}}}}}'
    return f'{{"{wrapper or "httpAuthSecurityScheme"}": {{...}}}}'


def _json(value: object) -> str:
    return f'"{clean(value, 40)}"' if isinstance(value, str) else '"..."'


def _is_token(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}", value) is not None


def _seen(members: Mapping[str, object], name: str, wanted: str = "a string") -> str:
    """What is there instead of what must be."""
    value = members.get(name)
    if value is None:
        return "null" if name in members else MISSING.strip("()")
    return "blank" if isinstance(value, str) and not value.strip() else f"{kind(value)}, not {wanted}"


def _api_key_lacks(form: _Form) -> Iterator[_Lack]:
    name, other = ("location", "in") if form.view is View.V1 else ("in", "location")
    value = form.members.get(name)
    if value not in ("query", "header", "cookie"):
        if isinstance(value, str) and value.strip():
            yield _Lack(f"{form.path}.{name}", quoted(value), ", not header, query or cookie")
        else:
            has_other = value is None and form.members.get(other) is not None
            own = "1.0" if form.view is View.V1 else "0.x"
            hint = f" (there is {other}; A2A {own} calls it {name})" if has_other else ""
            yield _Lack(f"{form.path}.{name}", _seen(form.members, name), hint)
    value = form.members.get("name")
    if not (isinstance(value, str) and value.strip()):
        yield _Lack(f"{form.path}.name", _seen(form.members, "name"))


def _flows(form: _Form) -> list[str]:
    """The flows that a scheme has, of those that A2A knows."""
    flows = form.members.get("flows") if form.type == "oauth2" else None
    return [name for name in _FLOW_NAMES if flows.get(name) is not None] if isinstance(flows, dict) else []


def _no_flow(flows: Mapping[str, object]) -> str:
    if "$case" in flows or "flow" in flows:
        return "; it is the JavaScript SDK's own form of one"
    for name in _FLOW_NAMES:
        if flows.get(snake(name)) is not None:
            return f"; {snake(name)} is spelled as Protocol Buffers have it: {name} in JSON"
    shown = ", ".join(plain(name) for name in list(flows)[:4] if flows[name] is not None)
    return f" (there is {shown})" if shown else ""


def _flow_lacks(form: _Form) -> Iterator[_Lack]:
    flows = form.members.get("flows")
    for name in _flows(form):
        flow = flows.get(name) if isinstance(flows, dict) else None
        path = f"{form.path}.flows.{name}"
        if not isinstance(flow, dict):
            yield _Lack(path, f"{kind(flow)}, not an object")
            continue
        required = _FLOW_MEMBERS[form.view].get(name, ())
        for member in _URLS:
            value = flow.get(member)
            is_due = member in required or (value is not None and value != "")
            if is_due and (lack := _url_lack(flow, member, path)) is not None:
                yield lack
        scopes = flow.get("scopes")
        if scopes is None and "scopes" in required:
            hint = "; {} if there are none" if form.view is View.V0 else "; SDKs leave it out when it is empty"
            yield _Lack(f"{path}.scopes", _seen(flow, "scopes"), hint)
        elif scopes is not None and not isinstance(scopes, dict):
            yield _Lack(f"{path}.scopes", f"{kind(scopes)}, not an object", " of scopes and what they are for")
    value = form.members.get("oauth2MetadataUrl")
    is_there = value is not None and value != ""
    if is_there and (lack := _url_lack(form.members, "oauth2MetadataUrl", form.path)) is not None:
        yield lack


def _wrong_types(form: _Form) -> Iterator[_Lack]:
    """What a scheme and its flows may have, where it is there; URLs are judged as such."""
    texts = ("description", "bearerFormat") if form.type == "http" else ("description",)
    for name in texts:
        if (value := form.members.get(name)) is not None and not isinstance(value, str):
            yield _Lack(f"{form.path}.{name}", f"{kind(value)}, not a string")
    flows = form.members.get("flows")
    for flow_name in _flows(form):
        flow = flows.get(flow_name) if isinstance(flows, dict) else None
        if not isinstance(flow, dict):
            continue
        path = f"{form.path}.flows.{flow_name}"
        pkce = flow.get("pkceRequired")
        if form.view is View.V1 and pkce is not None and not isinstance(pkce, bool):
            yield _Lack(f"{path}.pkceRequired", f"{kind(pkce)}, not a boolean")
        scopes = flow.get("scopes")
        for scope, text in scopes.items() if isinstance(scopes, dict) else ():
            if not isinstance(text, str):
                yield _Lack(f"{path}.scopes.{clean(scope, 80)}", f"{kind(text)}, not a string")


def _url_lack(members: Mapping[str, object], name: str, path: str) -> _Lack | None:
    value = members.get(name)
    if not isinstance(value, str) or not value.strip():
        hint = f" (there is {snake(name)})" if value is None and members.get(snake(name)) is not None else ""
        return _Lack(f"{path}.{name}", _seen(members, name), hint)
    if absolute(value) is None and len(value) <= LONGEST:
        return _Lack(f"{path}.{name}", quoted(value), ", which is no absolute http(s) URL")
    return None


def _urls(forms: Iterable[_Form]) -> Iterator[tuple[str, str]]:
    """The URLs of a scheme that are texts, with their places; each once, though both views may have it."""
    told = set()
    for form in forms:
        holders: list[tuple[str, Mapping[str, object], tuple[str, ...]]] = []
        if form.type in ("oauth2", "openIdConnect"):
            holders.append((form.path, form.members, ("openIdConnectUrl", "oauth2MetadataUrl")))
        flows = form.members.get("flows")
        for name in _flows(form):
            if isinstance(flows, dict) and isinstance(flow := flows.get(name), dict):
                holders.append((f"{form.path}.flows.{name}", flow, _URLS))
        for path, holder, names in holders:
            for name in names:
                if isinstance(value := holder.get(name), str) and value not in told and absolute(value) is not None:
                    told.add(value)
                    yield f"{path}.{name}", value


_OPTIONAL: Final = frozenset(
    ("description", "bearerFormat", "refreshUrl", "oauth2MetadataUrl", "pkceRequired", *WRAPPERS, *_FLOW_NAMES)
)


def _nulls(scheme: Scheme) -> Iterator[str]:
    """The members of a scheme, of what wraps it, and of its flows, that are null and need not be there."""
    if not isinstance(scheme.value, dict):
        return
    names = _OPTIONAL
    if _is_bare(scheme.value) and "type" not in scheme.value:
        names -= set(WRAPPERS)  # a scheme of no kind is told as such
    holders = [(scheme.path, scheme.value)]
    holders += [(f"{scheme.path}.{name}", one) for name in WRAPPERS if isinstance(one := scheme.value.get(name), dict)]
    for path, holder in list(holders):
        if isinstance(flows := holder.get("flows"), dict):
            holders.append((f"{path}.flows", flows))
            holders += [
                (f"{path}.flows.{name}", one) for name in _FLOW_NAMES if isinstance(one := flows.get(name), dict)
            ]
    for path, holder in holders:
        yield from (f"{path}.{name}" for name, value in holder.items() if value is None and name in names)


# Requirements.


def _other(view: View) -> View:
    return View.V0 if view is View.V1 else View.V1


def _all_requirements(card: AgentCard) -> Iterator[_Requirements]:
    """Those of the card and of its skills, as its clients read them."""
    declared = card.members.get("securitySchemes")
    names = set(declared) if isinstance(declared, dict) else set()
    for view in card.views:
        for place, holder in (("", card.members), *((f"{skill.path}.", skill.value) for skill in card.skills)):
            if holder.get(_NAMES[view]) is not None:
                yield _requirements(holder, view, place, names)


def _misnamed(card: AgentCard) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Where a card for clients of one version has requirements under the other version's name alone."""
    if len(card.views) > 1:
        return
    own, other = _NAMES[card.views[0]], _NAMES[_other(card.views[0])]
    for place, holder in (("", card.members), *((f"{skill.path}.", skill.value) for skill in card.skills)):
        if holder.get(other) and not holder.get(own):
            yield place, holder


def _written_requirements(card: AgentCard) -> Iterator[_Requirements]:
    """Those that its clients read, and those under the other version's name alone, which were meant for them."""
    yield from _all_requirements(card)
    declared = card.members.get("securitySchemes")
    names = set(declared) if isinstance(declared, dict) else set()
    for place, holder in _misnamed(card):
        yield _requirements(holder, _other(card.views[0]), place, names)


def _requirements(holder: Mapping[str, object], view: View, place: str, declared: set[str]) -> _Requirements:
    path = place + _NAMES[view]
    listed = holder.get(_NAMES[view])
    named: list[_Named] = []
    choices: set[frozenset[str]] = set()
    lacks: list[_Lack] = []
    others = 0
    if listed is not None and not isinstance(listed, list):
        lacks.append(_Lack(path, f"{kind(listed)}, not an array"))
    for index, one in enumerate(listed if isinstance(listed, list) else []):
        here = f"{path}[{index}]"
        if not isinstance(one, dict):
            lacks.append(_Lack(here, f"{kind(one)}, not an object"))
            continue
        names, in_1, lack = _read(one, view, here, declared)
        if lack is not None:
            lacks.append(lack)
            others += in_1 is not (view is View.V1)
        named += [_Named(name, here) for name in names]
        choices.add(frozenset(names))
    choices -= {frozenset()} if len(choices) == 1 else set()  # as good as no requirement
    return _Requirements(view, path, named, frozenset(choices), lacks, bool(lacks) and others == len(lacks))


def _read(
    one: Mapping[str, object], view: View, here: str, declared: set[str]
) -> tuple[Mapping[str, object], bool, _Lack | None]:
    """The schemes that a requirement names, whether it is written as A2A 1.0 has it, and what is wrong with it."""
    newer = one.get("schemes")
    if view is View.V1:
        if isinstance(newer, dict):
            return newer, True, _wrong_in_1(newer, here)
        if newer is not None:
            return {}, True, _Lack(f"{here}.schemes", f"{kind(newer)}, not an object")
        if not one or "schemes" in one:
            return {}, True, None  # nothing is required, as Protocol Buffers write it
        if all(isinstance(scopes, list) for scopes in one.values()):
            return one, False, _Lack(here, "written as A2A 0.x has it, not 1.0")
        return {}, True, _Lack(here, "an object without schemes")
    if isinstance(newer, dict) and "schemes" not in declared:
        return newer, True, _Lack(here, "written as A2A 1.0 has it, not 0.x")
    for name, scopes in one.items():
        path = f"{here}.{clean(name, 80)}"
        if not isinstance(scopes, list):
            return one, False, _Lack(path, f"{kind(scopes)}, not an array")
        if not all(isinstance(scope, str) for scope in scopes):
            return one, False, _Lack(path, "no array of strings")
    return one, False, None


def _wrong_in_1(schemes: Mapping[str, object], here: str) -> _Lack | None:
    """The first scheme in a requirement of A2A 1.0 whose scopes are none; an SDK leaves an empty list of them out."""
    for name, value in schemes.items():
        path = f"{here}.schemes.{clean(name, 80)}"
        if not isinstance(value, dict):
            hint = ', where A2A 1.0 has {"list": []}' if isinstance(value, list) else ""
            return _Lack(path, f"{kind(value)}, not an object", hint)
        scopes = value.get("list")
        if scopes is not None and not (isinstance(scopes, list) and all(isinstance(scope, str) for scope in scopes)):
            return _Lack(f"{path}.list", "no array of strings")
    return None


def _choices(choices: frozenset[frozenset[str]]) -> str:
    """Requirements in words: ``bearer or key and mtls``."""
    if not choices:
        return "nothing"
    told = sorted(
        " and ".join(sorted(quoted(name) for name in list(one)[:4])) or "nothing" for one in list(choices)[:50]
    )
    return " or ".join(told[:4]) + (" or ..." if len(choices) > 4 else "")


# Documents that schemes name.

_NOT_ITS_OWN: Final = (403, 421, 429, 502, 503, 504)
"""Statuses that say little about who else would be answered, or when."""


def _untellable(one: Resolved) -> str | None:
    """Why nothing follows from what came of asking for a document."""
    exchange = one.exchange
    if exchange is None:
        return None
    here, there = place_of(one.card.url), place_of(exchange.url)
    if here is not None and there is not None and not is_within(there, here):
        return f"is on {there.kind}"
    failed = None if exchange.failure is None else exchange.failure.code
    if exchange.failure is not None and failed in (FailureCode.REFUSED, FailureCode.TOO_LARGE, FailureCode.REDIRECTS):
        return clean(exchange.failure.reason, 300)
    return f"answered {exchange.status}" if exchange.answered in _NOT_ITS_OWN else None


def _dead(one: Resolved) -> tuple[str, str] | None:
    """Why a document is none of a provider, and a hint; None if it is one."""
    exchange = one.exchange
    if exchange is None:
        return None
    if exchange.failure is not None:
        return f"gave no answer: {clean(exchange.failure.reason, 300)}", ""
    hint = ""
    if one.reference.purpose is Purpose.OPENID and "/.well-known/" not in exchange.url:
        hint = "; a provider's document is at /.well-known/openid-configuration below its issuer"
    if exchange.status != 200:
        return f"answered {exchange.status}", hint
    parsed = strict_json.parse(exchange.body)
    if isinstance(parsed, NotJson):
        if parsed.is_beyond:
            return None
        is_page = is_html(exchange.header("content-type"), exchange.body)
        return ("is a web page" if is_page else "is no JSON"), hint
    if not isinstance(parsed.value, dict):
        return f"is {kind(parsed.value)}, not a JSON object", hint
    named = (parsed.value.get(name) for name in ("issuer", "authorization_endpoint"))
    if not any(isinstance(value, str) and value.strip() for value in named):
        return "has neither an issuer nor an authorization_endpoint", hint
    return None


def _finding(card: AgentCard, lack: _Lack, **values: object) -> Finding:
    return Finding(
        path=lack.path,
        nameOrUrl=card.name_or_url,
        cardUrl=card.url,
        observed=Composed(lack.observed),
        hint=Composed(lack.hint),
        **values,
    )
