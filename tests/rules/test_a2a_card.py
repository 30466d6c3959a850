"""What an Agent Card holds: where each rule fires, and where it must not."""

import pytest

from agents import (
    EARLY,
    HYBRID,
    NASTY,
    SKILL,
    V0_2,
    V0_3,
    V1,
    AgentSite,
    assert_harmless,
    auditor,
    changed,
    faults,
    fired_and_passed,
    interface,
    message,
    numbered,
    served,
    site,
    skill,
)
from parley.report import Status
from parley.rules.a2a_card import LONG, PROMPT, A2aCardRules
from sites import HOST

OURS = {row.number for row, _ in A2aCardRules.rules()}

PROMPTS = "You are a weather expert. You must never mention storms. Always respond in verse. " * 20
UNKNOWN = {f"member{index}": index for index in range(40)}

# A card; the numbers of what is told of it, beside that it was found (101).
CARDS: list[tuple[str, object, list[int]]] = [
    ("1.0", V1, []),
    ("0.3", V0_3, []),
    ("0.2", V0_2, []),
    ("both", HYBRID, []),
    ("an early 0.2", EARLY, [322]),
    # Required texts.
    ("no name", changed(V1, name=...), [410]),
    ("null name", changed(V1, name=None), [410]),
    ("a number for a name", changed(V0_3, name=7), [410]),
    ("blank name in 1.0", changed(V1, name=" "), [410]),
    ("blank name in 0.x", changed(V0_3, name=" "), [330]),
    ("no description", changed(V1, description=...), [411]),
    ("a list for a description", changed(V0_2, description=["x"]), [411]),
    ("empty description in 0.x", changed(V0_3, description=""), [330]),
    ("empty description in both", changed(HYBRID, description=""), [411]),
    ("no version", changed(V0_3, version=...), [412]),
    ("a number for a version", changed(V1, version=1.0), [412]),
    # Where it is.
    ("no url in 0.3", changed(V0_3, url=...), [413]),
    ("no url in an early 0.2", changed(EARLY, url=...), [322, 413]),
    ("null url in an early 0.2", changed(EARLY, url=None), [322, 413]),
    ("no url in an early 0.2, in snake_case", changed(EARLY, url=..., securitySchemes=..., security_schemes=EARLY["securitySchemes"]), [322, 413, 421]),
    ("no interfaces in 1.0, and a scheme of both dialects", changed(V1, supportedInterfaces=..., securitySchemes=HYBRID["securitySchemes"]), [414]),
    ("no interfaces in 1.0, and a scheme of 0.x", changed(V1, supportedInterfaces=..., protocolVersion="1.0", securitySchemes=EARLY["securitySchemes"]), [110, 414]),
    ("blank url in 0.3", changed(V0_3, url=" "), [413]),
    ("an object for a url in 0.2", changed(V0_2, url={}), [413]),
    ("no supportedInterfaces", changed(V1, supportedInterfaces=...), [414]),
    ("no entry in supportedInterfaces", changed(V1, supportedInterfaces=[]), [414]),
    ("an object for supportedInterfaces", changed(V1, supportedInterfaces={"url": "https://weather.example"}), [414]),
    ("an interface without its url", changed(V1, supportedInterfaces=[interface(url=...)]), [415]),
    ("an interface without its binding", changed(V1, supportedInterfaces=[interface(protocolBinding=...)]), [415]),
    ("an interface without its version", changed(V1, supportedInterfaces=[interface(protocolVersion=None)]), [415]),
    ("an interface with none of them", changed(V1, supportedInterfaces=[interface(), {}]), [415, 415, 415]),
    ("an interface that is a text", changed(V1, supportedInterfaces=[interface(), "https://weather.example"]), [415]),
    ("an interface's version is a number", changed(V1, supportedInterfaces=[interface(protocolVersion=1.0)]), [415]),
    ("an interface with a tenant", changed(V1, supportedInterfaces=[interface(tenant="x")]), []),
    ("an interface with a number for its tenant", changed(V1, supportedInterfaces=[interface(tenant=5)]), [426]),
    ("no additional interfaces", changed(V0_3, additionalInterfaces=[]), []),
    ("an additional interface without a transport", changed(V0_3, additionalInterfaces=[{"url": f"{HOST}/x"}]), [331]),
    ("an additional interface that is none", changed(V0_3, additionalInterfaces=[None]), [331]),
    ("additional interfaces of another type", changed(V0_3, additionalInterfaces="x"), [331]),
    ("a whole additional interface", changed(V0_3, additionalInterfaces=[{"url": f"{HOST}/x", "transport": "GRPC"}]), []),
    # Capabilities.
    ("no capabilities", changed(V1, capabilities=...), [416]),
    ("null capabilities", changed(V0_3, capabilities=None), [416]),
    ("an array of capabilities", changed(V0_3, capabilities=["streaming"]), [416]),
    ("empty capabilities", changed(V1, capabilities={}), []),
    ("a capability that is a text", changed(V0_3, capabilities={"streaming": "false"}), [425]),
    ("a capability that is a number", changed(V1, capabilities={"pushNotifications": 1}), [425]),
    ("an extended card that is a text", changed(V0_3, supportsAuthenticatedExtendedCard="yes"), [425]),
    ("an extended card", changed(V0_3, supportsAuthenticatedExtendedCard=True), []),
    ("a null capability", changed(V1, capabilities={"streaming": None}), [320]),
    ("an extension", changed(V1, capabilities={"extensions": [{"uri": "https://weather.example/ext/v1", "required": True}]}), [106]),
    ("an extension with all it may have", changed(V0_3, capabilities={"extensions": [{"uri": f"{HOST}/ext/v1", "description": "", "required": False, "params": {}}]}), [106]),
    ("a text for required", changed(V1, capabilities={"extensions": [{"uri": f"{HOST}/ext/v1", "required": "yes"}]}), [106, 426]),
    ("a number for an extension's description", changed(V1, capabilities={"extensions": [{"uri": f"{HOST}/ext/v1", "description": 5}]}), [106, 426]),
    ("a text for an extension's parameters", changed(V0_3, capabilities={"extensions": [{"uri": f"{HOST}/ext/v1", "params": "x"}]}), [106, 426]),
    ("an extension without a URI", changed(V1, capabilities={"extensions": [{"required": True}]}), [106, 332]),
    ("an extension that is a text", changed(V0_3, capabilities={"extensions": ["https://weather.example/ext/v1"]}), [332]),
    ("extensions of another type", changed(V0_3, capabilities={"extensions": {}}), [332]),
    ("what 1.0 no longer has", changed(V1, capabilities={"stateTransitionHistory": True}), [110]),
    ("what 0.3 still has", changed(V0_3, capabilities={"stateTransitionHistory": True}), []),
    # Modes.
    ("no input modes", changed(V1, defaultInputModes=...), [417]),
    ("no modes at all", changed(V0_3, defaultInputModes=..., defaultOutputModes=...), [417, 417]),
    ("a text for modes", changed(V0_3, defaultInputModes="text/plain"), [417]),
    ("a number among modes", changed(V0_3, defaultOutputModes=["text/plain", 7]), [417]),
    ("empty modes in 1.0", changed(V1, defaultOutputModes=[]), [417]),
    ("empty modes in 0.x", changed(V0_3, defaultOutputModes=[]), [329]),
    ("a bare word", changed(V1, defaultInputModes=["text"]), [321]),
    ("the same word twice", changed(V1, defaultInputModes=["text"], defaultOutputModes=["text", "image"]), [321, 321]),
    ("a skill's word", changed(V0_3, skills=[skill(inputModes=["json"])]), [321]),
    ("wildcards and parameters", changed(V1, defaultInputModes=["*/*", "image/*", "text/plain; charset=utf-8", "application/vnd.a+json"]), []),
    # Skills.
    ("no skills in 1.0", changed(V1, skills=...), [418]),
    ("no skills in 0.x", changed(V0_3, skills=...), [418]),
    ("empty skills in 1.0", changed(V1, skills=[]), [418]),
    ("empty skills in both", changed(HYBRID, skills=[]), [418]),
    ("empty skills in 0.x", changed(V0_3, skills=[]), [329]),
    ("an object for skills", changed(V1, skills={"a": SKILL}), [418]),
    ("a skill without an id", changed(V0_2, skills=[skill(id=...)]), [419]),
    ("a skill without anything", changed(V1, skills=[{}]), [419]),
    ("a skill that is a text", changed(V1, skills=[SKILL, "forecast"]), [419]),
    ("a skill with a number for its name", changed(V0_3, skills=[skill(name=7)]), [419]),
    ("a blank description of a skill in 1.0", changed(V1, skills=[skill(description="")]), [419]),
    ("a blank description of a skill in 0.x", changed(V0_3, skills=[skill(description="")]), [330]),
    ("a skill without tags", changed(V0_3, skills=[skill(tags=...)]), [419]),
    ("a skill with empty tags in 1.0", changed(V1, skills=[skill(tags=[])]), [419]),
    ("a skill with empty tags in 0.x", changed(V0_3, skills=[skill(tags=[])]), [329]),
    ("a blank tag in 1.0", changed(V1, skills=[skill(tags=[""])]), [419]),
    ("a blank tag in 0.x", changed(V0_3, skills=[skill(tags=[" ", ""])]), [330]),
    ("a blank tag in both", changed(HYBRID, skills=[skill(tags=[""])]), [419]),
    ("a blank tag beside another", changed(V1, skills=[skill(tags=["", "weather"])]), []),
    ("tags that are a text", changed(V1, skills=[skill(tags="weather")]), [419]),
    ("a number among tags", changed(V1, skills=[skill(tags=["a", 1])]), [419]),
    ("two skills of one id", changed(V1, skills=[SKILL, skill(name="Other")]), [420]),
    ("two of one id, twice", changed(V0_3, skills=[SKILL, SKILL, skill(id="b"), skill(id="b"), skill(id="c")]), [420, 420]),
    ("a skill's examples", changed(V1, skills=[skill(examples=["Will it rain?"], inputModes=["text/plain"])]), []),
    ("an example that is an object", changed(V0_3, skills=[skill(examples=[{"text": "Will it rain?"}])]), [426]),
    ("examples that are a text", changed(V1, skills=[skill(examples="Will it rain?")]), [426]),
    ("a number for the documentation", changed(V1, documentationUrl=7), [426]),
    ("the documentation", changed(V1, documentationUrl=f"{HOST}/docs", iconUrl=f"{HOST}/icon.png"), []),
    # Provider.
    ("no provider", changed(V1, provider=...), []),
    ("a provider that is a text", changed(V0_3, provider="Weather Ltd"), [422]),
    ("a provider without its organization", changed(V1, provider={"url": HOST}), [422]),
    ("a provider by another name", changed(V0_3, provider={"name": "Weather Ltd", "url": HOST}), [105, 422]),
    ("an empty provider", changed(V1, provider={}), [422, 422]),
    ("a null provider", changed(V0_3, provider=None), [320]),
    # Names of members.
    ("null for absent", changed(V1, iconUrl=None, documentationUrl=None, skills=[skill(examples=None)]), [320]),
    ("null schemes, which are told there", changed(V1, securitySchemes=None), []),
    ("null in an interface", changed(V1, supportedInterfaces=[interface(tenant=None)]), [320]),
    ("members nobody knows", changed(V1, **UNKNOWN), [105]),
    ("a misspelt member", changed(V1, documentationURL=f"{HOST}/docs"), [105]),
    ("a member that is the vendor's own", changed(V1, **{"x-weather": {}, "$schema": "https://weather.example/s"}), []),
    ("a skill's schema", changed(V0_3, skills=[skill(inputSchema={"type": "object"})]), [105]),
    ("what 0.1 had", changed(V0_3, authentication={"schemes": ["none"]}), [107]),
    ("members of 0.x in 1.0", changed(V1, protocolVersion="1.0", preferredTransport="JSONRPC"), [110]),
    ("modes in snake_case", changed(V1, defaultInputModes=..., default_input_modes=["text/plain"]), [421]),
    ("null, and the modes in snake_case", changed(V1, defaultInputModes=None, default_input_modes=["text/plain"]), [417]),
    ("both spellings", changed(V1, default_input_modes=["text/plain"]), []),
    ("an interface in snake_case", changed(V1, supportedInterfaces=[interface(protocolVersion=..., protocol_version="1.0")]), [421]),
    ("interfaces in snake_case", changed(V1, supportedInterfaces=..., supported_interfaces=[{"url": f"{HOST}/a2a", "protocol_binding": "JSONRPC", "protocol_version": "1.0"}]), [421]),
    ("a version and a transport in snake_case", changed(V0_3, protocolVersion=..., protocol_version="0.3.0", preferredTransport=..., preferred_transport="JSONRPC"), [421]),
    ("a skill's modes in snake_case", changed(V0_3, skills=[skill(input_modes=["text/plain"])]), [421]),
    ("others' names in snake_case", changed(V1, schema_version="1"), [105]),
    # Claims.
    ("no claim in 0.3", changed(V0_3, protocolVersion=...), [424]),
    ("blank claim", changed(V0_3, protocolVersion=""), [424]),
    ("a number for a claim", changed(V0_3, protocolVersion=0.3), [424]),
    ("a signed card without a claim", changed(EARLY, signatures=[{"protected": "e30", "signature": "x"}]), [323, 424]),
    ("no claim in both", changed(HYBRID, protocolVersion=...), [424]),
    ("no claim in both, early and signed", changed(HYBRID, protocolVersion=..., preferredTransport=..., signatures=[{"protected": "e30", "signature": "x"}]), [322]),
    ("no claim in both, early", changed(HYBRID, protocolVersion=..., preferredTransport=...), [322]),
    ("Major.Minor", changed(V0_3, protocolVersion="0.3"), []),
    ("claims 1.0", changed(V0_3, protocolVersion="1.0"), [423]),
    ("claims 1.0.0 without a transport", changed(V0_3, protocolVersion="1.0.0", preferredTransport=...), [323, 423]),
    ("claims 1.0 in both", changed(HYBRID, protocolVersion="1.0"), []),
    ("claims a date", changed(V0_3, protocolVersion="2025-06-01"), [324]),
    ("claims a version of MCP, which is told there", changed(V0_3, protocolVersion="2025-06-18"), []),
    ("claims a version of MCP in 1.0", changed(V1, protocolVersion="2025-06-18"), [110, 324]),
    ("claims a word", changed(V0_3, protocolVersion="latest"), [324]),
    ("claims 2.0", changed(V0_3, protocolVersion="2.0"), [324]),
    ("claims 0.3 with the members of 1.0", changed(V1, protocolVersion="0.3.0"), [110, 324]),
    ("no transport in 0.3", changed(V0_3, preferredTransport=...), [323]),
    ("no transport in 0.2", changed(V0_2, preferredTransport=...), []),
    ("no transport in both", changed(HYBRID, preferredTransport=...), [323]),
    # Two views.
    ("another url in both", changed(HYBRID, url=f"{HOST}/old"), [325]),
    ("another transport in both", changed(HYBRID, preferredTransport="GRPC"), [325]),
    ("the same with a slash in both", changed(HYBRID, url=f"{HOST}/a2a/"), []),
    ("the same by another name in both", changed(HYBRID, supportedInterfaces=[interface(protocolBinding="HTTP+JSON")], preferredTransport="REST"), []),
    ("one of two in both", changed(HYBRID, url=f"{HOST}/old", supportedInterfaces=[interface(), interface(url=f"{HOST}/old", protocolVersion="0.3")]), []),
    # Texts.
    ("a name to be filled in", changed(V1, name="${AGENT_NAME}"), [326]),
    ("a version to be filled in", changed(V0_3, version="{{ version }}"), [326]),
    ("a description to be written", changed(V1, description="TODO"), [326]),
    ("a provider at example.com", changed(V1, provider={"organization": "Weather Ltd", "url": "https://www.example.com/x"}), [326]),
    ("an agent at your domain", changed(V1, supportedInterfaces=[interface(url="https://your-domain.com/a2a")]), [326]),
    ("a text of printers", changed(V1, description="Lorem ipsum dolor sit amet, consectetur adipiscing elit."), [326]),
    ("an agent that writes it", changed(V1, description="Lorem ipsum generator."), []),
    ("an agent for to-do lists", changed(V1, description="Todo: manages your to-do lists."), []),
    ("a to-do list", changed(V1, description="Keeps your TODO list; write ${name} for a name, see example.com."), []),
    ("a skill that is called todo", changed(V1, skills=[skill(id="todo-list", name="TODO lists")]), []),
    ("a long description", changed(V1, description="Forecasts. " * 400), [327]),
    ("a prompt in a skill", changed(V1, skills=[skill(description=PROMPTS)]), [327]),
    ("a skill that is called so", changed(V1, skills=[skill(id="todo", name="Todo")]), []),
    ("a description that gives orders, but no role", changed(V1, description="You must sign in. Always use HTTPS. Do not share keys. " * 20), []),
    ("a description that addresses its reader", changed(V1, description="You must sign in. " + "It tells of rain. " * 60), []),
]  # fmt: skip


@pytest.mark.parametrize(("card", "numbers"), [case[1:] for case in CARDS], ids=[case[0] for case in CARDS])
def test_card(card: object, numbers: list[int]) -> None:
    report = auditor(site(card).audit())
    assert [number for number in numbered(report) if number in OURS] == [101, *numbers]
    assert not [one for one in report.untested if int(one.code.rpartition("-")[2]) in OURS]


def test_every_rule_fires_and_does_not() -> None:
    fired, passed = fired_and_passed(auditor(site(card).audit()) for _, card, _ in CARDS)
    assert fired >= OURS
    assert passed >= OURS - {101}  # which says what the card is


@pytest.mark.parametrize("card", [V1, V0_3, V0_2, HYBRID])
def test_a_card_without_a_fault_is_valid(card: dict[str, object]) -> None:
    report = auditor(site(card).audit())
    assert faults(report) == []
    assert report.status is Status.SUCCESS
    assert 200 in numbered(report)


# A card, a number, and words that its message has.
WORDS: list[tuple[object, int, list[str]]] = [
    (V1, 101, ["Weather: an Agent Card of A2A 1.0", "claims 1.0"]),
    (HYBRID, 101, ["A2A 1.0 and 0.x", "claims 0.3.0, 1.0"]),
    (EARLY, 101, ["A2A 0.2", "claims no version"]),
    (changed(V1, description=...), 411, ["missing; SDKs built on Protocol Buffers leave it out"]),
    (changed(V0_3, description=...), 411, ["has no description: missing."]),
    (changed(V0_3, name=None), 410, ["null"]),
    (changed(V1, supportedInterfaces=[interface(protocolBinding=..., transport="JSONRPC")]), 415, ["supportedInterfaces[0].protocolBinding", "(there is transport)"]),
    (changed(V0_3, protocolVersion=...), 424, ["has no protocolVersion: missing."]),
    (changed(V1, supportedInterfaces=[interface(protocolVersion=..., version="1.0")]), 415, ["missing (there is version)"]),
    (changed(V1, capabilities={"extensions": [{"uri": f"{HOST}/ext/v1", "required": "yes"}]}), 426, ["capabilities.extensions[0].required of ", "a string, not a boolean"]),
    (changed(V0_3, skills=[skill(tags=[""])]), 330, ["skills[0].tags of "]),
    (changed(HYBRID, url="https://user:secret@weather.example/"), 325, ["0.x to https://***@weather.example/ by"]),
    (changed(V1, defaultInputModes=..., default_input_modes=["text/plain"]), 421, [": default_input_modes."]),
    (changed(V1, skills=[SKILL, skill(id=..., tags=[])]), 419, ["skills[1]", "id is missing; tags is empty"]),
    (changed(V1, documentationURL="x"), 105, ["documentationURL (is documentationUrl meant?)"]),
    (changed(V1, **UNKNOWN), 105, ["member0", "and 28 more"]),
    (changed(V1, capabilities={"extensions": [{"uri": "https://weather.example/ext", "required": True}]}), 106, ["https://weather.example/ext (required, no version in its URI)"]),
    (changed(V1, capabilities=["a"]), 416, ["an array"]),
    (changed(HYBRID, url=f"{HOST}/old"), 325, [f"{HOST}/old by JSONRPC, which is not among supportedInterfaces"]),
    (changed(V1, skills=[skill(description=PROMPTS)]), 327, ["skills[0].description", "reads like a prompt"]),
    (changed(V1, skills=[SKILL, SKILL]), 420, ["2 skills", '"forecast"', "skills[0], skills[1]"]),
    (changed(V1, iconUrl=None, skills=[skill(examples=None)]), 320, [": iconUrl, skills[].examples."]),
]  # fmt: skip


@pytest.mark.parametrize(("card", "number", "words"), WORDS)
def test_words(card: object, number: int, words: list[str]) -> None:
    told = message(auditor(site(card).audit()), number)
    for word in words:
        assert word in told


def test_a_host_that_serves_the_card_is_no_placeholder() -> None:
    here = "https://youragent.io/.well-known/agent-card.json"
    for host, elsewhere in (("youragent.io", [326]), ("api.youragent.io", [326]), ("youragent.com", [326])):
        card = changed(V1, provider=..., supportedInterfaces=[interface(url=f"https://{host}/a2a")])
        report = auditor(AgentSite({here: served(card)}).audit("https://youragent.io"))
        assert (326 in faults(report)) is (host == "youragent.com")
        assert [number for number in faults(auditor(site(card).audit())) if number == 326] == elsewhere


def test_the_lengths_that_make_a_prompt() -> None:
    for text, fires in (
        ("x" * LONG, False),
        ("x" * (LONG + 1), True),
        (PROMPTS[:PROMPT], False),
        (PROMPTS[: PROMPT + 1], True),
    ):
        assert (327 in faults(auditor(site(changed(V1, description=text)).audit()))) is fires


def test_findings_are_bounded() -> None:
    card = changed(V1, skills=[{}] * 14_000, supportedInterfaces=[interface()] * 10)
    report = auditor(site(card).audit())
    rows = [one for one in report.checks if one.code.endswith("-419")]
    assert len(rows) == 50
    assert rows[-1].message.endswith("(and 13950 more like this)")


def test_fifteen_thousand_skills_are_read() -> None:
    report = auditor(
        site(changed(V1, skills=[{"id": "s", "name": "n", "description": "d", "tags": ["t"]}] * 15_000)).audit()
    )
    assert [number for number in faults(report) if number in OURS] == [420]
    assert "15000 skills" in message(report, 420)


@pytest.mark.parametrize("card", [V1, V0_3, HYBRID], ids=["1.0", "0.3", "both"])
def test_any_value_anywhere(card: dict[str, object]) -> None:
    """No member's type makes a rule crash, and what is shown is clean."""
    nested = [(name, value) for name in card for value in NASTY]
    nested += [("skills", [skill(**{name: value})]) for name in (*SKILL, "examples", "inputModes") for value in NASTY]
    nested += [("supportedInterfaces", [interface(**{name: value})]) for name in interface() for value in NASTY]
    nested += [("additionalInterfaces", [value]) for value in NASTY]
    nested += [("capabilities", {name: value}) for name in ("streaming", "extensions") for value in NASTY]
    nested += [("signatures", [{"protected": value, "signature": value, "header": value}]) for value in NASTY]
    nested += [("securitySchemes", {"key": {"openIdConnectUrl": value, "scheme": value}}) for value in NASTY]
    for name, value in nested:
        report = auditor(site(changed(card, **{name: value})).audit())
        assert_harmless(report, (name, value))
