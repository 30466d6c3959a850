"""``PARLEY-McpAuthAuditor``: the chain that a client must walk where an MCP endpoint asks for authorization."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from parley.documents.mcp import gate, unseen
from parley.documents.mcp_gate import Gate, Refusal
from parley.documents.oauth import (
    METADATA_URL,
    PRM,
    Chain,
    Fetched,
    How,
    Outcome,
    ServerDocument,
    difference,
    hops,
    is_inside,
    is_resource,
    read,
)
from parley.evidence import Evidence
from parley.report import AuditorReport, Protocol, Status
from parley.rules.rule import Composed, Finding, Findings, Given, RuleSet, check
from parley.wire import challenge
from parley.wire.media_type import JSON, essence
from parley.wire.text import MISSING, clean, kind, quoted
from parley.wire.url import LONGEST, Url, UrlError

LATEST: Final = "2026-07-28"
"""The revision to judge by where a refusal hides the one that is spoken."""

_SPECIFICATION: Final = "https://modelcontextprotocol.io/specification"
_MCP: Final = f"{_SPECIFICATION}/{LATEST}/basic/authorization"
_DISCOVERY: Final = f"{_MCP}/authorization-server-discovery"
_REGISTRATION: Final = f"{_MCP}/client-registration"
_SECURITY: Final = f"{_MCP}/security-considerations"
_RFC: Final = "https://www.rfc-editor.org/rfc"
_RFC9728: Final = f"{_RFC}/rfc9728.html"
_RFC8414: Final = f"{_RFC}/rfc8414.html"

_FLAGS: Final = ("client_id_metadata_document_supported", "authorization_response_iss_parameter_supported")
_ARRAYS: Final = (
    "scopes_supported",
    "bearer_methods_supported",
    "response_types_supported",
    "response_modes_supported",
    "grant_types_supported",
    "token_endpoint_auth_methods_supported",
    "code_challenge_methods_supported",
)
_DEMANDED: Final = frozenset(
    {
        "resource",
        "authorization_servers",
        "issuer",
        "authorization_endpoint",
        "token_endpoint",
        "response_types_supported",
        "code_challenge_methods_supported",
    }
)
"""Members that other rules demand, or would if they were left out."""

_CORS_HEADERS: Final = ("authorization", "mcp-protocol-version", "mcp-method", "mcp-name")

_UNUSABLE: Final = (Outcome.CLOSED, Outcome.LOGIN)
_SOMETHING: Final = (Outcome.OTHER, Outcome.BROKEN)


class Described(NamedTuple):
    """A metadata document of either kind."""

    fetched: Fetched
    members: Mapping[str, object]

    @property
    def url(self) -> str:
        """What served it."""
        return self.fetched.final_url


class Registration(NamedTuple):
    """How a client may become known to the authorization server, by the document that a client reads first."""

    document: ServerDocument
    cimd: bool
    dcr: bool

    @property
    def told(self) -> str:
        """In the report's word: ``cimd``, ``dcr``, ``both`` or ``neither``."""
        if self.cimd:
            return "both" if self.dcr else "cimd"
        return "dcr" if self.dcr else "neither"


class McpAuthRules(RuleSet):
    """Whether the chain leads from the refusal to an authorization server that a client can use."""

    prefix = "PARLEY"
    name = "McpAuthAuditor"
    title = "MCP authorization"
    protocol = Protocol.MCP

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(evidence)
        found = gate(evidence)
        self.seen: Chain | None = None if found is None else read(found, evidence.exchanges)
        self._unseen = unseen(evidence) if found is None else None
        self.revision = LATEST if found is None or found.revision is None else found.revision
        self._is_hidden = found is None or found.revision is None

    def judge(self) -> AuditorReport:
        """Green only for a chain that was walked: what is right about a refusal alone helps no client on."""
        report = super().judge()
        blocking = {self.code(row) for row, _ in self.rules() if row.blocks}
        is_unseen = not self.chain_validates and any(one.code in blocking for one in report.untested)
        return report._replace(status=Status.INFORMATION) if is_unseen and report.status is Status.SUCCESS else report

    # What others ask of it, once it has judged.

    @property
    def chain_validates(self) -> bool:
        """Whether the endpoint asks for authorization and a client can walk the whole chain."""
        chain = self.seen
        if chain is None or chain.doubt is not None or chain.metadata is None or not chain.documents:
            return False
        return not any(judged.row.blocks for judged in self.judged)

    @property
    def auth(self) -> Mapping[str, object] | None:
        """The chain as the report shows it (member ``auth`` of the protocol); None where nothing asks for it."""
        chain = self.seen
        if chain is None or chain.doubt is not None:
            return None
        found = chain.gate
        registration = self._registration()
        first = registration.document.members if registration else {}
        return {
            "endpoint": str(found.endpoint),
            "httpStatus": found.exchange.status,
            "revision": self.revision,
            "revisionKnown": not self._is_hidden,
            "challenge": [
                {
                    "scheme": clean(one.scheme),
                    "parameters": {
                        clean(name): clean(value, LONGEST) for name, value in list(one.parameters.items())[:20]
                    },
                }
                for one in found.challenges.challenges[:5]
            ],
            "metadataUrl": chain.metadata.fetched.final_url if chain.metadata else None,
            "reachedBy": chain.metadata.how.value if chain.metadata else None,
            "resource": _member(chain.members, "resource"),
            "issuers": [clean(one, LONGEST) for one in chain.listed[:20]],
            "documents": _documents(chain) if chain.places else None,
            "registration": registration.told if registration else None,
            "codeChallengeMethods": _member(first, "code_challenge_methods_supported"),
            "issParameter": first.get(_FLAGS[1]) is True if registration else None,
            "validates": self.chain_validates,
            "hops": [{"hop": hop, "url": clean(url, LONGEST), "said": said} for hop, url, said in hops(chain)],
        }

    # What rules may ask for, by parameter name.

    def refusal(self) -> Given[Chain]:
        """The endpoint's refusal, where it is one that authorization would lift."""
        if self.seen is None:
            return Given(missing=self._unseen)
        return Given(missing=self.seen.doubt) if self.seen.doubt else Given((self.seen,))

    def refusal_of_2025_06_18(self) -> Given[Chain]:
        """The refusal by a server of the one revision that demands the metadata's URL in the challenge."""
        return self._since("2025-06-18", self.refusal(), until="2025-06-18")

    def refusal_by_2025_11_25(self) -> Given[Chain]:
        """The refusal by a server of a revision that speaks of scopes in challenges."""
        return self._since("2025-11-25", self.refusal())

    def refusal_of_2026_07_28(self) -> Given[Chain]:
        """The refusal by a server of 2026-07-28 or later."""
        return self._since("2026-07-28", self.refusal())

    def search(self) -> Given[Chain]:
        """The search for protected resource metadata, which MCP has from 2025-06-18 on."""
        given = self._since("2025-06-18", self.refusal())
        for chain in given.values:
            if chain.metadata is None and (open_question := _open_question(chain)):
                return Given(missing=open_question)
        return given

    def places(self) -> Given[Chain]:
        """All places that clients look at for metadata, and whether something kept any of them from being seen."""
        given = self.refusal()
        for chain in given.values:
            missing = _open_question(chain) if chain.metadata is None else self.asked().missing
            return Given((chain,), missing if chain.metadata is None or chain.places else None)
        return given

    def pointed(self) -> Given[Chain]:
        """The chain, where the challenge says where the metadata is."""
        given = self.refusal()
        if not given.values or given.values[0].pointer is None:
            return given if given.missing else Given()
        chain = given.values[0]
        followed = next((one.fetched for one in chain.locations if one.how is How.CHALLENGE), None)
        missing = followed.told if followed and followed.outcome is Outcome.OPEN_QUESTION else None
        return Given((chain,), missing)

    def found(self) -> Given[Chain]:
        """The chain, where there is protected resource metadata."""
        given = self.refusal()
        if not given.values or given.values[0].metadata is not None:
            return given
        if self.revision < "2025-06-18":
            return Given()
        chain = given.values[0]
        return Given(missing=_open_question(chain) or "there is no protected resource metadata to judge")

    def compared(self) -> Given[Chain]:
        """The chain with its metadata, and whether something kept any other place of metadata from being seen."""
        given = self.found()
        return Given(given.values, given.missing or next(map(_open_question, given.values), None))

    def found_by_2025_06_18(self) -> Given[Chain]:
        """The chain with its metadata, of a server of the revisions that have it name authorization servers."""
        return self._since("2025-06-18", self.found())

    def found_by_2025_11_25(self) -> Given[Chain]:
        """The chain with its metadata, of a server of the revisions that leave it open how it is found."""
        return self._since("2025-11-25", self.found())

    def walked(self) -> Given[Chain]:
        """The chain, where the metadata names an issuer that can be asked."""
        given = self.found()
        if not given.values:
            return given
        issuer = given.values[0].issuer
        if issuer is None or issuer.url is None:
            return Given(missing="the metadata names no authorization server that could be asked")
        return given

    def asked(self) -> Given[Chain]:
        """The chain, where the issuer's documents were asked for with a clear result."""
        given = self.walked()
        for chain in given.values:
            for _, fetched in chain.places:
                if not chain.documents and fetched.outcome is Outcome.OPEN_QUESTION:
                    return Given(missing=fetched.told)
        return given

    def asked_by_revision(self) -> Given[Chain]:
        """The same, for the documents that a client of the server's revision reads."""
        given = self.asked()
        for chain in given.values:
            for form, fetched in chain.places:
                if fetched.outcome is Outcome.OPEN_QUESTION and form.is_oauth and self._reads_oauth_only:
                    return Given(missing=fetched.told)
        return given

    def document(self) -> Given[ServerDocument]:
        """Every document of the issuer, each on its own."""
        given = self.asked()
        if not given.values:
            return Given(missing=given.missing)
        chain = given.values[0]
        if not chain.documents:
            return Given(missing="there is no authorization server metadata to judge")
        unknown = (fetched.told for _, fetched in chain.places if fetched.outcome is Outcome.OPEN_QUESTION)
        return Given(chain.documents, next(unknown, None))

    def document_by_2025_11_25(self) -> Given[ServerDocument]:
        """The issuer's documents, for a server of a revision whose clients refuse without PKCE."""
        return self._since("2025-11-25", self.document())

    def document_by_2025_06_18(self) -> Given[ServerDocument]:
        """The issuer's documents, for a server of the revision before that."""
        return self._since("2025-06-18", self.document(), until="2025-06-18")

    def described(self) -> Given[Described]:
        """Every metadata document that a client reads, of both kinds."""
        given = self.found()
        documents = [
            Described(fetched=one.metadata.fetched, members=one.members) for one in given.values if one.metadata
        ]
        servers = self.document()
        documents += [Described(fetched=one.fetched, members=one.members) for one in servers.values]
        return Given(tuple(documents), servers.missing)

    def registration(self) -> Given[Registration]:
        """How clients register."""
        one = self._registration()
        return Given(missing=self.document().missing) if one is None else Given((one,))

    def preflight(self) -> Given[Chain]:
        """The endpoint as a browser meets it."""
        given = self.refusal()
        for chain in given.values:
            if chain.preflight is None or chain.preflight.failure is not None:
                return Given(missing="there was no answer to a CORS preflight")
        return given

    def token(self) -> Given[Chain]:
        """The answer to a made-up token, where it shows how tokens are refused."""
        given = self.refusal()
        for chain in given.values:
            status = chain.token.answered if chain.token else None
            if status is None:
                return Given(missing="there was no answer to a made-up token")
            if status != 401 and status < 500:
                return Given(missing=f"GET with a made-up token answered {status}, which is not about tokens")
        return given

    def insufficient(self) -> Given[Chain]:
        """A refusal for want of scopes, which only somebody with a token sees."""
        given = self.refusal()
        if given.values and not any("insufficient_scope" in one for one in _errors(given.values[0].gate)):
            return Given(missing="it takes a token without the scopes that are needed, and an audit has none")
        return given

    def whole(self) -> Given[Chain]:
        """The chain that no rule found a fault in that breaks it. Asked for after all others."""
        return Given((self.seen,)) if self.seen is not None and self.chain_validates else Given()

    # The rules: information.

    @check(
        100,
        title="Chain walked",
        when="The endpoint refuses anonymous callers, so that clients have to walk the discovery chain.",
        seen="{endpoint} asks for authorization; judged by MCP authorization {revision}{hidden}. Its chain: {chain}.",
        why="A verdict means something only together with the text it was reached by, and the way that was walked.",
        recommendation="Compare the hops with what clients of {endpoint} report.",
        spec=_MCP,
    )
    def check_rule_chain(self, refusal: Chain) -> Findings:
        """Fires for every gated endpoint."""
        walked = [{"hop": hop, "url": url, "said": said} for hop, url, said in hops(refusal)]
        yield Finding(
            endpoint=str(refusal.gate.endpoint),
            revision=self.revision,
            hidden=Composed(", as the refusal hides the revision that the server speaks" if self._is_hidden else ""),
            chain=Composed(" -> ".join(_in_short(refusal))),
            hops=walked,
        )

    @check(
        101,
        title="Found by the challenge only",
        when="The challenge leads to the metadata, and neither well-known location holds it.",
        seen="The metadata at {metadataUrl} is found by the challenge only; {places}.",
        why="Either way is enough, but some clients look at the well-known locations only.",
        recommendation="Serve the same metadata at {wellKnownUrl} too.",
        spec=f"{_DISCOVERY}#protected-resource-metadata-discovery-requirements",
    )
    def check_rule_only_by_challenge(self, found: Chain) -> Findings:
        """Only where both are plainly absent."""
        others = [one.fetched for one in found.locations if one is not found.metadata]
        metadata = found.metadata
        if metadata is None or metadata.how is not How.CHALLENGE or _is_well_known(metadata.fetched.url, found.gate):
            return
        if all(one.outcome not in (Outcome.DOCUMENT, Outcome.OPEN_QUESTION) for one in others):
            yield Finding(
                metadataUrl=metadata.fetched.url,
                places=Composed("; ".join(one.told for one in others)),
                wellKnownUrl=_well_known(found.gate),
            )

    @check(
        102,
        title="Scope in the challenge",
        when="The challenge names no scope.",
        seen="The challenge of {endpoint} names no scope.",
        why="Clients then ask for every scope that the metadata lists, or for none.",
        recommendation='Add scope="..." with the scopes that a first request needs to the challenge of {endpoint}.',
        spec=f"{_MCP}#scope-selection-strategy",
    )
    def check_rule_scope(self, refusal_by_2025_11_25: Chain) -> Findings:
        """Only where there is a challenge."""
        gate = refusal_by_2025_11_25.gate
        if gate.has_bearer and not any("scope" in one.parameters for one in gate.challenges.challenges):
            yield Finding(endpoint=str(gate.endpoint))

    @check(
        103,
        title="Canonical resource",
        when="resource is the endpoint's URL in another spelling: letter case, a default port, a slash at its end.",
        seen="resource is {resource}, and the canonical form of that is {canonical}.",
        why="Clients and token validators compare it letter by letter, and few of them normalise it the same way.",
        recommendation="Write resource as {canonical} in {metadataUrl}, and use that form everywhere.",
        spec=f"{_MCP}#canonical-server-uri",
    )
    def check_rule_canonical(self, found: Chain) -> Findings:
        """The slash only where it is the endpoint's own too, since another is a mismatch."""
        written = found.members.get("resource")
        endpoint = str(found.gate.endpoint)
        if _resource_fault(found) or not isinstance(written, str) or difference(written, endpoint) is not None:
            return
        # Behind a path the slash is the endpoint's own.
        canonical = found.gate.endpoint.origin if endpoint == f"{found.gate.endpoint.origin}/" else endpoint
        if written != canonical:
            yield Finding(resource=quoted(written), canonical=canonical, metadataUrl=_metadata_url(found))

    @check(
        104,
        title="Authorization server documents",
        when="The issuer has metadata.",
        seen="The issuer {issuer} has {documents}: {places}.",
        why="Clients of 2025-06-18 read the OAuth document only; later ones take either, the OAuth one first.",
        recommendation="Keep the documents of {issuer} in step with each other.",
        spec=f"{_DISCOVERY}#authorization-server-metadata-discovery",
    )
    def check_rule_documents(self, walked: Chain) -> Findings:
        """Says which there are."""
        if walked.documents:
            yield Finding(
                issuer=_issuer(walked),
                documents=Composed(_DOCUMENTS_TOLD[_documents(walked)]),
                places=Composed("; ".join(fetched.told for _, fetched in walked.places)),
            )

    @check(
        105,
        title="Client registration",
        when="The authorization server supports Client ID Metadata Documents.",
        seen="{issuer} supports Client ID Metadata Documents{andMore}.",
        why="It is how a client that the server has never met identifies itself since 2025-11-25.",
        recommendation="Nothing needs doing. A list of clients that {issuer} allows is compatible with the flag.",
        spec=f"{_REGISTRATION}#client-id-metadata-documents",
    )
    def check_rule_cimd(self, registration: Registration) -> Findings:
        """The flag is no promise to take any client."""
        if registration.cimd:
            more = ", and Dynamic Client Registration besides" if registration.dcr else ""
            yield Finding(issuer=registration.document.issuer, andMore=Composed(more), registration=registration.told)

    @check(
        106,
        title="iss parameter",
        when="The authorization server does not advertise that it names itself in authorization responses.",
        seen="{documentUrl} does not set authorization_response_iss_parameter_supported to true.",
        why="With it, a client that uses several authorization servers cannot be made to send a code to the wrong one.",
        recommendation=(
            "Send iss in authorization responses, and set authorization_response_iss_parameter_supported: true in"
            " {documentUrl}."
        ),
        spec=f"{_MCP}#authorization-response-validation",
    )
    def check_rule_iss(self, document: ServerDocument) -> Findings:
        """RFC 9207, section 3."""
        if document.members.get(_FLAGS[1]) in (None, False):
            yield Finding(documentUrl=document.url)

    @check(
        107,
        title="Public clients",
        when="The token endpoint's methods of authentication do not include none.",
        seen="token_endpoint_auth_methods_supported of {documentUrl} is {observed}.",
        why="A client on somebody's machine keeps no secret; without none it must get one by registration.",
        recommendation="If {documentUrl} is for public clients, list none in token_endpoint_auth_methods_supported.",
        spec=f"{_RFC8414}#section-2",
    )
    def check_rule_public_clients(self, document: ServerDocument) -> Findings:
        """Where it is omitted, client_secret_basic is meant."""
        methods = document.members.get("token_endpoint_auth_methods_supported")
        if not (isinstance(methods, list) and "none" in methods):
            observed = "omitted, which means client_secret_basic" if methods is None else _listed(methods)
            yield Finding(documentUrl=document.url, observed=Composed(observed))

    @check(
        108,
        title="Discovery of 2025-03-26",
        when="There is no protected resource metadata, but authorization server metadata at the endpoint's origin.",
        seen="{documentUrl} holds authorization server metadata, where only the 2025-03-26 revision looks for it.",
        why="Clients of later revisions do not ask there, so for them the endpoint has no authorization server.",
        recommendation=f"Serve protected resource metadata at {{wellKnownUrl}} that names this issuer ({PRM}).",
        spec=f"{_SPECIFICATION}/2025-03-26/basic/authorization#authorization-base-url",
    )
    def check_rule_origin(self, refusal: Chain) -> Findings:
        """The document itself is not judged, as no metadata names it."""
        if refusal.origin is not None and refusal.origin.outcome is Outcome.DOCUMENT:
            yield Finding(documentUrl=refusal.origin.final_url, wellKnownUrl=_well_known(refusal.gate))

    @check(
        109,
        title="Several resources",
        when="The metadata at the endpoint's path and that at the root describe different resources.",
        seen="{metadataUrl} describes {resource}, and {otherUrl} describes {other}.",
        why="That is right for two resources; but clients that look at the root only get a token for the other one.",
        recommendation="Make sure that the authorization server issues tokens for both, or serve only {metadataUrl}.",
        spec=f"{_RFC9728}#section-3.3",
    )
    def check_rule_resources(self, compared: Chain) -> Findings:
        """The one that is used against each other document."""
        for other in _others(compared):
            if other.members is not None and other.members.get("resource") != compared.members.get("resource"):
                yield Finding(
                    metadataUrl=_metadata_url(compared),
                    resource=_observed(compared.members, "resource"),
                    otherUrl=other.final_url,
                    other=_observed(other.members, "resource"),
                )

    @check(
        110,
        title="Further authorization servers",
        when="The metadata lists more than one authorization server.",
        seen="{metadataUrl} lists {count} authorization servers. The first was walked to, the others not: {others}.",
        why="Which of them a client uses is its own choice; most take the first.",
        recommendation="Put the authorization server that most clients should use first in {metadataUrl}.",
        spec=f"{_RFC9728}#section-7.6",
    )
    def check_rule_further_servers(self, found: Chain) -> Findings:
        """They are listed, not judged."""
        if len(found.listed) > 1:
            others = ", ".join(quoted(one) for one in found.listed[1:6])
            yield Finding(metadataUrl=_metadata_url(found), count=len(found.listed), others=Composed(others))

    @check(
        111,
        title="Server's place with something else",
        when="A place that clients try before the one with the server's metadata answers 200 with something else.",
        seen="{url} {reason}; the authorization server's metadata is at {documentUrl}.",
        why="Clients must try the places in turn; some of them stop at a 200 that they cannot read.",
        recommendation="Answer 404 at {url}.",
        spec=f"{_DISCOVERY}#authorization-server-metadata-discovery",
    )
    def check_rule_in_the_servers_way(self, walked: Chain) -> Findings:
        """No fault: the metadata is found behind it."""
        passed_by: list[Fetched] = []
        for _, fetched in walked.places:
            if fetched.members is not None:
                yield from (_in_the_way(one, fetched.final_url) for one in passed_by)
                return
            if fetched.outcome in _SOMETHING:
                passed_by.append(fetched)

    @check(
        200,
        title="Discovery chain",
        when="The endpoint asks for authorization, and every hop to its authorization server's metadata holds.",
        seen="The chain from {endpoint} to {issuer} holds at every hop.",
        why="A client that has never met this server can find out where to get a token.",
        spec=_MCP,
    )
    def check_rule_valid(self, whole: Chain) -> Findings:
        """Fires where nothing that breaks the chain was found."""
        yield Finding(endpoint=str(whole.gate.endpoint), issuer=_issuer(whole))

    # Warnings.

    @check(
        300,
        title="403 for 401",
        when="The endpoint refuses anonymous callers with 403 instead of 401.",
        seen="{refusal}, where an anonymous caller is due 401.",
        why="403 says that no login helps; clients show an error where they would start to authorize.",
        recommendation="Answer requests without a token with 401 and a challenge at {endpoint}, not 403.",
        spec=f"{_MCP}#error-handling",
    )
    def check_rule_forbidden(self, refusal: Chain) -> Findings:
        """A 403 for want of scopes is right."""
        gate = refusal.gate
        if gate.refusal is Refusal.FORBIDDEN and not any("insufficient_scope" in one for one in _errors(gate)):
            yield Finding(refusal=Composed(gate.told), endpoint=str(gate.endpoint))

    @check(
        301,
        title="Metadata in the challenge",
        when="The challenge does not say where the metadata is; a well-known location holds it (from 2025-11-25 on).",
        seen="{refusal} {what}; clients find the metadata only by trying {metadataUrl}{by}.",
        why=(
            "Either way is enough since 2025-11-25, but clients of 2025-06-18 know the challenge only; and HTTP demands"
            " one with a 401."
        ),
        recommendation='Send WWW-Authenticate: Bearer resource_metadata="{metadataUrl}" with the refusal.',
        spec=f"{_DISCOVERY}#protected-resource-metadata-discovery-requirements",
    )
    def check_rule_challenge_silent(self, found_by_2025_11_25: Chain) -> Findings:
        """RFC 9110, section 15.5.2, for the header as such."""
        chain = found_by_2025_11_25
        if chain.pointer is None:
            has_one = chain.gate.exchange.header("www-authenticate") is not None
            yield Finding(
                refusal=Composed(chain.gate.told),
                what=Composed("without resource_metadata in its challenge" if has_one else "without WWW-Authenticate"),
                metadataUrl=_metadata_url(chain),
                by=self._by(),
            )

    @check(
        302,
        title="Empty members",
        when="A metadata document has members that are null or empty arrays.",
        seen="{documentUrl} has members without a value: {names}.",
        why="Both formats demand that such members are omitted; strict clients refuse null where an array is due.",
        recommendation="In {documentUrl}, {advice}.",
        spec=f"{_RFC9728}#section-3.2",
    )
    def check_rule_empty_members(self, described: Described) -> Findings:
        """RFC 9728 and RFC 8414, both section 3.2."""
        names = [clean(name, 60) for name, value in described.members.items() if value is None or value == []]
        if names:
            wanted = [name for name in names if name in _DEMANDED]
            spare = [name for name in names if name not in _DEMANDED]
            advice = [f"leave out {', '.join(spare[:10])}"] if spare else []
            advice += [f"give a value to {', '.join(wanted)}"] if wanted else []
            yield Finding(
                documentUrl=described.url,
                names=Composed(", ".join(names[:10])),
                advice=Composed(", and ".join(advice)),
            )

    @check(
        303,
        title="offline_access",
        when="The challenge or scopes_supported of the metadata holds offline_access (2026-07-28).",
        seen="{where} asks for offline_access{by}.",
        why="Whether a client gets a refresh token is between it and the authorization server; no resource needs one.",
        recommendation="Leave offline_access out of {where}.",
        spec=f"{_MCP}#refresh-tokens",
    )
    def check_rule_offline_access(self, refusal_of_2026_07_28: Chain) -> Findings:
        """Each place on its own."""
        chain = refusal_of_2026_07_28
        if any("offline_access" in one.parameters.get("scope", "").split() for one in chain.gate.challenges.challenges):
            yield Finding(where=Composed(f"the challenge of {chain.gate.endpoint}"), by=self._by())
        scopes = chain.members.get("scopes_supported")
        if isinstance(scopes, list) and "offline_access" in scopes:
            yield Finding(where=Composed(f"scopes_supported of {_metadata_url(chain)}"), by=self._by())

    @check(
        304,
        title="How tokens are sent",
        when="bearer_methods_supported does not hold header, or holds query.",
        seen="bearer_methods_supported of {metadataUrl} is {observed}.",
        why="MCP clients send tokens in the Authorization header, and must not put them into URLs, which get logged.",
        recommendation='Set bearer_methods_supported to ["header"] in {metadataUrl}.',
        spec=f"{_MCP}#token-requirements",
    )
    def check_rule_bearer_methods(self, found: Chain) -> Findings:
        """Omitted says nothing."""
        methods = found.members.get("bearer_methods_supported")
        if isinstance(methods, list) and methods and ("header" not in methods or "query" in methods):
            yield Finding(metadataUrl=_metadata_url(found), observed=Composed(_listed(methods)))

    @check(
        305,
        title="Root metadata for a path",
        when="The root's metadata is used for an endpoint with a path, and names the origin as its resource.",
        seen="{metadataUrl} describes {resource}, not {endpoint}.",
        why="It is right for the origin (RFC 9728, section 3.3); clients that compare it with the endpoint refuse it.",
        recommendation="Serve metadata whose resource is {endpoint} at {wellKnownUrl}.",
        spec=f"{_RFC9728}#section-3.3",
    )
    def check_rule_root_metadata(self, found: Chain) -> Findings:
        """Clients disagree on it in practice; one that comes by the challenge must refuse it."""
        if _is_origin_at_root(found):
            yield Finding(
                metadataUrl=_metadata_url(found),
                resource=_observed(found.members, "resource"),
                endpoint=str(found.gate.endpoint),
                wellKnownUrl=_well_known(found.gate),
            )

    @check(
        306,
        title="Metadata that agrees",
        when="The endpoint's metadata documents name different authorization servers.",
        seen="{metadataUrl} names {servers}, and {otherUrl} names {others}.",
        why="Clients that look at different places get tokens from different servers; not all of them are accepted.",
        recommendation="Name the same authorization_servers in {metadataUrl} and {otherUrl}.",
        spec=f"{_RFC9728}#section-3.1",
    )
    def check_rule_metadata_agrees(self, compared: Chain) -> Findings:
        """In any order."""
        servers = _texts(compared.members.get("authorization_servers"))
        for other in _others(compared):
            others = _texts(other.members.get("authorization_servers") if other.members else None)
            if other.members is not None and others != servers:
                yield Finding(
                    metadataUrl=_metadata_url(compared),
                    servers=Composed(_listed(sorted(servers))),
                    otherUrl=other.final_url,
                    others=Composed(_listed(sorted(others))),
                )

    @check(
        307,
        title="Dynamic Client Registration only",
        when="registration_endpoint is there, and Client ID Metadata Documents are not supported.",
        seen="Clients can register with {issuer} by Dynamic Client Registration only.",
        why=(
            "Dynamic Client Registration is deprecated since 2026-07-28, and may be removed in the first revision on or"
            " after 2027-07-28; Client ID Metadata Documents replace it."
        ),
        recommendation=(
            "Support Client ID Metadata Documents at {issuer}, and set client_id_metadata_document_supported: true in"
            " {documentUrl}. Dynamic Client Registration is deprecated (2026-07-28; removal not before 2027-07-28)."
        ),
        spec=f"{_REGISTRATION}#dynamic-client-registration",
    )
    def check_rule_dcr_only(self, registration: Registration) -> Findings:
        """Whatever revision is spoken."""
        if registration.told == "dcr":
            yield Finding(issuer=registration.document.issuer, documentUrl=registration.document.url)

    @check(
        308,
        title="No registration",
        when="Neither Client ID Metadata Documents nor Dynamic Client Registration is supported.",
        seen="{documentUrl} offers new clients no way to register with {issuer}.",
        why="Only clients that somebody registered beforehand can be used; all others stop here.",
        recommendation=(
            "Support Client ID Metadata Documents, and set client_id_metadata_document_supported: true in"
            " {documentUrl}."
        ),
        spec=_REGISTRATION,
    )
    def check_rule_no_registration(self, registration: Registration) -> Findings:
        """Pre-registration is legal."""
        if registration.told == "neither":
            yield Finding(issuer=registration.document.issuer, documentUrl=registration.document.url)

    @check(
        309,
        title="Retired grants",
        when="The authorization server offers the implicit grant or the password grant.",
        seen="{documentUrl} offers {observed}.",
        why="OAuth 2.1 has neither: one hands out tokens in URLs, the other passwords to clients.",
        recommendation="Leave {observed} out of {documentUrl}, and turn it off.",
        spec=f"{_RFC}/rfc9700.html#section-2.1.2",
    )
    def check_rule_retired_grants(self, document: ServerDocument) -> Findings:
        """What is listed, not what the absence of a list stands for."""
        seen = sorted(_texts(document.members.get("grant_types_supported")) & {"implicit", "password"})
        types = _texts(document.members.get("response_types_supported"))
        seen += sorted(f"response type {clean(one, 40)}" for one in types if "token" in one.split())
        if seen:
            yield Finding(documentUrl=document.url, observed=Composed(", ".join(seen[:6])))

    @check(
        310,
        title="CORS of metadata",
        when="A metadata document was served without Access-Control-Allow-Origin.",
        seen="{documentUrl} was served without Access-Control-Allow-Origin.",
        why="Clients that run in a browser cannot read it.",
        recommendation="Add Access-Control-Allow-Origin: * on {documentUrl}.",
        spec=f"{_RFC9728}#section-3.1",
    )
    def check_rule_cors_of_metadata(self, described: Described) -> Findings:
        """Asked for with an Origin."""
        exchange = described.fetched.exchange
        if exchange is not None and not (exchange.header("access-control-allow-origin") or "").strip():
            yield Finding(documentUrl=described.url)

    @check(
        311,
        title="CORS of the endpoint",
        when="A browser may not send an MCP request to the endpoint, or may not read its challenge.",
        seen="A page of another origin cannot use {endpoint}: {faults}.",
        why="Clients in a browser see neither the challenge nor, later, any answer; to them the server is down.",
        recommendation=(
            "Answer OPTIONS at {endpoint} with 204, Access-Control-Allow-Origin and Access-Control-Allow-Headers:"
            " Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name; and send"
            " Access-Control-Expose-Headers: WWW-Authenticate with the refusal."
        ),
        spec="https://fetch.spec.whatwg.org/#http-cors-protocol",
    )
    def check_rule_cors_of_endpoint(self, preflight: Chain) -> Findings:
        """The preflight, and what of the refusal a page may see."""
        faults = list(_cors_faults(preflight))
        if faults:
            yield Finding(endpoint=str(preflight.gate.endpoint), faults=Composed("; ".join(faults)))

    @check(
        312,
        title="Bad token's error",
        when="A made-up token was refused without error=invalid_token, or met a server error.",
        seen="GET {endpoint} with a made-up token answered {status} {what}.",
        why="By this error a client knows that it must renew its token; else it gives up, or asks its user again.",
        recommendation=(
            'Answer 401 with WWW-Authenticate: Bearer error="invalid_token", ... to tokens that are not valid at'
            " {endpoint}."
        ),
        spec=f"{_RFC}/rfc6750.html#section-3.1",
    )
    def check_rule_invalid_token(self, token: Chain) -> Findings:
        """An anonymous 401 needs no error."""
        exchange = token.token
        if exchange is None:
            return
        said = challenge.parse(*(value for name, value in exchange.headers if name == "www-authenticate"))
        if exchange.status != 401:
            yield Finding(endpoint=str(token.gate.endpoint), status=exchange.status, what=Composed("instead of 401"))
        elif not any(one.parameters.get("error") == "invalid_token" for one in said.challenges):
            yield Finding(
                endpoint=str(token.gate.endpoint),
                status=401,
                what=Composed("without error=invalid_token in a challenge"),
            )

    @check(
        313,
        title="Place with something else",
        when="A well-known location that clients try before the one with the metadata answers 200 with something else.",
        seen="{url} {reason}; the metadata is at {documentUrl}.",
        why="Clients go on after a 404; many of them stop at a 200 that they cannot read.",
        recommendation="Answer 404 at {url}, or serve the metadata there.",
        spec=f"{_RFC9728}#section-3.2",
    )
    def check_rule_in_the_way(self, found: Chain) -> Findings:
        """Catch-all pages of single-page applications, mostly."""
        for location in found.consulted:
            if location.how is not How.CHALLENGE and location.fetched.outcome in _SOMETHING:
                yield _in_the_way(location.fetched, _metadata_url(found))

    @check(
        314,
        title="PKCE, for 2025-06-18",
        when="The authorization server does not advertise PKCE with S256, for a server of 2025-06-18.",
        seen="code_challenge_methods_supported of {documentUrl} is {observed}{by}.",
        why="Later clients refuse to go on where S256 is not advertised, even if it works.",
        recommendation='Set code_challenge_methods_supported to ["S256"] in {documentUrl}.',
        spec=f"{_SPECIFICATION}/2025-06-18/basic/authorization#authorization-code-protection",
    )
    def check_rule_pkce_advised(self, document_by_2025_06_18: ServerDocument) -> Findings:
        """That revision demands PKCE, but not that it be advertised."""
        yield from self._pkce(document_by_2025_06_18)

    @check(
        315,
        title="Letters of URLs",
        when="A URL in the chain is written with letters outside ASCII.",
        seen="{name} of {documentUrl} is {observed}, with letters that a URL does not have.",
        why="Clients turn such names into ASCII or do not, and then compare what they got letter by letter.",
        recommendation="Write {name} in ASCII in {documentUrl}: the host name's xn-- form, and percent-encoded paths.",
        spec=f"{_RFC}/rfc3986.html#section-2",
    )
    def check_rule_ascii(self, described: Described) -> Findings:
        """They are compared by their ASCII form here."""
        for name, url in _urls(described.members):
            if not url.isascii():
                yield Finding(name=Composed(clean(name, 60)), documentUrl=described.url, observed=quoted(url))

    @check(
        316,
        title="Two endpoints",
        when="authorization_endpoint and token_endpoint are the same URL.",
        seen="{documentUrl} gives {observed} as both its authorization endpoint and its token endpoint.",
        why="One is a page for people and one answers programs; the same URL for both mostly is a stand-in.",
        recommendation="Set authorization_endpoint and token_endpoint in {documentUrl} to where they are.",
        spec=f"{_RFC}/rfc6749.html#section-3",
    )
    def check_rule_two_endpoints(self, document: ServerDocument) -> Findings:
        """Not forbidden, so a warning."""
        token_endpoint = document.members.get("token_endpoint")
        if isinstance(token_endpoint, str) and token_endpoint == document.members.get("authorization_endpoint"):
            yield Finding(documentUrl=document.url, observed=quoted(token_endpoint))

    @check(
        317,
        title="Challenge's grammar",
        when="A WWW-Authenticate header breaks the grammar of HTTP.",
        seen="WWW-Authenticate of {endpoint} {faults}: {observed}.",
        why="Some clients read past it, others read nothing of the challenge.",
        recommendation='Send WWW-Authenticate: Bearer name="value", name="value" at {endpoint}, each name once.',
        spec=f"{_RFC}/rfc9110.html#section-11.6.1",
    )
    def check_rule_grammar(self, refusal: Chain) -> Findings:
        """What is meant was read all the same where it is clear."""
        faults = refusal.gate.challenges.faults
        if faults:
            yield Finding(
                endpoint=str(refusal.gate.endpoint),
                faults=Composed("; it ".join(faults)),
                observed=quoted(refusal.gate.exchange.header("www-authenticate")),
            )

    @check(
        318,
        title="Missing scopes' error",
        when="A 403 for want of scopes does not name the scopes and the metadata.",
        seen="{refusal} with error=insufficient_scope, but without {names}.",
        why="With them a client can ask for the scopes that are missing; without, it can only give up.",
        recommendation="Add {names} to the challenge of 403 answers at {endpoint}.",
        spec=f"{_MCP}#runtime-insufficient-scope-errors",
    )
    def check_rule_insufficient_scope(self, insufficient: Chain) -> Findings:
        """Seen only with a token of the asker's own."""
        for one in insufficient.gate.challenges.challenges:
            names = [name for name in ("scope", METADATA_URL) if name not in one.parameters]
            if one.parameters.get("error") == "insufficient_scope" and names:
                yield Finding(
                    refusal=Composed(insufficient.gate.told),
                    names=Composed(" and ".join(names)),
                    endpoint=str(insufficient.gate.endpoint),
                )

    # Faults.

    @check(
        400,
        title="401 for anonymous callers",
        when="The endpoint turns anonymous callers away with something other than 401 (a 403 is a warning).",
        seen="{refusal}, where 401 with a challenge is due.",
        why="Clients start to authorize after a 401 only; a redirect to a login or an error is a dead end for them.",
        recommendation="Answer requests without a token with 401 and WWW-Authenticate: Bearer at {endpoint}.",
        spec=f"{_MCP}#error-handling",
        blocks=True,
    )
    def check_rule_unauthorized(self, refusal: Chain) -> Findings:
        """Redirects to a login, and errors that say unauthorized under another status."""
        if refusal.gate.refusal in (Refusal.LOGIN, Refusal.MISSTATED):
            yield Finding(refusal=Composed(refusal.gate.told), endpoint=str(refusal.gate.endpoint))

    @check(
        401,
        title="Metadata in the challenge, for 2025-06-18",
        when="A server of 2025-06-18 does not say in its challenge where its metadata is.",
        seen="{refusal} without resource_metadata in a challenge, which {revision} demands.",
        why="It is the only way to the metadata that clients of this revision know.",
        recommendation='Send WWW-Authenticate: Bearer resource_metadata="{wellKnownUrl}" with the refusal.',
        spec=f"{_SPECIFICATION}/2025-06-18/basic/authorization#authorization-server-location",
        blocks=True,
    )
    def check_rule_challenge_owed(self, refusal_of_2025_06_18: Chain) -> Findings:
        """Only this revision."""
        if refusal_of_2025_06_18.pointer is None:
            yield Finding(
                refusal=Composed(refusal_of_2025_06_18.gate.told),
                revision=self.revision,
                wellKnownUrl=_well_known(refusal_of_2025_06_18.gate),
            )

    @check(
        402,
        title="Metadata can be found",
        when="Neither the challenge nor a well-known location leads to protected resource metadata.",
        seen="{refusal}, and nothing leads on from there: {challenge}; {places}{by}.",
        why="A client learns that it must authorize, but not where.",
        recommendation=(
            "Serve protected resource metadata at {wellKnownUrl}, and send WWW-Authenticate: Bearer"
            ' resource_metadata="{wellKnownUrl}" with the 401.'
        ),
        spec=f"{_DISCOVERY}#protected-resource-metadata-discovery-requirements",
        blocks=True,
    )
    def check_rule_discoverable(self, search: Chain) -> Findings:
        """Where something is there that is of no use, other rules name it."""
        outcomes = {one.fetched.outcome for one in search.locations}
        if search.metadata is not None or search.pointer is not None or outcomes & {*_UNUSABLE, Outcome.BROKEN}:
            return
        header = search.gate.exchange.header("www-authenticate")
        yield Finding(
            refusal=Composed(search.gate.told),
            challenge=Composed("no WWW-Authenticate" if header is None else f"WWW-Authenticate {quoted(header)}"),
            places=Composed("; ".join(one.fetched.told for one in search.locations)),
            by=self._by(),
            wellKnownUrl=_well_known(search.gate),
        )

    @check(
        403,
        title="Metadata's URL",
        when="The challenge's resource_metadata is no https URL that holds the metadata, or stands under another name.",
        seen="The challenge of {endpoint} sets {name} to {observed}, which {fault}{hint}.",
        why="Clients that follow the challenge must use this URL, and come to a dead end.",
        recommendation=(
            'Set resource_metadata="{wellKnownUrl}" in the challenge of {endpoint}, and serve the metadata there.'
        ),
        spec=f"{_RFC9728}#section-5.1",
        blocks=True,
    )
    def check_rule_pointer(self, pointed: Chain) -> Findings:
        """On loopback http is no fault; of a public server a private place is one."""
        fault = _pointer_fault(pointed)
        if fault is None or pointed.pointer is None:
            return
        found = pointed.metadata
        hint = f"; there is metadata at {clean(found.fetched.url)}" if found and found.how is not How.CHALLENGE else ""
        yield Finding(
            endpoint=str(pointed.gate.endpoint),
            name=Composed(clean(pointed.pointer.name, 60)),
            observed=quoted(pointed.pointer.written),
            fault=Composed(fault),
            hint=Composed(hint),
            wellKnownUrl=_well_known(pointed.gate),
        )

    @check(
        404,
        title="Metadata is JSON",
        when="What is served as protected resource metadata is no JSON object.",
        seen="{url} {reason}.",
        why="Protected resource metadata is one JSON object; clients cannot read anything else.",
        recommendation="Serve protected resource metadata as a JSON object at {url}.",
        spec=f"{_RFC9728}#section-3.2",
        blocks=True,
    )
    def check_rule_metadata_json(self, places: Chain) -> Findings:
        """Where another place holds the metadata, only what the challenge names is a fault."""
        for location in places.consulted:
            is_used = places.metadata is None or location.how is How.CHALLENGE
            if is_used and location.fetched.outcome is Outcome.BROKEN:
                yield Finding(url=location.fetched.url, reason=Composed(location.fetched.reason))

    @check(
        405,
        title="Metadata's media type",
        when="Protected resource metadata was not served as application/json.",
        seen="{metadataUrl} was served with Content-Type {observed}.",
        why="Clients that look at the type refuse the document.",
        recommendation="Serve {metadataUrl} with Content-Type application/json instead of {observed}.",
        spec=f"{_RFC9728}#section-3.2",
    )
    def check_rule_metadata_type(self, found: Chain) -> Findings:
        """Compares the essence."""
        if found.metadata is not None and (observed := _other_type(found.metadata.fetched)):
            yield Finding(metadataUrl=_metadata_url(found), observed=observed)

    @check(
        406,
        title="Resource's form",
        when="resource is missing, or no https URL without a fragment.",
        seen="resource of {metadataUrl} is {observed}, which {fault}.",
        why="It names what a token is for; the authorization server puts it into the token.",
        recommendation="Set resource to {endpoint} in {metadataUrl}.",
        spec=f"{_RFC9728}#section-1.2",
        blocks=True,
    )
    def check_rule_resource_form(self, found: Chain) -> Findings:
        """On loopback http is no fault."""
        if fault := _resource_fault(found):
            yield Finding(
                metadataUrl=_metadata_url(found),
                observed=_observed(found.members, "resource"),
                fault=Composed(fault),
                endpoint=str(found.gate.endpoint),
            )

    @check(
        407,
        title="Resource is the endpoint",
        when="resource is another URL than the endpoint's (the case of the host and a default port do not matter).",
        seen="resource of {metadataUrl} is {observed}, and the endpoint is {endpoint}: {difference}{note}.",
        why="Clients must not use metadata of another resource: a token for it would go to the wrong server.",
        recommendation="Set resource to {endpoint} in {metadataUrl}.",
        spec=f"{_RFC9728}#section-3.3",
        blocks=True,
    )
    def check_rule_resource_match(self, found: Chain) -> Findings:
        """The origin in the root's metadata is a warning, unless it was the challenge that led there."""
        written = found.members.get("resource")
        endpoint = str(found.gate.endpoint)
        if _resource_fault(found) or not isinstance(written, str) or is_resource(written, endpoint):
            return
        differs = difference(written, endpoint)
        if differs is None or _is_origin_at_root(found):
            return
        is_prefix = str(found.gate.endpoint).startswith(written)
        yield Finding(
            metadataUrl=_metadata_url(found),
            observed=quoted(written),
            endpoint=endpoint,
            difference=Composed(differs),
            note=Composed(" (some clients accept a beginning of it; others do not)" if is_prefix else ""),
        )

    @check(
        408,
        title="Authorization servers named",
        when="authorization_servers is missing, empty, or has an entry that is no issuer's https URL.",
        seen="authorization_servers of {metadataUrl} {fault}.",
        why="It is where clients learn whom to ask for a token.",
        recommendation="Set authorization_servers in {metadataUrl} to the issuer's URL, as its own metadata has it.",
        spec=f"{_DISCOVERY}#authorization-server-location",
        blocks=True,
    )
    def check_rule_servers_named(self, found_by_2025_06_18: Chain) -> Findings:
        """Each entry on its own."""
        for fault in _server_faults(found_by_2025_06_18):
            yield Finding(metadataUrl=_metadata_url(found_by_2025_06_18), fault=Composed(fault))

    @check(
        409,
        title="Authorization server metadata",
        when="The issuer has no metadata document that a client of this revision would find.",
        seen="The issuer {issuer} has no metadata{what}: {places}{by}.",
        why="Clients cannot find the authorization and token endpoints.",
        recommendation="Serve authorization server metadata (RFC 8414) at {documentUrl}.",
        spec=f"{_DISCOVERY}#authorization-server-metadata-discovery",
        blocks=True,
    )
    def check_rule_server_metadata(self, asked_by_revision: Chain) -> Findings:
        """From 2025-11-25 on OpenID's document is as good; for 2025-06-18 it must be OAuth's."""
        documents = asked_by_revision.documents
        closed = any(fetched.outcome in _UNUSABLE for _, fetched in asked_by_revision.places)
        if documents:
            if not self._reads_oauth_only or any(one.form.is_oauth for one in documents):
                return
        elif closed or _all_inside(asked_by_revision):
            return  # other rules name what is wrong there
        yield Finding(
            issuer=_issuer(asked_by_revision),
            what=Composed(" by RFC 8414, the only one that clients of 2025-06-18 read" if documents else ""),
            places=Composed("; ".join(fetched.told for _, fetched in asked_by_revision.places)),
            by=self._by(),
            documentUrl=asked_by_revision.places[0][1].url,
        )

    @check(
        410,
        title="Issuer's identity",
        when="issuer in the document is not the issuer that the metadata names, by more than a slash at the end.",
        seen="{documentUrl} names the issuer {observed}, but it was found as that of {issuer}: {difference}.",
        why="Clients must not use such a document: it may be an attacker's, in an honest server's name.",
        recommendation="Make issuer in {documentUrl} and the entry of authorization_servers the same text.",
        spec=f"{_RFC8414}#section-3.3",
        blocks=True,
    )
    def check_rule_issuer(self, document: ServerDocument) -> Findings:
        """String identity."""
        written = document.members.get("issuer")
        if isinstance(written, str) and written.rstrip("/") != document.issuer.rstrip("/"):
            differs = difference(written, document.issuer) or "they differ in their spelling"
            yield Finding(
                documentUrl=document.url, observed=quoted(written), issuer=document.issuer, difference=Composed(differs)
            )

    @check(
        411,
        title="Issuer's slash",
        when="issuer in the document and the issuer that the metadata names differ in a slash at the end.",
        seen="{documentUrl} names the issuer {observed}, and the metadata {issuer}: they differ in a slash at the end.",
        why="Issuers are compared letter by letter: lenient clients let this pass, strict ones refuse the document.",
        recommendation=(
            "Write the issuer with or without the slash at its end, but alike in authorization_servers and"
            " {documentUrl}."
        ),
        spec=f"{_RFC8414}#section-3.3",
        blocks=True,
    )
    def check_rule_issuer_slash(self, document: ServerDocument) -> Findings:
        """An issuer that ends in a slash everywhere is fine."""
        written = document.members.get("issuer")
        if (
            isinstance(written, str)
            and written != document.issuer
            and written.rstrip("/") == document.issuer.rstrip("/")
        ):
            yield Finding(documentUrl=document.url, observed=quoted(written), issuer=document.issuer)

    @check(
        412,
        title="Required members",
        when="The document lacks issuer, response_types_supported, or an endpoint that its grants need.",
        seen="{documentUrl} lacks {names}.",
        why="Clients cannot start the flow, or refuse the document.",
        recommendation="Add {names} to {documentUrl}.",
        spec=f"{_RFC8414}#section-2",
        blocks=True,
    )
    def check_rule_required(self, document: ServerDocument) -> Findings:
        """Null counts as missing; an empty list of response types does not."""
        names = [name for name in _required(document.members) if document.members.get(name) is None]
        if names:
            yield Finding(documentUrl=document.url, names=Composed(", ".join(names)))

    @check(
        413,
        title="PKCE",
        when="code_challenge_methods_supported is missing or does not hold S256 (from 2025-11-25 on).",
        seen="code_challenge_methods_supported of {documentUrl} is {observed}{by}.",
        why="Clients must refuse to go on where S256 is not advertised, even if it works.",
        recommendation='Set code_challenge_methods_supported to ["S256"] in {documentUrl}.',
        spec=f"{_SECURITY}#authorization-code-protection",
        blocks=True,
    )
    def check_rule_pkce(self, document_by_2025_11_25: ServerDocument) -> Findings:
        """OpenID's documents too."""
        yield from self._pkce(document_by_2025_11_25)

    @check(
        414,
        title="Endpoints by https",
        when="An endpoint in the document is no https URL, or is a private place of a public server's.",
        seen="{name} of {documentUrl} is {observed}, which {fault}.",
        why="Codes and tokens pass there; without encryption whoever sits between has them.",
        recommendation="Set {name} to an https URL that clients can reach in {documentUrl}.",
        spec=f"{_SECURITY}#communication-security",
        blocks=True,
    )
    def check_rule_endpoints(self, document: ServerDocument) -> Findings:
        """On loopback http is no fault."""
        for name, url in _urls(document.members):
            fault = self._url_fault(url)
            if fault and (name.endswith("_endpoint") or name == "jwks_uri"):
                name_shown = Composed(clean(name, 60))
                yield Finding(name=name_shown, documentUrl=document.url, observed=quoted(url), fault=Composed(fault))

    @check(
        415,
        title="Server metadata's media type",
        when="Authorization server metadata was not served as application/json.",
        seen="{documentUrl} was served with Content-Type {observed}.",
        why="Clients that look at the type refuse the document.",
        recommendation="Serve {documentUrl} with Content-Type application/json instead of {observed}.",
        spec=f"{_RFC8414}#section-3.2",
    )
    def check_rule_server_type(self, document: ServerDocument) -> Findings:
        """Compares the essence."""
        if observed := _other_type(document.fetched):
            yield Finding(documentUrl=document.url, observed=observed)

    @check(
        416,
        title="Metadata is public",
        when="A place where clients look for metadata asks for authorization itself, or redirects to a web page.",
        seen="{url} {reason}.",
        why="Clients read it in order to learn how to authorize; they cannot authorize to read it.",
        recommendation="Serve {url} to everybody, in front of any login.",
        spec=f"{_RFC9728}#section-3",
        blocks=True,
    )
    def check_rule_public(self, places: Chain) -> Findings:
        """Storage that answers 403 for what is not there is no fault where the document is found elsewhere."""
        for location in places.consulted:
            if _is_closed(location.fetched, places.metadata is not None):
                yield Finding(url=location.fetched.url, reason=Composed(location.fetched.reason))
        if not places.documents:
            for _, fetched in places.places:
                if fetched.outcome in _UNUSABLE:
                    yield Finding(url=fetched.url, reason=Composed(fetched.reason))

    @check(
        417,
        title="Types of members",
        when="A member of a metadata document has another type than its format gives it.",
        seen="{name} of {documentUrl} is {observed}, not {wanted}.",
        why='Clients that check types refuse the document; to others "true" is not true.',
        recommendation="Make {name} in {documentUrl} {wanted}.",
        spec=f"{_RFC8414}#section-2",
        blocks=True,
    )
    def check_rule_types(self, described: Described) -> Findings:
        """Null is another rule's, as are resource and authorization_servers."""
        for name, wanted in _type_faults(described.members):
            yield Finding(
                name=Composed(clean(name, 60)),
                documentUrl=described.url,
                observed=quoted(described.members[name]),
                wanted=Composed(wanted),
            )

    @check(
        418,
        title="Bearer",
        when="The refusal has challenges, and none of the scheme Bearer.",
        seen="{refusal} with challenges for {schemes} only.",
        why="MCP clients authenticate by bearer tokens; they cannot meet any other challenge.",
        recommendation="Challenge with WWW-Authenticate: Bearer at {endpoint}.",
        spec=f"{_MCP}#token-requirements",
        blocks=True,
    )
    def check_rule_bearer(self, refusal: Chain) -> Findings:
        """None at all is another rule's."""
        gate = refusal.gate
        if gate.challenges.challenges and not gate.has_bearer:
            schemes = ", ".join(clean(one.scheme, 40) or "no scheme" for one in gate.challenges.challenges[:5])
            yield Finding(refusal=Composed(gate.told), schemes=Composed(schemes), endpoint=str(gate.endpoint))

    # What several rules need.

    def _since(self, revision: str, given: "Given[Any]", *, until: str = "9999") -> "Given[Any]":
        return given if revision <= self.revision <= until else Given()

    @property
    def _reads_oauth_only(self) -> bool:
        """Whether clients of the server's revision know no document of OpenID."""
        return self.revision < "2025-11-25"

    def _by(self) -> Composed:
        hidden = f" (judged by {self.revision}, since the refusal hides the revision that the server speaks)"
        return Composed(hidden if self._is_hidden else f" (judged by {self.revision}, which the server speaks)")

    def _registration(self) -> Registration | None:
        documents = () if self.seen is None or self.seen.doubt else self.seen.documents
        first = next((one for one in documents if one.members.get("issuer") == one.issuer), None)
        first = first or next(iter(documents), None)
        if first is None:
            return None
        endpoint = first.members.get("registration_endpoint")
        return Registration(
            document=first,
            cimd=first.members.get(_FLAGS[0]) is True,
            dcr=isinstance(endpoint, str) and bool(endpoint),
        )

    def _pkce(self, document: ServerDocument) -> Findings:
        methods = document.members.get("code_challenge_methods_supported")
        if not (isinstance(methods, list) and "S256" in methods):
            observed = MISSING if methods is None else _listed(methods)
            yield Finding(documentUrl=document.url, observed=Composed(observed), by=self._by())

    def _url_fault(self, url: str) -> str | None:
        return None if self.seen is None else _url_fault(url, self.seen)


_DOCUMENTS_TOLD: Final = {
    "both": "metadata by both OAuth and OpenID",
    "oauth only": "metadata by OAuth (RFC 8414) only, which is enough",
    "oidc only": "metadata by OpenID only, which is enough since 2025-11-25",
    "none": "no metadata",
}


def _in_short(chain: Chain) -> Iterator[str]:
    yield str(chain.gate.exchange.status)
    if chain.metadata is None:
        yield "no metadata"
        return
    yield f"metadata by the {chain.metadata.how} ({chain.metadata.fetched.url})"
    if chain.issuer is None:
        yield "no issuer"
        return
    yield f"the issuer {_issuer(chain)}"
    yield _DOCUMENTS_TOLD[_documents(chain)]


def _documents(chain: Chain) -> str:
    forms = {one.form.is_oauth for one in chain.documents}
    return {(): "none", (True,): "oauth only", (False,): "oidc only"}.get(tuple(forms), "both")


def _open_question(chain: Chain) -> str | None:
    return next((one.fetched.told for one in chain.locations if one.fetched.outcome is Outcome.OPEN_QUESTION), None)


def _errors(found: Gate) -> list[str]:
    return [one.parameters.get("error", "") for one in found.challenges.challenges]


def _well_known(found: Gate) -> str:
    """Where the endpoint's own metadata belongs."""
    endpoint = found.endpoint
    return str(endpoint.at(PRM + ("" if endpoint.path == "/" else endpoint.path)))


def _is_well_known(url: str, found: Gate) -> bool:
    return url in (_well_known(found), str(found.endpoint.at(PRM)))


def _metadata_url(chain: Chain) -> str:
    return chain.metadata.fetched.final_url if chain.metadata else ""


def _issuer(chain: Chain) -> str:
    return clean(chain.issuer.written, LONGEST) if chain.issuer else ""


def _member(members: Mapping[str, object], name: str) -> object:
    """A member's value, made harmless for the report."""
    match members.get(name):
        case str() as text:
            return clean(text, LONGEST)
        case list() as items:
            return [clean(item) for item in items[:20]]
        case _:
            return None


def _observed(members: Mapping[str, object], name: str) -> str:
    return quoted(members[name]) if name in members else MISSING


def _listed(value: object) -> str:
    if not isinstance(value, list):
        return quoted(value)
    shown = ", ".join(clean(item, 60) for item in value[:10])
    return f"[{shown}{', …' if len(value) > 10 else ''}]"


def _texts(value: object) -> set[str]:
    return {one for one in value if isinstance(one, str)} if isinstance(value, list) else set()


def _others(chain: Chain) -> Iterator[Fetched]:
    for location in chain.locations:
        if location is not chain.metadata and location.fetched.outcome is Outcome.DOCUMENT:
            yield location.fetched


def _other_type(fetched: Fetched) -> str | None:
    """The media type of a document, as it is shown, if it is not JSON's."""
    content_type = fetched.exchange.header("content-type") if fetched.exchange else None
    if essence(content_type) == JSON:
        return None
    return MISSING if content_type is None else quoted(content_type)


def _in_the_way(fetched: Fetched, document_url: str) -> Finding:
    return Finding(url=fetched.url, reason=Composed(fetched.reason), documentUrl=document_url)


def _is_closed(fetched: Fetched, is_elsewhere: bool) -> bool:
    if fetched.outcome not in _UNUSABLE:
        return False
    status = fetched.exchange.status if fetched.exchange else None
    return not (is_elsewhere and status == 403)


def _is_origin_at_root(chain: Chain) -> bool:
    endpoint = chain.gate.endpoint
    return (
        chain.metadata is not None
        and chain.metadata.how is How.ROOT
        and endpoint.path != "/"
        and is_resource(chain.members.get("resource"), str(endpoint.at("/")))
    )


def _url_fault(url: str, chain: Chain) -> str | None:
    """What is wrong with a URL for all the world; http is not on loopback, nor a private place of a private server."""
    try:
        parsed = Url.parse(url)
    except UrlError as error:
        return f"{error}"
    if is_inside(url) and not is_inside(str(chain.gate.endpoint)):
        return "is a place that only this machine or one network knows, named by a public server"
    if parsed.scheme != "https" and not chain.is_loopback:
        return "is not https"
    return None


def _pointer_fault(chain: Chain) -> str | None:
    pointer = chain.pointer
    if pointer is None:
        return None
    if pointer.name != METADATA_URL:
        return "is the metadata's URL under a name that no client looks for (it must be resource_metadata)"
    if fault := pointer.fault or _url_fault(pointer.written, chain):
        return fault
    followed = next((one.fetched for one in chain.locations if one.how is How.CHALLENGE), None)
    dead = (Outcome.ABSENT, Outcome.FAILED, Outcome.INSIDE, Outcome.OTHER)
    return followed.reason if followed is not None and followed.outcome in dead else None


def _resource_fault(chain: Chain) -> str | None:
    written = chain.members.get("resource")
    if written is None:
        return "is not there"
    if not isinstance(written, str):
        return f"is {kind(written)}, not a URL"
    if "#" in written:
        return "has a fragment"
    return _url_fault(written, chain)


def _server_faults(chain: Chain) -> Iterator[str]:
    servers = chain.members.get("authorization_servers")
    if servers is None:
        yield "is not there"
    elif not isinstance(servers, list):
        yield f"is {kind(servers)}, not an array"
    elif not servers:
        yield "is empty"
    for entry in chain.listed:
        if not isinstance(entry, str):
            yield f"has an entry that is {kind(entry)}"
        elif "?" in entry or "#" in entry:
            yield f"has {quoted(entry)}, with a query or a fragment, which an issuer may not have"
        elif "/.well-known/" in entry:
            yield f"has {quoted(entry)}, the URL of a metadata document instead of the issuer's"
        elif fault := _url_fault(entry, chain):
            yield f"has {quoted(entry)}, which {fault}"
    issuer = _issuer(chain)
    if _all_inside(chain) and not is_inside(issuer):
        yield f"has {quoted(issuer)}, which {chain.places[0][1].reason}"


def _all_inside(chain: Chain) -> bool:
    return bool(chain.places) and all(fetched.outcome is Outcome.INSIDE for _, fetched in chain.places)


def _required(members: Mapping[str, object]) -> Iterator[str]:
    """Which members a document needs, by its grants (RFC 8414, section 2)."""
    grants = members.get("grant_types_supported")
    granted = _texts(grants) if isinstance(grants, list) else {"authorization_code", "implicit"}
    yield "issuer"
    yield "response_types_supported"
    if granted & {"authorization_code", "implicit"}:
        yield "authorization_endpoint"
    if granted != {"implicit"}:
        yield "token_endpoint"


def _urls(members: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The members that are URLs, by what formats call them."""
    for name, value in members.items():
        if isinstance(value, str) and (name in ("issuer", "resource", "jwks_uri") or name.endswith("_endpoint")):
            yield name, value
        elif name == "authorization_servers" and isinstance(value, list):
            yield from ((f"{name}[{index}]", one) for index, one in enumerate(value) if isinstance(one, str))


def _type_faults(members: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in members.items():
        if value is None:
            continue
        if name in _FLAGS and not isinstance(value, bool):
            yield name, "a boolean"
        elif name in _ARRAYS and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
            yield name, "an array of strings"
        elif (name in ("issuer", "jwks_uri") or name.endswith("_endpoint")) and not isinstance(value, str):
            yield name, "a URL"


def _cors_faults(chain: Chain) -> Iterator[str]:
    preflight = chain.preflight
    if preflight is None:
        return
    allowed = _names(preflight.header("access-control-allow-headers"))
    if not 200 <= (preflight.status or 0) < 300:
        yield f"OPTIONS answered {preflight.status}"
    elif not preflight.header("access-control-allow-origin"):
        yield "OPTIONS was answered without Access-Control-Allow-Origin"
    elif missing := [
        name for name in _CORS_HEADERS if name not in allowed and (name == "authorization" or "*" not in allowed)
    ]:
        yield f"Access-Control-Allow-Headers lacks {', '.join(missing)}"
    # Of the refusals only this one answers a request with an Origin, as pages send it.
    refused = chain.token
    if refused is None or refused.answered != 401:
        return
    exposed = _names(refused.header("access-control-expose-headers"))
    if not refused.header("access-control-allow-origin"):
        yield "the 401 has no Access-Control-Allow-Origin"
    elif not exposed & {"www-authenticate", "*"}:
        yield "Access-Control-Expose-Headers lacks WWW-Authenticate"


def _names(header: str | None) -> set[str]:
    return {name.strip().lower() for name in (header or "").split(",")} - {""}
