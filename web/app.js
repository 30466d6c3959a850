/**
 * The page: asks the API about one URL and shows the report.
 *
 * Anything in a report may be a stranger's text. It becomes text nodes and nothing else; `safeLink` alone makes an
 * address of it. The Content-Security-Policy (no inline code, Trusted Types 'none') holds that line a second time.
 */

const STATUS_WORDS = { FAIL: "fail", WARNING: "warning", SUCCESS: "success", INFORMATION: "not checked" };
const CHECK_WORDS = { ...STATUS_WORDS, INFORMATION: "information" };
const WORST_FIRST = Object.keys(STATUS_WORDS);
const STATE_WORDS = { not_detected: "not detected", indicated: "indicated", confirmed: "confirmed" };
const PROTOCOL_NAMES = { serverCard: "MCP Server Card", mcp: "MCP server", a2a: "A2A Agent Card" };

const NONE = "–"; // in a table's cell that has nothing to say
const ANSWER_MS = 60_000; // the server answers within 25 s, with 202 at the latest
const POLLS = 10; // 202s in a row after which an audit counts as lost
const POLL_SECONDS = { least: 1, most: 10, unsaid: 3 };

const page = Object.fromEntries(
  ["form", "url", "submit", "status", "problem", "report", "about"].map((id) => [id, document.getElementById(id)]),
);

/** The audit under way, or null. Only the newest may show its answer. @type {AbortController | null} */
let running = null;
/** The URL of the report on the page, as it was asked for. @type {string | null} */
let reported = null;

/* ---- Running an audit ---------------------------------------------------------------------------------------- */

/** Audits `text`, cancelling an audit under way. */
async function audit(text, { refresh = false } = {}) {
  const url = text.trim();
  running?.abort();
  running = null;
  if (!url) return refuseEmpty();
  const run = (running = new AbortController());
  showBusy(url);
  const outcome = await ask(url, refresh, run.signal);
  if (running !== run) return;
  running = null;
  showIdle();
  showOutcome(url, outcome);
}

function cancel() {
  running?.abort();
  running = null;
  showIdle();
  page.about.hidden = reported !== null;
  say("The audit was cancelled.");
}

/**
 * Asks the API until there is an answer. A failure is a value, too: this never throws.
 * @returns {Promise<{report?: Report, source?: Source, problem?: Problem}>}
 */
async function ask(url, refresh, signal) {
  const query = new URLSearchParams(refresh ? { url, refresh: "true" } : { url });
  for (let turn = 0; turn < POLLS && !signal.aborted; turn += 1) {
    const answer = await get(`v1/audit?${query}`, signal);
    if (answer?.status !== 202) return readAnswer(answer);
    const { least, most, unsaid } = POLL_SECONDS;
    await pause(Math.min(Math.max(retryAfter(answer.headers) ?? unsaid, least), most), signal);
  }
  return { problem: { title: "The audit is taking longer than it should", text: "Its report may be there in a minute.", retry: true } };
}

/** One GET of our own API; null if there was no answer. A body that is not JSON is undefined. */
async function get(path, signal) {
  try {
    const response = await fetch(path, {
      headers: { Accept: "application/json, application/problem+json" },
      cache: "no-store", // the server keeps the reports, and says how old one is
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
    });
    return { status: response.status, headers: response.headers, body: parseJson(await response.text()) };
  } catch {
    return null;
  }
}

/** Resolves after `seconds`, or at once when cancelled. */
function pause(seconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}

/* ---- Reading an answer: parse once, then trust the shape --------------------------------------------------------- */

function readAnswer(answer) {
  if (answer === null) {
    const text = "Parley could not be reached. Check your connection, then try again.";
    return { problem: { title: "No answer", text, retry: true } };
  }
  const { status, headers, body } = answer;
  if (status !== 200) return { report: readReport(body?.report), problem: readProblem(answer) };
  const report = readReport(body);
  if (!report) {
    const text = "Parley answered, but not with a report this page can read. Reload the page, then try again.";
    return { problem: { title: "The answer makes no sense", text, retry: true } };
  }
  const source = {
    cache: headers.get("X-Parley-Cache"),
    age: wholeNumber(headers.get("Age")),
    retryAfter: retryAfter(headers),
    unkept: headers.has("X-Parley-Store"),
  };
  return { report, source };
}

/** What went wrong, for a person. `application/problem+json` where it is that; the status code where it is not. */
function readProblem({ status, headers, body }) {
  const detail = sentence(textOf(body?.detail) || textOf(body?.title));
  const seconds = retryAfter(headers);
  const again = seconds === null ? "" : `Try again in ${inWords(seconds)}.`;
  if (status === 429) return { title: "Too many audits just now", text: join(detail, again), retry: true };
  if (status >= 500) {
    const ours = `This is a fault of Parley (HTTP ${status}) and says nothing about the URL.`;
    return { title: "Parley could not do this audit", text: join(ours, detail, again), retry: true };
  }
  const title = status === 400 ? "This URL cannot be audited" : `Parley refused (HTTP ${status})`;
  return { title, text: join(detail, again) || "It gave no reason.", retry: status !== 400 };
}

/** The report in `body` with every member in place, or undefined if it is no report. */
function readReport(body) {
  if (!isObject(body) || !Object.hasOwn(STATUS_WORDS, body.status)) return undefined;
  if (!isObject(body.protocols) || !Array.isArray(body.auditors)) return undefined;
  return {
    url: textOf(body.url),
    status: body.status,
    auditedAt: textOf(body.auditedAt),
    durationMs: Number.isFinite(body.durationMs) ? body.durationMs : null,
    protocols: Object.keys(PROTOCOL_NAMES)
      .filter((key) => isObject(body.protocols[key]))
      .map((key) => readProtocol(key, body.protocols[key])),
    auditors: objects(body.auditors).map(readAuditor),
    attempts: objects(body.attempts),
  };
}

function readProtocol(key, { state, status, because }) {
  const facts = (Array.isArray(because) ? because : []).map(textOf);
  return {
    key,
    name: PROTOCOL_NAMES[key],
    state: Object.hasOwn(STATE_WORDS, state) ? state : "not_detected",
    status: statusOf(status),
    because: facts,
  };
}

function readAuditor({ name, title, protocol, status, checks, passed, notApplicable, untested }) {
  const rank = (check) => WORST_FIRST.indexOf(check.status);
  const codes = (list) => (Array.isArray(list) ? list : []).map((code) => ({ code: textOf(code), reason: "" }));
  return {
    name: textOf(name),
    title: textOf(title) || textOf(name),
    protocol: textOf(protocol),
    status: statusOf(status),
    checks: objects(checks)
      .map((check) => ({
        code: textOf(check.code),
        status: statusOf(check.status),
        message: textOf(check.message),
        recommendation: textOf(check.recommendation),
      }))
      .sort((one, other) => rank(one) - rank(other)),
    passed: codes(passed),
    notApplicable: codes(notApplicable),
    untested: objects(untested).map((rule) => ({ code: textOf(rule.code), reason: textOf(rule.reason) })),
  };
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const objects = (value) => (Array.isArray(value) ? value.filter(isObject) : []);
const textOf = (value) => (["string", "number"].includes(typeof value) ? String(value) : "");
const statusOf = (value) => (Object.hasOwn(STATUS_WORDS, value) ? value : "INFORMATION");
const wholeNumber = (text) => (/^\d{1,9}$/.test(text ?? "") ? Number(text) : null);

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Seconds until one may ask again (RFC 9110, section 10.2.3: a number or a date), or null. */
function retryAfter(headers) {
  const value = headers.get("Retry-After");
  const seconds = wholeNumber(value) ?? (Date.parse(value ?? "") - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : null;
}

/* ---- Showing where the page stands ------------------------------------------------------------------------------- */

function showBusy(url) {
  if (page.problem.contains(document.activeElement) || page.report.contains(document.activeElement)) page.submit.focus();
  page.submit.textContent = "Cancel";
  page.submit.classList.remove("primary");
  page.url.removeAttribute("aria-invalid");
  page.report.setAttribute("aria-busy", "true");
  page.problem.replaceChildren();
  page.about.hidden = true;
  if (url !== reported) clearReport();
  page.status.replaceChildren(
    el("p", { class: "busy" }, el("span", { class: "spinner", "aria-hidden": "true" }), `Auditing ${cut(url)}… this takes up to 20 seconds.`),
  );
}

function showIdle() {
  page.submit.textContent = "Audit";
  page.submit.classList.add("primary");
  page.report.setAttribute("aria-busy", "false");
  page.status.replaceChildren();
}

function showOutcome(url, { report, source, problem }) {
  if (problem) showProblem(url, problem);
  if (!report) return;
  showReport(url, report, source);
  if (problem) return;
  say(`${STATUS_WORDS[report.status]}: ${counted(report)}.`, "quiet");
  const fragment = rowOfFragment() ? location.hash : "";
  history.replaceState(null, "", `?${new URLSearchParams({ url: report.url || url })}${fragment}`);
}

function showProblem(url, { title, text, retry }) {
  const again = retry && el("button", { type: "button", on: { click: () => audit(url) } }, "Try again");
  page.problem.replaceChildren(el("div", { class: "notice FAIL" }, el("h2", {}, title), el("p", {}, text), again));
}

function refuseEmpty() {
  showIdle();
  page.url.setAttribute("aria-invalid", "true");
  page.url.focus();
  showProblem("", { title: "No URL yet", text: "Type or paste the URL of your server, such as https://example.com.", retry: false });
}

/** Says something in the live region: for all to see, or (`quiet`) only aloud. */
function say(text, manner = "") {
  page.status.replaceChildren(el("p", { class: manner }, text));
}

function clearReport() {
  reported = null;
  page.report.replaceChildren();
  document.title = "Parley";
}

/* ---- Showing a report -------------------------------------------------------------------------------------------- */

function showReport(url, report, source) {
  reported = url;
  page.about.hidden = true;
  document.title = `${STATUS_WORDS[report.status]}: ${cut(report.url || url)} · Parley`;
  page.report.replaceChildren(
    ...present([
      summary(url, report, source),
      el("ul", { class: "protocols" }, ...report.protocols.map(protocolCard)),
      ...notCounted(report),
      ...foundFirst(report).map(auditorSection),
      el("p", { class: "facts quotes" }, "What these tables quote was written by the audited site, not by Parley."),
      more(report),
      elsewhere(report.url),
    ]),
  );
  rowOfFragment()?.scrollIntoView();
}

function summary(url, report, source) {
  const audited = new Date(report.auditedAt);
  const facts = [
    Number.isNaN(audited.getTime()) ? null : el("span", {}, "Audited ", timeElement(audited)),
    report.durationMs === null ? null : el("span", {}, `took ${milliseconds(report.durationMs)}`),
    source && el("span", {}, origin(source)),
  ];
  return el(
    "div",
    { class: "summary" },
    el("h2", {}, chip(report.status, STATUS_WORDS), " ", safeLink(report.url || url)),
    el("p", { class: "counts" }, counted(report)),
    el("p", { class: "facts" }, ...present(facts)),
    source && auditAgain(url, source.retryAfter),
  );
}

/** Where this report comes from: the store, or an audit just made. */
function origin({ cache, age, unkept }) {
  if (unkept) return "a new audit, which could not be stored";
  if (cache !== "hit" && cache !== "stale") return "a new audit";
  const old = !age ? "" : `, kept for ${inWords(age)}`;
  return cache === "stale" ? `an out-of-date report from the store${old}` : `from the store${old}`;
}

/** The button for a new audit, which waits where the server said that it would refuse. */
function auditAgain(url, seconds) {
  const button = el("button", { type: "button", on: { click: () => audit(url, { refresh: true }) } }, "Audit again");
  if (!seconds) return el("p", { class: "again" }, button);
  const note = el("span", { class: "facts" }, `possible in ${inWords(seconds)}`);
  button.disabled = true;
  setTimeout(() => ((button.disabled = false), note.remove()), Math.min(seconds, 86_400) * 1000);
  return el("p", { class: "again" }, button, " ", note);
}

function protocolCard({ name, state, status, because }) {
  return el(
    "li",
    {},
    el("h3", {}, name),
    el("p", { class: "state" }, el("span", { class: `mark ${state}`, "aria-hidden": "true" }), STATE_WORDS[state], " ", chip(status, STATUS_WORDS)),
    el("ul", { class: "because" }, ...because.map((fact) => el("li", {}, fact))),
  );
}

/** The auditors: those of protocols that were found before those that had little to judge. */
function foundFirst({ protocols, auditors }) {
  const absent = protocols.filter(({ state }) => state === "not_detected").map(({ key }) => key);
  const isAbsent = ({ protocol }) => absent.includes(protocol);
  return [...auditors.filter((one) => !isAbsent(one)), ...auditors.filter(isAbsent)];
}

/** Protocols whose FAIL does not count in the verdict: they are not there at all, and another one is. */
function setAside({ protocols }) {
  if (!protocols.some(({ state }) => state !== "not_detected")) return [];
  return protocols.filter(({ state, status }) => state === "not_detected" && status === "FAIL");
}

/** Says what does not count, rather than hide it. */
function notCounted(report) {
  return setAside(report).map(({ name }) =>
    el(
      "p",
      { class: "notice WARNING" },
      el("strong", {}, `${name}: not detected, and its audit failed.`),
      " That does not count in the verdict above, because another protocol was found here.",
    ),
  );
}

function auditorSection({ name, title, status, checks, passed, untested }) {
  const idle = !checks.length && !passed.length && !untested.length;
  const verdict = chip(status, idle ? { ...STATUS_WORDS, INFORMATION: "not applicable" } : STATUS_WORDS);
  const heading = el("h3", {}, title, " ", verdict, " ", title === name ? null : el("code", { class: "name" }, name));
  const seen = new Set();
  const rows = checks.map((check) => [
    chip(check.status, CHECK_WORDS),
    codeLink(check.code),
    check.message,
    check.recommendation || NONE,
    { class: check.status, id: anchorOf(check.code, seen) },
  ]);
  const content = rows.length ? table(`Checks of ${title}`, ["Status", "Code", "What was seen", "What to do"], rows, "checks") : el("p", { class: "facts" }, idle ? "Nothing here for this auditor to judge." : "No findings.");
  return el("section", { class: "auditor" }, heading, content);
}

/** A table whose cells carry their column's name, since narrow screens stack them. The last member of a row is its props. */
function table(label, columns, rows, kind) {
  const head = el("tr", { role: "row" }, ...columns.map((column) => el("th", { role: "columnheader", scope: "col" }, column)));
  const body = rows.map((row) => {
    const cells = row.slice(0, -1);
    const cellOf = (cell, at) => el("td", { role: "cell", "data-label": columns[at], class: cell === NONE && "none" }, cell);
    return el("tr", { role: "row", ...row.at(-1) }, ...cells.map(cellOf));
  });
  return el(
    "table",
    { role: "table", "aria-label": label, class: kind },
    el("thead", { role: "rowgroup" }, head),
    el("tbody", { role: "rowgroup" }, ...body),
  );
}

/** What needs no doing, folded away. */
function more({ auditors, attempts }) {
  const all = (list) => auditors.flatMap((auditor) => auditor[list]);
  const parts = present([
    rules("Could not be tested", "These rules had nothing to judge. They count neither as passed nor as failed.", all("untested")),
    rules("Passed", "Rules that applied here and found nothing. Each line names what its rule looks for.", all("passed")),
    rules("Not applicable", "Rules about something that is not here. Each line names what its rule looks for.", all("notApplicable")),
    attempts.length > 0 && folded("Requests made", attempts.length, requests(attempts)),
  ]);
  return parts.length ? el("div", { class: "more" }, ...parts) : null;
}

function folded(title, count, ...content) {
  return el("details", {}, el("summary", {}, title, " ", el("span", { class: "count" }, count)), ...content);
}

function rules(title, intro, list) {
  if (!list.length) return null;
  const titles = new Map();
  const items = list.map(({ code, reason }) => {
    const about = el("span", { class: "rule" });
    titles.set(about, code);
    return el("li", {}, el("code", {}, code), el("span", {}, reason, " ", about));
  });
  const details = folded(title, list.length, el("p", { class: "facts" }, intro), el("ul", { class: "rules" }, ...items));
  details.addEventListener("toggle", () => nameRules(titles), { once: true });
  return details;
}

/** Writes the rules' titles beside their codes, once the catalogue is there; without it the codes stand alone. */
async function nameRules(titles) {
  const known = await catalogue();
  for (const [node, code] of titles) node.textContent = known.get(code) ?? "";
}

let titlesOfRules = null;

/** Code -> title, asked for once; empty (and asked for again the next time) if it cannot be had. */
function catalogue() {
  titlesOfRules ??= get("v1/checks", new AbortController().signal).then((answer) => {
    const checks = objects(answer?.body?.checks);
    if (!checks.length) titlesOfRules = null;
    return new Map(checks.map((check) => [textOf(check.code), textOf(check.title) || textOf(check.when)]));
  });
  return titlesOfRules;
}

function requests(attempts) {
  const rows = attempts.map(({ purpose, method, url, httpStatus, outcome, durationMs }) => [
    textOf(purpose),
    el("code", {}, textOf(method)),
    el("span", { class: "url" }, textOf(url)),
    textOf(httpStatus) || NONE,
    textOf(outcome),
    textOf(durationMs),
    {},
  ]);
  return table("Requests made", ["For", "Method", "URL", "HTTP", "Outcome", "ms"], rows, "requests");
}

/** The same audit from a script and from a terminal. Nothing for a URL that cannot be audited. */
function elsewhere(url) {
  const parsed = parseUrl(url);
  if (!parsed) return null;
  const api = new URL("v1/audit", document.baseURI);
  api.search = "";
  api.hash = "";
  const line = (label, command) => el("li", {}, el("span", {}, label), el("code", {}, command), copyButton(command, label));
  return el(
    "section",
    { class: "elsewhere" },
    el("h3", {}, "Use it elsewhere"),
    el(
      "ul",
      {},
      line("HTTP API", `curl -sS ${shellWord(`${api.href}?url=${encodeURIComponent(parsed.href)}`)}`),
      line("Command line", `parley audit ${shellWord(parsed.href)}`),
    ),
  );
}

function copyButton(text, label) {
  const button = el("button", { type: "button", "aria-label": `Copy: ${label}` }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
      say(`Copied: ${label}.`, "quiet");
    } catch {
      getSelection()?.selectAllChildren(button.previousElementSibling); // no clipboard over plain http: select it instead
    }
  });
  return button;
}

/* ---- Small parts --------------------------------------------------------------------------------------------------- */

/** An element. `on` in the props holds listeners; null, undefined and false are left out, as props and as children. */
function el(tag, { on = {}, ...props } = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) if (value || value === 0) node.setAttribute(name, value);
  for (const [event, listener] of Object.entries(on)) node.addEventListener(event, listener);
  node.append(...present(children));
  return node;
}

const present = (list) => list.filter((item) => item !== null && item !== undefined && item !== false);
const chip = (status, words) => el("span", { class: `chip ${status}` }, words[status]);
const cut = (text) => (text.length > 80 ? `${text.slice(0, 79)}…` : text);
const join = (...sentences) => sentences.filter(Boolean).join(" ");

/** `text` with a capital at the start and a full stop at the end. */
const sentence = (text) => text && text[0].toUpperCase() + text.slice(1) + (/[.!?…]$/.test(text) ? "" : ".");

/** `37A-McpServerCardAuditor-412`, with the number easy to see, as a link to its row. */
function codeLink(code) {
  const at = code.lastIndexOf("-") + 1;
  const shown = el("code", {}, code.slice(0, at), el("wbr"), el("b", {}, code.slice(at)));
  return isCode(code) ? el("a", { href: `#${code}` }, shown) : shown;
}

const isCode = (text) => /^[A-Z0-9]+-[A-Za-z0-9]+-\d{3}$/.test(text);

/** The id for a Check's row: its code, the first time that the code comes up. */
function anchorOf(code, seen) {
  if (!isCode(code) || seen.has(code)) return null;
  seen.add(code);
  return code;
}

function rowOfFragment() {
  const code = location.hash.slice(1);
  return isCode(code) ? document.getElementById(code) : null;
}

/** A link, if `text` is an https URL without user name and password; else the text. */
function safeLink(text) {
  const url = parseUrl(text);
  if (url?.protocol !== "https:") return el("span", { class: "url" }, text);
  return el("a", { class: "url", href: url.href, rel: "nofollow ugc noopener noreferrer" }, text);
}

/** An absolute http(s) URL without user name and password, or null. */
function parseUrl(text) {
  try {
    const url = new URL(text);
    return ["http:", "https:"].includes(url.protocol) && !url.username && !url.password ? url : null;
  } catch {
    return null;
  }
}

/** One word for a POSIX shell: inside single quotes only a single quote means anything, and that is encoded. */
const shellWord = (url) => `'${url.replaceAll("'", "%27")}'`;

function counted(report) {
  const { auditors } = report;
  const aside = setAside(report).map(({ key }) => key);
  const counting = auditors.filter(({ protocol }) => !aside.includes(protocol)).flatMap(({ checks }) => checks);
  const count = (status) => counting.filter((check) => check.status === status).length;
  const total = (list) => auditors.reduce((sum, auditor) => sum + auditor[list].length, 0);
  const parts = [
    [count("FAIL"), "failed"],
    [count("WARNING"), count("WARNING") === 1 ? "warning" : "warnings"],
    [total("passed"), "passed"],
    [total("untested"), "could not be tested"],
  ];
  return parts.filter(([number]) => number).map((part) => part.join(" ")).join(", ") || "nothing was tested";
}

const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];

/** "3 minutes": the largest unit that fits, rounded. */
function inWords(seconds) {
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? UNITS.at(-1);
  const number = Math.round(seconds / size);
  return `${number} ${unit}${number === 1 ? "" : "s"}`;
}

const milliseconds = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

const ABSOLUTE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

function ago(date) {
  const seconds = (Date.now() - date.getTime()) / 1000;
  return seconds < 5 ? "just now" : `${inWords(seconds)} ago`;
}

function timeElement(date) {
  return el("time", { datetime: date.toISOString() }, el("span", {}, ago(date)), ` (${ABSOLUTE.format(date)})`);
}

function keepTimesTrue() {
  for (const time of document.querySelectorAll("time")) time.firstElementChild.textContent = ago(new Date(time.dateTime));
}

/* ---- Wiring -------------------------------------------------------------------------------------------------------- */

// Enter always audits what is in the field; the button, while an audit runs, cancels it.
page.url.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault();
  if (!event.repeat) audit(page.url.value);
});
page.form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (running) cancel();
  else audit(page.url.value);
});
page.submit.addEventListener("click", (event) => {
  if (event.detail > 1) event.preventDefault(); // the second half of a double click is no wish to cancel
});
setInterval(keepTimesTrue, 20_000);

const linked = new URLSearchParams(location.search).get("url");
if (linked) {
  page.url.value = linked;
  say("Filled in from the link you followed. Nothing is sent before you press Audit.");
}
