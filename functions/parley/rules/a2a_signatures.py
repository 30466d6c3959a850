"""Signatures of Agent Cards: their form, and whether they verify with a key of the card's own site."""

from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

from parley.documents.agent_card import KEYS, AgentCard, Purpose, Shape, View, absolute, answer
from parley.documents.card_signature import (
    CHECKED,
    EXAMINED,
    SAME_KID,
    Allowance,
    FaultKind,
    FetchedKeySet,
    KeySet,
    Outcome,
    Signature,
    Signatures,
    check_signatures,
    key_set_urls,
    read_key_set,
)
from parley.documents.location import location, overtaxed
from parley.rules.a2a_evidence import V0_3, V1, A2aEvidence
from parley.rules.rule import Composed, Finding, Findings, Given, check
from parley.wire.text import clean, count, plain
from parley.wire.url import Url

_SIGNING: Final = f"{V1}#84-agent-card-signing"
_CANONICAL: Final = f"{V1}#841-canonicalization-requirements"
_FORMAT: Final = f"{V1}#842-signature-format"
_VERIFYING: Final = f"{V1}#843-signature-verification"
_FORMAT_0_3: Final = f"{V0_3}#556-agentcardsignature-object"
_JWK: Final = "https://www.rfc-editor.org/rfc/rfc7517.html"

_MALFORMED: Final = (
    "A signature that cannot be read protects nothing: clients that verify refuse the card, or ignore it."
)
_ALG: Final = "A client has to know from the signed header how to verify; without a key of its own, anybody could sign."
_KID: Final = "By its name a client finds the key among others; outside the protected header, anybody can change it."
_MEND_FORM: Final = "Sign {cardUrl} again with a JOSE library, and copy protected and signature unchanged."
_MEND_ALG: Final = "Sign {cardUrl} with an asymmetric algorithm, such as ES256, and name it in the protected header."
_MEND_KID: Final = "Put the key's kid into the protected header before signing {cardUrl}."


class SignedCard(NamedTuple):
    """A card with what came of its signatures."""

    card: AgentCard
    found: Signatures


class CardSignature(NamedTuple):
    """One signature of a card."""

    card: AgentCard
    signature: Signature
    unwritable: str | None


class CardKeySet(NamedTuple):
    """A key set of the card's own site that a signature of it names."""

    card: AgentCard
    url: str
    keys: KeySet


class A2aSignatureRules(A2aEvidence):
    """What A2A asks of signatures, and what can be said of who signed."""

    # The evidence.

    def signed(self) -> Given[SignedCard]:
        """Every card of a version that knows signatures, and that has some."""
        return Given(self._signed, self._missing())

    def signed_0_2(self) -> Given[AgentCard]:
        """Every card of A2A 0.2 that has signatures nevertheless."""
        return Given(
            tuple(card for card in self.cards if card.shape is Shape.V0_2 and _has_signatures(card)), self._missing()
        )

    def signature(self) -> Given[CardSignature]:
        """Every signature of such a card, the first 50 of each."""
        return Given(self._signatures, self._missing())

    def signature_1(self) -> Given[CardSignature]:
        """Every signature that clients of A2A 1.0 read."""
        return Given(tuple(one for one in self._signatures if View.V1 in one.card.views), self._missing())

    def signature_0_3(self) -> Given[CardSignature]:
        """Every signature that clients of A2A 0.3 alone read."""
        return Given(tuple(one for one in self._signatures if View.V1 not in one.card.views), self._missing())

    def tried(self) -> Given[CardSignature]:
        """Every signature that was tried with its key; the evidence is not whole where a sound one could not be."""
        return self._with(Outcome.VERIFIED, Outcome.UNMATCHED)

    def keyed(self) -> Given[CardSignature]:
        """Every signature whose key is there, fit for it or not."""
        return self._with(Outcome.VERIFIED, Outcome.UNMATCHED, Outcome.KEY_UNFIT)

    def verified_1(self) -> Given[CardSignature]:
        """Every signature that verifies, of a card that clients of A2A 1.0 read."""
        given = self._with(Outcome.VERIFIED)
        return Given(tuple(one for one in given.values if View.V1 in one.card.views), given.missing)

    def signing_keys(self) -> Given[CardKeySet]:
        """Every key set that could be read; the evidence is not whole where one could not be asked for."""
        return self._key_sets

    # Facts.

    @check(
        140,
        title="Signature verified",
        when="A signature of the card verifies with a key of the card's own site.",
        seen="{path} of {cardUrl} verifies with the key {kid} of {keySetUrl}, over {form}.{outside}",
        why=(
            "The card is as it was when the holder of that key signed it. The key comes from the same site, so it does "
            "not say who that is: verified is not yet trusted."
        ),
        spec=_VERIFYING,
    )
    def check_rule_verified(self, signature: CardSignature) -> Findings:
        """Says over which of the forms in use, since clients differ in that."""
        one = signature.signature
        if one.outcome is Outcome.VERIFIED and one.form is not None:
            unsigned = [clean(path, 80) for path in one.unsigned]
            yield _finding(
                signature,
                keySetUrl=one.key_set,
                form=Composed(one.form.told),
                canonicalForm=one.form.value,
                unsigned=unsigned,
                outside=Composed(
                    f" It says nothing about members outside it: {', '.join(unsigned)}." if unsigned else ""
                ),
            )

    @check(
        141,
        title="No key to check a signature with",
        when="A sound signature names no key set, or one that is of another site, not to be had, or without the key.",
        seen="There is no key to check {path} of {cardUrl} with: {reason}.",
        why=(
            "The signature may well be right; only clients that have the key from elsewhere can tell. A key set is "
            "asked for on the card's own site only."
        ),
        recommendation="If clients are to check it, name an https key set of the card's site as jku before signing.",
        spec=_VERIFYING,
    )
    def check_rule_no_key(self, signature: CardSignature) -> Findings:
        """No fault: clients may have keys from elsewhere (section 8.4.3)."""
        one = signature.signature
        if one.outcome is Outcome.NO_KEY:
            yield _finding(signature, reason=Composed(one.reason), jku=plain(one.jku) if one.jku is not None else "")

    @check(
        142,
        title="Signatures in an A2A 0.2 card",
        when="A card of A2A 0.2 has signatures.",
        seen="{cardUrl} is a card of A2A 0.2 and has signatures, which that version does not know.",
        why="Clients of A2A 0.2 ignore them; they came with A2A 0.3.",
        spec=_FORMAT_0_3,
    )
    def check_rule_signatures_0_2(self, signed_0_2: AgentCard) -> Findings:
        """Nothing is said about them: that version has no rule for them."""
        yield Finding(cardUrl=signed_0_2.url, nameOrUrl=signed_0_2.name_or_url)

    @check(
        143,
        title="Many signatures",
        when=f"A card has more than {EXAMINED} signatures.",
        seen="{cardUrl} has {signatures} signatures; the first {examined} were looked at.",
        why="Clients try one after the other, and need a few at most: one for each key in use.",
        recommendation="Keep on {cardUrl} the signatures of the keys in use.",
        spec=_SIGNING,
    )
    def check_rule_many(self, signed: SignedCard) -> Findings:
        """What was not looked at is not passed."""
        if signed.found.unexamined:
            yield Finding(
                cardUrl=signed.card.url,
                nameOrUrl=signed.card.name_or_url,
                signatures=signed.found.unexamined + EXAMINED,
                examined=EXAMINED,
            )

    @check(
        144,
        title="Signature not checked",
        when=(
            "A sound signature is of an algorithm, or has a critical extension (crit), that is not known here, or is "
            f"beyond the first {CHECKED} that are verified."
        ),
        seen="{path} of {cardUrl} was not verified: {reason}.",
        why="Whether it is right is not known.",
        spec=_VERIFYING,
    )
    def check_rule_not_checked(self, signature: CardSignature) -> Findings:
        """Those with faults have a finding of their own."""
        one = signature.signature
        if one.outcome is Outcome.NOT_CHECKED and not one.faults:
            yield _finding(signature, reason=Composed(one.reason))

    # Faults of form, by version.

    @check(
        470,
        title="Malformed signature",
        when="In A2A 1.0, signatures is no array of objects with a base64url protected header and signature.",
        seen="{path} of {cardUrl} {fault}.",
        why=_MALFORMED,
        recommendation=_MEND_FORM,
        spec=_FORMAT,
    )
    def check_rule_form_1(self, signature_1: CardSignature) -> Findings:
        """RFC 7515 has base64url without padding."""
        yield from _faults(signature_1, FaultKind.FORM)

    @check(
        370,
        title="Malformed signature (A2A 0.3)",
        when="In A2A 0.3, signatures is no array of objects with a base64url protected header and signature.",
        seen="{path} of {cardUrl} {fault}.",
        why=_MALFORMED,
        recommendation=_MEND_FORM,
        spec=_FORMAT_0_3,
    )
    def check_rule_form_0_3(self, signature_0_3: CardSignature) -> Findings:
        """The same for the version that came before."""
        yield from _faults(signature_0_3, FaultKind.FORM)

    @check(
        471,
        title="Signature without a safe algorithm",
        when="In A2A 1.0, a protected header has no alg, or alg is none or symmetric (HS256 and the like).",
        seen="{path} of {cardUrl} {fault}.",
        why=_ALG,
        recommendation=_MEND_ALG,
        spec=_FORMAT,
    )
    def check_rule_alg_1(self, signature_1: CardSignature) -> Findings:
        """A symmetric key cannot be published."""
        yield from _faults(signature_1, FaultKind.ALG)

    @check(
        371,
        title="Signature without a safe algorithm (A2A 0.3)",
        when="In A2A 0.3, a protected header has no alg, or alg is none or symmetric (HS256 and the like).",
        seen="{path} of {cardUrl} {fault}.",
        why=_ALG,
        recommendation=_MEND_ALG,
        spec=_FORMAT_0_3,
    )
    def check_rule_alg_0_3(self, signature_0_3: CardSignature) -> Findings:
        """The same for the version that came before."""
        yield from _faults(signature_0_3, FaultKind.ALG)

    @check(
        472,
        title="Signature without a kid",
        when="In A2A 1.0, a protected header has no kid.",
        seen="{path} of {cardUrl} {fault}.",
        why=_KID,
        recommendation=_MEND_KID,
        spec=_FORMAT,
    )
    def check_rule_kid_1(self, signature_1: CardSignature) -> Findings:
        """One in the unprotected header does not count."""
        yield from _faults(signature_1, FaultKind.KID)

    @check(
        372,
        title="Signature without a kid (A2A 0.3)",
        when="In A2A 0.3, a protected header has no kid.",
        seen="{path} of {cardUrl} {fault}.",
        why=_KID,
        recommendation=_MEND_KID,
        spec=_FORMAT_0_3,
    )
    def check_rule_kid_0_3(self, signature_0_3: CardSignature) -> Findings:
        """The same for the version that came before."""
        yield from _faults(signature_0_3, FaultKind.KID)

    @check(
        374,
        title="Signature's typ",
        when="In A2A 1.0, a protected header's typ is not JOSE.",
        seen="{path} of {cardUrl} has typ {typ} in its protected header, not JOSE.",
        why="A2A 1.0 advises JOSE, and the JavaScript SDK refuses a signature without any typ.",
        recommendation='Put "typ": "JOSE" into the protected header before signing {cardUrl}.',
        spec=_FORMAT,
    )
    def check_rule_typ(self, signature_1: CardSignature) -> Findings:
        """RFC 7515 has it as a media type, in any case; JOSE+JSON is its name for what a card holds."""
        one = signature_1.signature
        if not one.protected or any(fault.kind is FaultKind.FORM for fault in one.faults):
            return
        if not (isinstance(one.typ, str) and one.typ.upper().removeprefix("APPLICATION/") in ("JOSE", "JOSE+JSON")):
            yield _finding(signature_1, typ="(missing)" if one.typ is None else plain(one.typ))

    # Whether it verifies.

    @check(
        373,
        title="Signature does not verify",
        when="The key is there, and the signature fits none of the canonical forms that are in use.",
        seen="{path} of {cardUrl} does not verify with the key {kid} of {keySetUrl}, over no form known here{note}.",
        why=(
            "Either the card was changed after it was signed, or signed in a form that is not known here. Clients that "
            "verify refuse it either way."
        ),
        recommendation=(
            "Sign {cardUrl} again whenever it changes, over RFC 8785 without signatures; compare what is served with "
            "what was signed, and the key set with the key."
        ),
        spec=_CANONICAL,
    )
    def check_rule_unmatched(self, tried: CardSignature) -> Findings:
        """Wrong, or of a form that is not known: which one cannot be told."""
        one = tried.signature
        if one.outcome is Outcome.UNMATCHED:
            note = f" (RFC 8785 cannot write the card: {tried.unwritable})" if tried.unwritable else ""
            yield _finding(tried, keySetUrl=one.key_set, note=Composed(note))

    @check(
        375,
        title="Unfit signing key",
        when="The key that a signature names is of another type, use or algorithm than it, too short, or unreadable.",
        seen="{path} of {cardUrl} cannot be verified: the key {kid} of {keySetUrl} {reason}.",
        why="JOSE libraries refuse such a key, so no client can verify the signature.",
        recommendation="Publish at {keySetUrl} the public key that {cardUrl} is signed with, with use sig.",
        spec=f"{_JWK}#section-4",
    )
    def check_rule_unfit(self, keyed: CardSignature) -> Findings:
        """RSA keys shorter than 2048 bits are refused by RFC 7518, section 3.3."""
        one = keyed.signature
        if one.outcome is Outcome.KEY_UNFIT:
            yield _finding(keyed, keySetUrl=one.key_set, reason=Composed(one.reason))

    @check(
        376,
        title="Key named twice",
        when="A key set has several keys of one type by the name that a signature gives.",
        seen="{keySetUrl} has {keys} keys with the kid {kid}, which {path} of {cardUrl} names.",
        why="A client that takes the first one may take the wrong one, and refuse the signature.",
        recommendation="Give every key of {keySetUrl} a kid of its own.",
        spec=f"{_JWK}#section-4.5",
    )
    def check_rule_duplicate_kid(self, keyed: CardSignature) -> Findings:
        """Of several types, one name is allowed: those are alternatives."""
        one = keyed.signature
        for known in self._key_sets.values:
            if known.card is keyed.card and known.url == one.key_set:
                same = known.keys.named(one.kid)
                types = [key.get("kty") for key in same]
                if any(types.count(kty) > 1 for kty in types[: SAME_KID + 1]):
                    yield _finding(keyed, keySetUrl=known.url, keys=len(same))

    @check(
        377,
        title="Key set over http",
        when="A signature names a key set by http, on a host that is not this machine's own.",
        seen="{path} of {cardUrl} names its key set by http: {jku}.",
        why="Whoever is on the way to it can put a key of their own there, and sign any card with it.",
        recommendation="Name the key set of {cardUrl} by https.",
        spec=_VERIFYING,
    )
    def check_rule_http(self, signature: CardSignature) -> Findings:
        """On loopback nobody is on the way."""
        one = signature.signature
        url = absolute(one.jku)
        if not one.faults and url is not None and url.startswith("http:") and not Url.parse(url).is_loopback:
            yield _finding(signature, jku=url)

    @check(
        378,
        title="Signature over another form than A2A's",
        when="In A2A 1.0, a signature verifies only over a form that is known for an SDK's mistake.",
        seen="{path} of {cardUrl} verifies only over {form}: {fault}.",
        why="Clients that canonicalise as A2A 1.0 says arrive at other bytes, and take the signature for wrong.",
        recommendation="Update the SDK that signs {cardUrl}, and sign the JSON that is served.",
        spec=_CANONICAL,
    )
    def check_rule_form_at_fault(self, verified_1: CardSignature) -> Findings:
        """The text of A2A 1.0 is of two minds about default values, but not about RFC 8785 and whole members."""
        form = verified_1.signature.form
        if form is not None and form.fault is not None:
            yield _finding(verified_1, form=Composed(form.told), canonicalForm=form.value, fault=Composed(form.fault))

    @check(
        473,
        title="Private key published",
        when="A key set that a signature names holds private or symmetric keys.",
        seen="{keySetUrl} publishes secret parts of keys: {kids}.",
        why="Anybody can sign with them, cards and whatever else they are used for.",
        recommendation="Take the keys out of use now, and publish the public parts of new ones at {keySetUrl}.",
        spec=f"{_JWK}#section-9.2",
    )
    def check_rule_private_key(self, signing_keys: CardKeySet) -> Findings:
        """Names them, and shows nothing of them."""
        secret = signing_keys.keys.secrets
        if secret:
            more = f" and {count(len(secret) - 5, 'other')}" if len(secret) > 5 else ""
            yield Finding(
                cardUrl=signing_keys.card.url,
                nameOrUrl=signing_keys.card.name_or_url,
                keySetUrl=signing_keys.url,
                kids=Composed(", ".join(secret[:5]) + more),
            )

    # Reading.

    @cached_property
    def _key_sets(self) -> Given[CardKeySet]:
        missing = self._missing()
        found: list[CardKeySet] = []
        for card, _ in self._signed:
            for url, fetched in self._fetched(card).items():
                if fetched.body is None:
                    missing = f"{url} {fetched.reason}"
                elif (keys := read_key_set(fetched.body)).problem is None:
                    found.append(CardKeySet(card, url, keys))
        return Given(tuple(found), missing)

    @cached_property
    def _signed(self) -> tuple[SignedCard, ...]:
        allowance = Allowance()
        return tuple(
            SignedCard(card, check_signatures(self.as_received(card).members, card.url, self._fetched(card), allowance))
            for card in self.cards
            if card.shape is not Shape.V0_2 and _has_signatures(card)
        )

    @cached_property
    def _signatures(self) -> tuple[CardSignature, ...]:
        return tuple(
            CardSignature(card, signature, found.unwritable) for card, found in self._signed for signature in found.all
        )

    def _with(self, *outcomes: Outcome) -> Given[CardSignature]:
        missing = self._missing()
        found: list[CardSignature] = []
        for one in self._signatures:
            if one.signature.outcome in outcomes:
                found.append(one)
            elif one.signature.reason:
                missing = f"{one.signature.path} of {one.card.url} was not verified: {one.signature.reason}"
        return Given(tuple(found), missing)

    def _fetched(self, card: AgentCard) -> dict[str, FetchedKeySet]:
        return {url: self._answered(url) for url in key_set_urls(card.members, card.url)}

    def _answered(self, url: str) -> FetchedKeySet:
        exchange = answer(self.evidence.exchanges, Purpose.KEYS, url)
        if exchange is None:
            return FetchedKeySet(url, None, f"was not asked for: at most {KEYS} key sets are")
        if exchange.answered == 200:
            return FetchedKeySet(exchange.final_url, exchange.body)
        place = location(exchange, "", linked=False, by_target=overtaxed(self.evidence.exchanges))
        told = place.reason if exchange.failure is None else f"could not be had: {place.reason}"
        return FetchedKeySet(exchange.final_url, None, told)


def _has_signatures(card: AgentCard) -> bool:
    return card.members.get("signatures") not in (None, [])


def _faults(subject: CardSignature, kind: FaultKind) -> Iterator[Finding]:
    for fault in subject.signature.faults:
        if fault.kind is kind:
            yield _finding(subject, fault=Composed(fault.told))


def _finding(subject: CardSignature, **values: object) -> Finding:
    signature = subject.signature
    return Finding(
        cardUrl=subject.card.url,
        nameOrUrl=subject.card.name_or_url,
        path=signature.path,
        alg=signature.alg,
        kid=signature.kid,
        **values,
    )
