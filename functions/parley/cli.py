"""The command line: ``parley audit URL``, ``parley serve``, ``parley checks``.

What a command does not need is not imported: ``--help`` and ``--version`` are answered at once.
"""

import argparse
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from parley import __version__

if TYPE_CHECKING:
    from parley.evidence import Evidence
    from parley.render.report_json import ReportJson
    from parley.report import Report

PASSED: Final = 0
FOUND: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130

AT_ONCE: Final = 8
"""Audits that run side by side when several URLs are given."""

_PUBLIC_HEADERS: Final = frozenset({"accept-language", "cache-control", "dnt"})
_OWN_HEADERS: Final = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type"}
    | {"host", "origin", "transfer-encoding", "user-agent"}
)
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2

_EPILOG: Final = """\
exit codes: 0 passed; 1 findings at or above --fail-on; 2 wrong usage, a URL that may not be audited, or an audit
that proves nothing about the site (a bot wall, Parley's own limits)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="parley: %(message)s")
    try:
        if sys.stdout is None:
            raise UsageError("there is no standard output to write to")
        return int(options.run(options))
    except UsageError as error:
        print(f"parley: {error}", file=sys.stderr)
        return USAGE
    except BrokenPipeError:
        # Whoever read the output has seen enough; Python must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return USAGE
    except OSError as error:
        print(f"parley: cannot write the output: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python tries again at exit
        return USAGE
    except KeyboardInterrupt:
        print("parley: interrupted", file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)  # audits under way are not waited for


class UsageError(Exception):
    """The command was called wrongly, or with a file it cannot use."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="parley",
        description="Says whether AI agents can discover, trust and talk to what is at a URL, and what to mend.",
    )
    parser.add_argument("--version", action="version", version=f"parley {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    audit = commands.add_parser(
        "audit",
        help="audit URLs",
        description="Audit URLs. A bare host means https://.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    audit.set_defaults(run=_audit)
    audit.add_argument(
        "urls", nargs="*", metavar="URL", help="what to audit; - reads URLs from standard input, one a line"
    )
    audit.add_argument(
        "--format",
        choices=("auto", "text", "json"),
        default="auto",
        help="auto: a table on a terminal, text in a pipe, JSON Lines for several URLs",
    )
    audit.add_argument("--output", type=Path, metavar="FILE", help="write there instead of to standard output")
    audit.add_argument(
        "--fail-on",
        choices=("fail", "warning", "never"),
        default="fail",
        help="what makes the exit code 1 (default: fail)",
    )
    audit.add_argument("--record", type=Path, metavar="FILE", help="save the evidence, to be judged again by --replay")
    audit.add_argument("--replay", type=Path, metavar="FILE", help="judge saved evidence; nothing is fetched")
    audit.add_argument(
        "--timeout",
        type=_seconds,
        metavar="S",
        help="seconds for one request (default: 8); a whole audit may take two and a half times that",
    )
    audit.add_argument(
        "--header",
        action="append",
        type=_header,
        default=[],
        metavar="'N: V'",
        help="send this to the target's own origin, and nowhere else (for your own protected server)",
    )
    audit.add_argument("--ca-file", type=Path, metavar="F", help="trust these certificates too (PEM)")
    audit.add_argument("--proxy", metavar="U", help="go through this HTTP proxy")

    serve = commands.add_parser(
        "serve",
        help="serve the page and the API on this machine",
        description="Serve the page and the API. Loopback and private targets are audited for this user only.",
    )
    serve.set_defaults(run=_serve)
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", type=_port, default=8484, help="port to listen on, 0 for a free one (default: 8484)")
    serve.add_argument(
        "--store", type=Path, metavar="FILE", help="where reports are kept (default: in the user's cache)"
    )

    checks = commands.add_parser("checks", help="list all CheckCodes", description="List all CheckCodes.")
    checks.set_defaults(run=_checks)
    checks.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    return parser


def _audit(options: argparse.Namespace) -> int:
    urls = list(_urls(options.urls))
    if options.replay is not None:
        if urls:
            raise UsageError("--replay judges a recording; leave out the URL")
        gathered: Iterator[Evidence] = iter((_recording(options.replay),))
        many = False
    else:
        if not urls:
            raise UsageError("say what to audit: parley audit https://example.com")
        many = len(urls) > 1
        if many and options.record is not None:
            raise UsageError("--record takes one URL")
        gathered = _gather(urls, options)
    gathered = _started(gathered)
    worst = PASSED
    with _out(options.output) as out:
        for evidence in gathered:
            if options.record is not None:
                _write_private(options.record, _encode(evidence))
            report, shown = _judge(evidence)
            _show(shown, options.format, out, many=many)
            worst = max(worst, _exit_code(report, options.fail_on))
    return worst


def _started(gathered: Iterator["Evidence"]) -> Iterator["Evidence"]:
    """The same, once the first is there: until then, what was there before is not written over."""
    from itertools import chain

    return chain([next(gathered)], gathered)


def _gather(urls: list[str], options: argparse.Namespace) -> Iterator["Evidence"]:
    from concurrent.futures import ThreadPoolExecutor

    from parley.audit import gather
    from parley.fetch.client import Fetcher
    from parley.fetch.policy import LOCAL, Limits
    from parley.target import Target

    if len({name.lower() for name, _ in options.header}) < len(options.header):
        raise UsageError("--header was given twice for one name")
    limits = Limits() if options.timeout is None else Limits.for_timeout(options.timeout)
    headers = dict(options.header)

    def open_door(target: Target) -> Fetcher:
        ca_file = None if options.ca_file is None else str(options.ca_file)
        try:
            return Fetcher(target.url, LOCAL, limits=limits, own_headers=headers, ca_file=ca_file, proxy=options.proxy)
        except ValueError as error:
            raise UsageError(str(error)) from error

    open_door(Target.parse("http://localhost")).close()  # so that a wrong option is told before anything is written

    def one(url: str) -> "Evidence":
        return gather(url, open_door, own_headers=headers)

    if len(urls) == 1:
        yield one(urls[0])
        return
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from _with_progress(pool.map(one, urls), len(urls))


def _with_progress(results: Iterator["Evidence"], total: int) -> Iterator["Evidence"]:
    if not sys.stderr.isatty():
        yield from results
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(results, description="auditing", total=total, console=Console(stderr=True), transient=True)


def _judge(evidence: "Evidence") -> tuple["Report", "ReportJson"]:
    from parley.audit import judge
    from parley.render.report_json import report_json

    report = judge(evidence.masked(_secrets(evidence.own_headers)))
    return report, report_json(report)


def _secrets(headers: Mapping[str, str]) -> Iterator[str]:
    """The values that no output but a recording shows: whole and in their parts, and as they may come back."""
    from urllib.parse import quote

    for name, value in headers.items():
        if name.lower() in _PUBLIC_HEADERS:
            continue
        parts = {value, value.partition(" ")[2].strip()}  # without the scheme: Bearer
        parts |= {part.strip() for part in re.split(r"[;,]", value)}
        parts |= {part.partition("=")[2].strip(' "') for part in parts if "=" in part.rstrip("=")}
        parts |= {piece for part in parts for piece in _decoded_basic(value, part)}
        for part in parts:
            yield part
            yield quote(part, safe="")


def _decoded_basic(value: str, part: str) -> tuple[str, ...]:
    """A user's name and password, whole and the password alone (RFC 7617)."""
    if not value.lower().startswith("basic "):
        return ()
    import base64

    try:
        pair = base64.b64decode(part, validate=True).decode("utf-8")
    except ValueError:
        return ()
    return pair, pair.partition(":")[2]


def _show(report: "ReportJson", wanted: str, out: TextIO, *, many: bool) -> None:
    if wanted == "json" or (wanted == "auto" and many):
        from parley.render.report_json import encode

        out.write(encode(report, indent=None if many else 2).decode() + ("\n" if many else ""))
    elif wanted == "auto" and out.isatty():
        from parley.render.terminal import print_report

        print_report(report, out)
    else:
        from parley.render.text import text

        out.write(text(report) + ("\n" if many else ""))
    out.flush()


def _exit_code(report: "Report", fail_on: str) -> int:
    from parley.report import Status

    if report.refusal is not None or not report.conclusive:
        return USAGE
    threshold = {"fail": Status.FAIL.rank, "warning": Status.WARNING.rank, "never": Status.FAIL.rank + 1}[fail_on]
    return FOUND if report.status.rank >= threshold else PASSED


def _serve(options: argparse.Namespace) -> int:
    from parley.serve import serve

    return serve(options.host, options.port, options.store or _cache() / "reports.sqlite3")


def _checks(options: argparse.Namespace) -> int:
    from parley.render import catalogue

    render: dict[str, Callable[[], str]] = {
        "text": catalogue.checks_text,
        "json": catalogue.checks_json,
        "markdown": catalogue.checks_markdown,
    }
    sys.stdout.write(render[options.format]())
    return PASSED


def _urls(given: list[str]) -> Iterator[str]:
    for url in given:
        if url == "-":
            yield from filter(None, (line.strip() for line in sys.stdin))
        else:
            yield url


def _recording(path: Path) -> "Evidence":
    import json

    from parley.evidence import Evidence, RecordingError

    try:
        return Evidence.from_json(json.loads(path.read_bytes()))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except RecordingError as error:
        raise UsageError(f"{path} is no recording that can be judged: {error}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no recording: it is not JSON") from error


def _encode(evidence: "Evidence") -> str:
    import json

    return json.dumps(evidence.to_json(), indent=1) + "\n"


def _write_private(path: Path, text: str) -> None:
    """Write for this user's eyes only: a recording may hold what ``--header`` sent."""
    try:
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _out(path: Path | None) -> TextIO:
    if path is None:
        # A target's text may hold what the terminal's encoding has no character for.
        return open(sys.stdout.fileno(), "w", encoding=sys.stdout.encoding, errors="backslashreplace", closefd=False)
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _cache() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "parley"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "parley"


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 600:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0.1 and 600 seconds")
    return seconds


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if not colon or not _TOKEN.fullmatch(name) or not value.isprintable() or not value.isascii():
        raise argparse.ArgumentTypeError("a header is 'Name: value' in printable ASCII")
    if name.lower() in _OWN_HEADERS:
        raise argparse.ArgumentTypeError(f"{name} is set by Parley itself")
    return name, value


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")
    return int(text)
