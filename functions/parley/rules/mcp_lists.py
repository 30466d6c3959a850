"""Rules on the lists: that they are answered, hold still, end, and hold what the specification says."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from parley.documents.mcp import INVALID_PARAMS, MEMBERS, Listing
from parley.documents.mcp_plan import STEPS, Purpose
from parley.documents.mcp_reply import Reply
from parley.rules.mcp_evidence import LEGACY, MODERN, Declared, Entry, McpEvidence, Readings, is_refused, is_since
from parley.rules.rule import Composed, Finding, Findings, Given, check
from parley.rules.tool_schemas import (
    Judge,
    Schema,
    Verdict,
    arrays_without_items,
    external_references,
    header_faults,
    sensitive_headers,
)
from parley.wire.text import clean, kind, quoted

_TOOLS: Final = f"{MODERN}/server/tools"
_SCHEMAS: Final = f"{MODERN}/basic#json-schema-usage"
_HEADERS: Final = f"{MODERN}/basic/transports/streamable-http#custom-headers-from-tool-parameters"

_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_PORTABLE_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:%[0-9A-Fa-f]{2}|[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=])*")
_EXPRESSION: Final = re.compile(r"\{[^{}]*\}")
_SHOWN: Final = 10


class McpListRules(McpEvidence):
    """Numbers 103, 150, x50 to x53 and x60 to x69."""

    def declared_unlisted(self) -> Given[Declared]:
        """The tool list of a server that declares no tools."""
        given = self.declared()
        return Given(tuple(one for one in given.values if not one.is_declared), given.missing)

    def schema(self) -> Given[tuple[Schema, Verdict]]:
        """Every tool's schemas with what came of them, from 2025-11-25 on."""
        given = self.new_tool()
        judge = Judge()
        judged = [
            (schema, judge.verdict(schema))
            for tool in given.values
            for member in ("inputSchema", "outputSchema")
            if member in tool.members and tool.members[member] is not None
            for schema in [Schema(tool=tool.shown, member=member, value=tool.members[member])]
        ]
        untold = next((verdict.untold for _, verdict in judged if verdict.untold), None)
        return Given(tuple(pair for pair in judged if pair[1].untold is None), given.missing or untold)

    @check(
        103,
        title="Tools",
        when="The tool list was read.",
        seen="{endpoint} lists {count} tools{more}.",
        why="It is what agents come for.",
        spec=f"{_TOOLS}#listing-tools",
    )
    def check_rule_tool_count(self, tool_list: Listing) -> Findings:
        """Of the newest era."""
        more = "" if tool_list.is_whole else ", and more on pages that were not read"
        yield Finding(
            endpoint=tool_list.pages[0].exchange.url,
            count=len(tool_list.items),
            more=Composed(more),
            tools=[clean(name) for name in _names(tool_list)[:50]],
        )

    @check(
        150,
        title="Tools of a legacy server vary",
        when="Two readings of a legacy server's tool list in one session differ.",
        seen="{endpoint} gives different tool lists in one session: {observed}.",
        why="Legacy revisions do not forbid it. Clients that read the list once work with a part of it.",
        recommendation="Give every request the same list, in the same order.",
        spec=f"{LEGACY}/server/tools#listing-tools",
    )
    def check_rule_legacy_varies(self, legacy_readings: Readings) -> Findings:
        """Order, membership and definitions in one."""
        first, second = legacy_readings.lists[0], legacy_readings.lists[1]
        if first.items != second.items:
            added = sorted(set(_names(first)) ^ set(_names(second)))
            changed = [*added, *_redefined([first, second])]
            what = (
                f"{_listed(changed)} {'varies' if len(changed) == 1 else 'vary'}" if changed else "their order varies"
            )
            yield Finding(endpoint=legacy_readings.endpoint, observed=Composed(what), tools=changed[:50])

    @check(
        350,
        title="Tools hold still",
        when="Readings of the tool list over different connections differ in which tools there are.",
        seen="{endpoint} gives each connection different tools. Not in every one of {count} readings: {tools}.",
        why="The list must not vary by connection: agents call tools that are gone, and never learn of others.",
        recommendation="Answer tools/list from the same data on every connection and every instance.",
        spec=f"{_TOOLS}#capabilities",
    )
    def check_rule_membership(self, readings: Readings) -> Findings:
        """A list that changed once and then stayed may have been deployed anew between two readings."""
        sets = [frozenset(_names(one)) for one in readings.lists]
        if _varies(sets):
            changing = sorted(frozenset.union(*sets) - frozenset.intersection(*sets))
            yield Finding(
                endpoint=readings.endpoint,
                tools=Composed(_listed(changing)),
                count=len(sets),
                varying=[clean(name) for name in changing[:50]],
            )

    @check(
        351,
        title="Order of tools",
        when="Readings of the tool list over different connections hold the same tools in another order.",
        seen="{endpoint} lists the same tools in another order each time: {tools} changed places.",
        why="A stable order lets clients and models keep what they have cached; it costs a prompt cache each time.",
        recommendation="Sort the tools before they are listed, or list them in order of registration.",
        spec=f"{_TOOLS}#capabilities",
    )
    def check_rule_order(self, readings: Readings) -> Findings:
        """Only where the tools are the same."""
        orders = [tuple(_names(one)) for one in readings.lists]
        if len({frozenset(order) for order in orders}) == 1 and _varies(orders):
            moved = sorted(
                {name for order in orders for name, was in zip(order, orders[0], strict=False) if name != was}
            )
            yield Finding(
                endpoint=readings.endpoint,
                tools=Composed(_listed(moved)),
                moved=[clean(name) for name in moved[:50]],
            )

    @check(
        352,
        title="Definitions of tools",
        when="Readings of the tool list over different connections define a tool differently.",
        seen="{endpoint} defines these tools differently each time: {tools}.",
        why="What a client has shown to its user and what a model was told then differ from what is called.",
        recommendation="Answer tools/list from the same data on every connection and every instance.",
        spec=f"{_TOOLS}#capabilities",
    )
    def check_rule_definitions(self, readings: Readings) -> Findings:
        """Tools that are in every reading."""
        definitions = [dict(_named(one)) for one in readings.lists]
        common = set.intersection(*(set(one) for one in definitions))
        changing = sorted(name for name in common if _varies([repr(one[name]) for one in definitions]))
        if changing:
            yield Finding(
                endpoint=readings.endpoint,
                tools=Composed(_listed(changing)),
                redefined=[clean(name) for name in changing[:50]],
            )

    @check(
        353,
        title="Invalid cursors",
        when="tools/list with a cursor that no page gave is not refused with -32602, though the list has pages.",
        seen="{endpoint} answers {observed} to a cursor that it never gave.",
        why="A client whose cursor has expired takes the wrong page for the next one.",
        recommendation="Answer -32602 (Invalid params) to a cursor that is not valid.",
        spec=f"{MODERN}/server/utilities/pagination#error-handling",
    )
    def check_rule_cursor(self, no_cursor: Reply) -> Findings:
        """A server that gives no cursors is not asked: no client could hold one."""
        if no_cursor.code != INVALID_PARAMS:
            yield Finding(endpoint=no_cursor.exchange.url, observed=no_cursor.told)

    @check(
        450,
        title="Declared lists answer",
        when="The list of a declared capability is answered by an error, or by a success without a response.",
        seen="{endpoint} declares {capability}, but answers {call} with {observed}.",
        why="Clients ask for what is declared, and many give up on the whole server when that fails.",
        recommendation="Answer {call} with a list, empty if there is nothing, or do not declare {capability}.",
        spec=f"{_TOOLS}#capabilities",
    )
    def check_rule_declared(self, declared: Declared) -> Findings:
        """Resource templates have no capability of their own. What else a 200 holds is the rule's on responses."""
        first = declared.listing.pages[0]
        is_judged = first.status == 200 and (not first.is_stream or declared.listing.purpose is Purpose.LEGACY_TOOLS)
        is_empty = first.message is None and not is_judged and 200 <= (first.status or 0) < 300
        if declared.is_declared and declared.call != "resources/templates/list" and (is_refused(first) or is_empty):
            yield Finding(
                endpoint=first.exchange.url, capability=declared.capability, call=declared.call, observed=first.told
            )

    @check(
        451,
        title="Listed tools are declared",
        when="tools/list gives tools although the server does not declare the tools capability.",
        seen="{endpoint} lists {count} tools, but does not declare the tools capability.",
        why="Clients go by what is declared: they never ask for these tools.",
        recommendation="Declare the tools capability.",
        spec=f"{_TOOLS}#capabilities",
    )
    def check_rule_undeclared(self, declared_unlisted: Declared) -> Findings:
        """An empty list is no offer."""
        listing = declared_unlisted.listing
        if declared_unlisted.call == "tools/list" and listing.items:
            yield Finding(endpoint=listing.pages[0].exchange.url, count=len(listing.items))

    @check(
        452,
        title="Lists end",
        when="A list's cursors, or its pages, run in a circle.",
        seen="{endpoint} leads round in a circle: {call} gave the cursor {cursor} again, or the same page.",
        why="Clients that follow every cursor, as they must, never come to an end.",
        recommendation="Leave out nextCursor on the last page; an empty text is a cursor like any other.",
        spec=f"{MODERN}/server/utilities/pagination#implementation-guidelines",
    )
    def check_rule_loop(self, listing: Listing) -> Findings:
        """Each cursor is followed once."""
        if listing.loop is not None:
            call = STEPS[listing.purpose].call
            yield Finding(endpoint=listing.pages[0].exchange.url, call=call, cursor=quoted(listing.loop))

    @check(
        160,
        title="Tool names in all clients",
        when="A tool's name is legal, but has a dot or more than 64 characters.",
        seen="The tool name {tool} is legal, but several clients allow no dots and no more than 64 characters.",
        why="Clients with such limits rename the tool, or refuse it.",
        recommendation="Where such clients matter, name the tool by letters, digits, _ and - only, up to 64.",
        spec=f"{_TOOLS}#tool-names",
    )
    def check_rule_portable_name(self, new_tool: Entry) -> Findings:
        """Portability, no fault."""
        name = new_tool.members.get("name")
        if isinstance(name, str) and _TOOL_NAME.fullmatch(name) and not _PORTABLE_NAME.fullmatch(name):
            yield Finding(tool=name)

    @check(
        161,
        title="Arrays in schemas",
        when="A tool's inputSchema has an array whose items are left open.",
        seen="The inputSchema of {tool} has an array without items.",
        why="It is valid JSON Schema, but several clients and models refuse it.",
        recommendation="Say what the array holds, by items.",
        spec=_SCHEMAS,
    )
    def check_rule_open_arrays(self, tool: Entry) -> Findings:
        """Portability, no fault."""
        if arrays_without_items(tool.members.get("inputSchema")):
            yield Finding(tool=tool.shown)

    @check(
        360,
        title="Tool names",
        when="A tool's name is not 1 to 128 letters, digits, underscores, hyphens and dots.",
        seen="{observed} is no tool name: 1 to 128 of A-Z, a-z, 0-9, _, - and . are allowed.",
        why="Clients hand the name to models and APIs that take these characters only, and drop the tool or fail.",
        recommendation="Rename the tool, and put the words for people into its title.",
        spec=f"{_TOOLS}#tool-names",
    )
    def check_rule_name(self, new_tool: Entry) -> Findings:
        """The published text, which has no slash."""
        name = new_tool.members.get("name")
        if isinstance(name, str) and not _TOOL_NAME.fullmatch(name):
            yield Finding(observed=quoted(name))

    @check(
        361,
        title="Unique tool names",
        when="Two tools have the same name.",
        seen="{endpoint} lists {count} tools named {tool}.",
        why="A call by that name can only reach one of them; clients keep the first or the last.",
        recommendation="Give every tool a name of its own.",
        spec=f"{_TOOLS}#tool-names",
    )
    def check_rule_unique(self, tool_list: Listing) -> Findings:
        """Names are case-sensitive. From 2025-11-25 on."""
        if self.found is None or not is_since(self.found.version, "2025-11-25") or tool_list.loop is not None:
            return
        for name, count in Counter(_names(tool_list)).items():
            if count > 1:
                yield Finding(endpoint=tool_list.pages[0].exchange.url, tool=clean(name), count=count)

    @check(
        362,
        title="External references",
        when="A tool's schema refers to another by an http(s) URL.",
        seen="The {member} of {tool} refers to {reference}.",
        why="Clients must not fetch it by themselves: they can neither check arguments nor show what is wanted.",
        recommendation="Put what is referred to into the schema itself, under $defs.",
        spec=f"{MODERN}/basic#$ref-resolution",
    )
    def check_rule_references(self, modern_tool: Entry) -> Findings:
        """Never fetched. A reference to the schema's own $id is none to the outside."""
        for member in ("inputSchema", "outputSchema"):
            for reference in sorted(set(external_references(modern_tool.members.get(member))))[:_SHOWN]:
                yield Finding(tool=modern_tool.shown, member=member, reference=clean(reference))

    @check(
        363,
        title="Secrets in headers",
        when="A parameter whose name says that it is secret is sent as a header, by x-mcp-header.",
        seen="The parameter {parameter} of {tool} is sent as a header, by x-mcp-header.",
        why="Headers are read and logged by everything between client and server.",
        recommendation="Take x-mcp-header off {parameter}.",
        spec=f"{_TOOLS}#x-mcp-header",
    )
    def check_rule_sensitive(self, modern_tool: Entry) -> Findings:
        """By the parameter's name, its format, or writeOnly."""
        for name in sensitive_headers(modern_tool.members.get("inputSchema")):
            yield Finding(tool=modern_tool.shown, parameter=clean(name))

    @check(
        364,
        title="Icons",
        when="An icon's src is neither an https: nor a data: URL.",
        seen="{entry} has an icon with src {observed}.",
        why="Clients must refuse icons by other schemes.",
        recommendation="Serve icons by https, or write them as data: URLs.",
        spec=f"{MODERN}/basic#icons",
    )
    def check_rule_icons(self, modern_entry: Entry) -> Findings:
        """Of tools, prompts, resources and templates."""
        icons = modern_entry.members.get("icons")
        for icon in icons if isinstance(icons, list) else ():
            source = icon.get("src") if isinstance(icon, dict) else None
            if not (isinstance(source, str) and source.lower().startswith(("https:", "data:"))):
                yield Finding(entry=modern_entry.shown, observed=quoted(source))

    @check(
        365,
        title="Resource URIs",
        when="A resource's uri, or a template's uriTemplate, is none by RFC 3986.",
        seen="{call} gives {observed}, which is no {what}.",
        why="Clients parse it to know its scheme, and ask for it by it.",
        recommendation="Percent-encode what does not belong in a URI, and begin with a scheme.",
        spec=f"{MODERN}/server/resources#custom-uri-schemes",
    )
    def check_rule_uris(self, modern_entry: Entry) -> Findings:
        """A template may begin with an expression."""
        members = modern_entry.members
        if modern_entry.call == "resources/list" and not _is_uri(members.get("uri")):
            yield Finding(call=modern_entry.call, observed=quoted(members.get("uri")), what="URI")
        if modern_entry.call == "resources/templates/list" and not _is_template(members.get("uriTemplate")):
            yield Finding(call=modern_entry.call, observed=quoted(members.get("uriTemplate")), what="URI template")

    @check(
        460,
        title="inputSchema",
        when='A tool has no inputSchema, or one that is no object with type "object".',
        seen="The inputSchema of {tool} is {observed}.",
        why="Arguments are an object by name. Many clients refuse the whole list for one tool without this.",
        recommendation='Set inputSchema to an object with type "object"; without arguments, that is all it needs.',
        spec=f"{_TOOLS}#tool",
    )
    def check_rule_input_schema(self, tool: Entry) -> Findings:
        """Of every revision."""
        match tool.members.get("inputSchema"):
            case {"type": "object"}:
                return
            case dict(schema):
                observed = f"of type {quoted(schema['type'])}" if "type" in schema else "an object without a type"
            case None if "inputSchema" not in tool.members:
                observed = "missing"
            case other:
                observed = kind(other)
        yield Finding(tool=tool.shown, observed=Composed(observed))

    @check(
        461,
        title="Schemas are valid",
        when="A tool's schema is not valid under the dialect that it declares, or under 2020-12 if it declares none.",
        seen="The {member} of {tool} {fault}.",
        why="Clients check arguments by it; one broken schema makes some refuse every tool.",
        recommendation="Mend the schema, or declare its dialect by $schema.",
        spec=_SCHEMAS,
    )
    def check_rule_schema(self, schema: tuple[Schema, Verdict]) -> Findings:
        """Nothing is fetched, and only so much is looked at."""
        judged, verdict = schema
        if verdict.fault is not None:
            yield Finding(tool=judged.tool, member=judged.member, fault=Composed(verdict.fault))

    @check(
        462,
        title="outputSchema",
        when='A tool\'s outputSchema is no schema; up to 2025-11-25, it must be an object with type "object".',
        seen="The outputSchema of {tool} is {observed}.",
        why="Clients check structured results by it.",
        recommendation="Set outputSchema to a JSON Schema, or leave it out.",
        spec=f"{_TOOLS}#output-schema",
    )
    def check_rule_output_schema(self, typed_tool: Entry) -> Findings:
        """By the revision spoken."""
        schema = typed_tool.members.get("outputSchema")
        if "outputSchema" not in typed_tool.members:
            return
        is_modern = self.found is not None and self.found.is_modern
        if not isinstance(schema, dict):
            observed = kind(schema)
        elif not is_modern and schema.get("type") != "object":
            observed = f"of type {quoted(schema['type'])}" if "type" in schema else "an object without a type"
        else:
            return
        yield Finding(tool=typed_tool.shown, observed=Composed(observed))

    @check(
        463,
        title="x-mcp-header",
        when="An x-mcp-header breaks its rules: a header's name, once, on a string, integer or boolean property.",
        seen="The x-mcp-header {header} of {tool} {fault}.",
        why="Clients must leave out the whole tool.",
        recommendation="Mend the annotation, or take it off.",
        spec=_HEADERS,
    )
    def check_rule_headers(self, modern_tool: Entry) -> Findings:
        """Wherever in the inputSchema it is."""
        for header, fault in header_faults(modern_tool.members.get("inputSchema")):
            yield Finding(tool=modern_tool.shown, header=header, fault=Composed(fault))

    @check(
        464,
        title="Entries of lists",
        when="An entry of a list is no object, or lacks its name (a resource: its uri), or the list is no array.",
        seen="{endpoint} answers {call} with {observed}.",
        why="Clients that check what they get refuse the whole list.",
        recommendation="Give every entry the members that the schema requires.",
        spec=f"{MODERN}/schema",
    )
    def check_rule_entries(self, listing: Listing) -> Findings:
        """Of every list and revision."""
        call = STEPS[listing.purpose].call
        endpoint = listing.pages[0].exchange.url
        for page in listing.pages:
            value = page.result.get(MEMBERS[call], ...) if page.result is not None else []
            if not isinstance(value, list):
                observed = f"no {MEMBERS[call]}" if value is ... else f"{kind(value)} for {MEMBERS[call]}"
                yield Finding(endpoint=endpoint, call=call, observed=Composed(observed))
        required = {"resources/list": "uri", "resources/templates/list": "uriTemplate"}.get(call, "name")
        for index, item in enumerate(listing.items):
            if not isinstance(item, dict):
                observed = f"{kind(item)} for {MEMBERS[call]}[{index}]"
            elif not (isinstance(item.get(required), str) and item[required]):
                observed = f"no {required} in {MEMBERS[call]}[{index}]"
            else:
                continue
            yield Finding(endpoint=endpoint, call=call, observed=Composed(observed))


def _named(listing: Listing) -> Iterator[tuple[str, object]]:
    for item in listing.items:
        match item:
            case {"name": str(name)}:
                yield name, item


def _names(listing: Listing) -> list[str]:
    return [name for name, _ in _named(listing)]


def _redefined(lists: list[Listing]) -> list[str]:
    definitions = [dict(_named(one)) for one in lists]
    common = set.intersection(*(set(one) for one in definitions))
    return sorted(name for name in common if any(one[name] != definitions[0][name] for one in definitions))


def _varies(readings: list[object] | list[str] | list[frozenset[str]] | list[tuple[str, ...]]) -> bool:
    """Whether readings differ, other than by one change for good between the first and the second."""
    first, second, *others = readings
    return first != second and (not others or any(one != second for one in others))


def _listed(names: list[str]) -> str:
    shown = ", ".join(clean(name, 80) for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _is_uri(value: object) -> bool:
    return isinstance(value, str) and _URI.fullmatch(value) is not None


def _is_template(value: object) -> bool:
    if not isinstance(value, str):
        return False
    literal = _EXPRESSION.sub("", value)
    if "{" in literal or "}" in literal:
        return False
    return _URI.fullmatch(_EXPRESSION.sub("x", value)) is not None or value.startswith("{")
