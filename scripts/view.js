"use strict";
// Everything that an episode holds becomes text nodes, never markup. Records lie packed in chunks (base64 of gzip of JSON)
// that are unpacked when one of their episodes is opened, or when all texts are searched.
const ROW = 58; // pixels of a row of the list, as in the style sheet
const FOLD = 6000, LINES = 150, TURNS = 100; // longer texts and episodes are folded
const FLAGS = { success: 1, failed: 2, unreadable: 4, truncated: 8, errored: 16, invalid: 32 };
const MEANINGS = {
  success: "the environment said so",
  failed: "ended without success, whatever the reason",
  unreadable: "an action could not be read, or was not allowed",
  truncated: "cut off by a limit",
  errored: "the agent raised an exception",
  invalid: "the machinery failed; counted nowhere",
  differs: "the same task was solved in one episode and not in another",
};
const TURN = ["observation", "action", "reward", "reward_terms", "action_error", "feedback"]; // have a place of their own
const EPISODE = ["turns", "final_observation", "reference", "error", "replay", "env", "agent", "difficulty", "params", "return",
  "episode", "sample", "seed", "requested", "task_id", "length", "is_success", "progress", "truncated", "reward_valid",
  "refused", "agent_failed", "step", "split", "axes", "env_options", "history", "role"];
const $ = (id) => document.getElementById(id);
const head = JSON.parse($("head").textContent);
const phone = matchMedia("(max-width: 760px)");
let entries = [], shown = [], byId = new Map(), byTask = new Map(), open = [], found = null, searching = 0, rendering = 0;

function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

async function unpack(id) {
  const letters = atob($(id).textContent), bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

const recent = new Map();
async function records(chunk) {
  if (!recent.has(chunk)) {
    recent.set(chunk, unpack(`chunk-${chunk}`).then(JSON.parse));
    if (recent.size > 6) recent.delete(recent.keys().next().value);
  }
  return recent.get(chunk);
}

// Numbers and words ------------------------------------------------------------------------------------------------------
const number = (value) => (typeof value === "number" ? String(Number(value.toPrecision(4))) : value === null || value === undefined ? "–" : String(value));
const count = (value, word) => `${value.toLocaleString("en")} ${word}${value === 1 ? "" : "s"}`;
const percent = (part, whole) => (whole ? `${Math.round((100 * part) / whole)} %` : "–");
const words = (name) => name.replaceAll("_", " ");
const plain = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const empty = (value) => value === null || value === undefined || value === "" || (typeof value === "object" && !Object.keys(value).length);
const UNIT = " in the currency of the prices", COST = `cost${UNIT}`;
const pairs = (values) => Object.entries(values || {}).map(([name, value]) => `${name} ${typeof value === "number" ? number(value) : plain(value)}`);
const shortEnv = (env) => head.envs[env].replace(/^palaestra\//, "");
const outcome = (entry) => ["invalid", "errored", "success", "failed"].find((name) => entry.flags & FLAGS[name]) || "ended";
const asides = (entry) => ["unreadable", "truncated"].filter((name) => entry.flags & FLAGS[name]);
const roles = []; // in the order in which they were met, which gives each its colour
function badge(name, text) {
  if (!roles.includes(name)) roles.push(name);
  return make("b", `role role-${roles.indexOf(name) % 6}`, text);
}
const keys = (entry) => `#${encodeURIComponent(entry.id)}`;
function strings(value, into) {
  if (typeof value === "string") into.push(value);
  else if (value && typeof value === "object") for (const [name, item] of Object.entries(value)) {
    if (!Array.isArray(value)) into.push(name);
    strings(item, into);
  } else if (value !== null) into.push(String(value));
  return into;
}

// Quantities to filter by: bounds of each, as typed.
const bounds = new Map();
const quantity = (entry, name) => (name === "turns" ? entry.length : name === "reward" ? entry.reward ?? undefined : entry.quantities[name]);
function chooseQuantity() {
  const [least, greatest] = bounds.get($("quantity").value) || ["", ""];
  $("least").value = least;
  $("greatest").value = greatest;
  for (const option of $("quantity").options) option.text = `${(bounds.get(option.value) || []).some((bound) => bound !== "") ? "• " : ""}${option.value}`;
}
function bound() {
  bounds.set($("quantity").value, [$("least").value, $("greatest").value]);
  chooseQuantity();
  apply();
}

// The list ---------------------------------------------------------------------------------------------------------------
function apply({ keep = false } = {}) {
  const chosen = [...document.querySelectorAll("#outcomes [aria-pressed=true]")].map((chip) => chip.dataset.name);
  const mask = chosen.reduce((sum, name) => sum | (FLAGS[name] || 0), 0), differs = chosen.includes("differs");
  const file = $("file").value, env = $("env").value, role = $("role").value;
  const low = $("low").value === "" ? null : Number($("low").value), high = $("high").value === "" ? null : Number($("high").value);
  const bounded = low !== null || high !== null;
  const limits = [...bounds].filter(([, range]) => range.some((bound) => bound !== ""));
  const inside = (entry) => limits.every(([name, [least, greatest]]) => {
    const value = quantity(entry, name);
    return value !== undefined && (least === "" || value >= Number(least) - 1e-9) && (greatest === "" || value <= Number(greatest) + 1e-9);
  });
  shown = entries.filter((entry) =>
    (!chosen.length || entry.flags & mask || (differs && entry.differs)) &&
    (file === "" || entry.file === Number(file)) && (role === "" || entry.role === role) && (env === "" || entry.env === Number(env)) &&
    (!bounded || (entry.difficulty !== null && entry.difficulty >= (low ?? 0) - 1e-9 && entry.difficulty <= (high ?? 1) + 1e-9)) &&
    inside(entry) && (found === null || found.has(entry.at)));
  const order = ORDERS[$("sort").value];
  if (order) shown.sort((a, b) => order(a, b) || a.at - b.at);
  const judged = shown.filter((entry) => !(entry.flags & FLAGS.invalid) && entry.flags & (FLAGS.success | FLAGS.failed));
  const won = judged.filter((entry) => entry.flags & FLAGS.success).length;
  const all = shown.length === entries.length ? "" : ` of ${entries.length.toLocaleString("en")}`;
  $("summary").textContent = [`${shown.length.toLocaleString("en")}${all} episodes`, judged.length ? `success ${percent(won, judged.length)}` : "", ...head.notes].filter(Boolean).join(" · ");
  if (!keep) $("list").scrollTop = 0;
  draw();
}
const tokens = (entry) => (entry.quantities["tokens read"] ?? 0) + (entry.quantities["tokens written"] ?? 0);
const missing = (value) => (value === null ? -Infinity : value);
const ORDERS = {
  "as in the file": null,
  "easiest first": (a, b) => missing(a.difficulty) - missing(b.difficulty),
  "hardest first": (a, b) => missing(b.difficulty) - missing(a.difficulty),
  "lowest reward first": (a, b) => missing(a.reward) - missing(b.reward),
  "highest reward first": (a, b) => missing(b.reward) - missing(a.reward),
  "most turns first": (a, b) => b.length - a.length,
  "most tokens first": (a, b) => tokens(b) - tokens(a),
  "highest cost first": (a, b) => missing(b.quantities[COST] ?? null) - missing(a.quantities[COST] ?? null),
  "newest first": (a, b) => missing(b.step) - missing(a.step) || b.at - a.at,
  "same tasks together": (a, b) => a.task - b.task,
};

function draw() {
  const list = $("list"), inner = list.firstElementChild;
  inner.style.height = `${shown.length * ROW}px`;
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 6);
  const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 6);
  const rows = [];
  for (let place = first; place < last; place++) {
    const entry = shown[place], name = outcome(entry);
    const env = head.envs.length > 1 ? shortEnv(entry.env) : "", file = head.files.length > 1 ? head.files[entry.file].name : "";
    const facts = [
      ...asides(entry),
      entry.difficulty === null ? "" : `difficulty ${Number(entry.difficulty.toPrecision(2))}`,
      `reward ${number(entry.reward)}`,
      entry.length > 1 ? `${entry.length} turns` : "",
      entry.step === null ? "" : `step ${entry.step}`,
      env,
      file === env ? "" : file,
    ];
    const row = make("a", "row", make("span", "", make("b", name, name), entry.role ? badge(entry.role, entry.role) : null, entry.snippet), make("span", "soft", facts.filter(Boolean).join(" · ")));
    row.href = keys(entry);
    row.style.top = `${place * ROW}px`;
    if (entry === open[0]) row.setAttribute("aria-current", "true");
    rows.push(row);
  }
  inner.replaceChildren(...rows);
}

function reveal(entry) {
  const place = shown.indexOf(entry), list = $("list");
  if (place >= 0 && (place * ROW < list.scrollTop || (place + 1) * ROW > list.scrollTop + list.clientHeight))
    list.scrollTop = Math.max(0, place * ROW - list.clientHeight / 2);
}

// One episode ------------------------------------------------------------------------------------------------------------
const PICTURE = "data:image/png;base64,";
function block(value, className) {
  if (typeof value === "string" && value.startsWith(PICTURE)) {
    const picture = make("img", className);
    Object.assign(picture, { src: value, alt: "picture of the observation" });
    return picture;
  }
  // A picture beside texts: each part with its name.
  if (value && typeof value === "object" && Object.values(value).some((part) => typeof part === "string" && part.startsWith(PICTURE)))
    return make("div", "", ...Object.entries(value).map(([name, part]) => make("div", "", Array.isArray(value) ? null : make("div", "soft note", words(name)), block(part, className))));
  const text = typeof value === "string" ? value : JSON.stringify(value, null, Array.isArray(value) && typeof value[0] === "number" ? 0 : 1);
  const pre = make("pre", className);
  let cut = text.length > FOLD ? 3000 : text.length;
  for (let line = 0, at = -1; line < LINES; line++) {
    if ((at = text.indexOf("\n", at + 1)) < 0) break;
    if (line === LINES - 1) cut = Math.min(cut, at);
  }
  const end = text.length > cut ? Math.min(1000, text.length - cut) : 0;
  if (cut + end >= text.length) {
    pre.textContent = text;
    return pre;
  }
  const button = make("button", "fold");
  const fold = (folded) => {
    button.textContent = folded ? `show all ${text.length.toLocaleString("en")} characters` : "fold";
    pre.replaceChildren(...(folded ? [text.slice(0, cut), button, text.slice(-end)] : [text, button]));
    button.onclick = () => fold(!folded);
  };
  fold(true);
  return pre;
}

const line = (who, content) => [make("div", "who", who), content];
function field(name, value) {
  if (typeof value === "number" || typeof value === "boolean") return line(words(name), make("div", "figures", make("b", "", number(value)), name === "cost" ? UNIT : ""));
  const flat = typeof value === "object" && !Array.isArray(value) && Object.values(value).every((item) => typeof item === "number" || item === null);
  if (flat) return line(words(name), make("div", "figures", pairs(value).join(" · ") + (name === "usage" && value.cost !== null ? UNIT : "")));
  return line(name === "how it replied" ? "reply" : words(name), name === "how it replied" ? make("div", "figures", value) : block(value));
}

// What an agent noted about its reply is under "agent" of a turn: numbers on one line, texts under names of their own.
function notes(step) {
  if (!step.agent || typeof step.agent !== "object" || Array.isArray(step.agent)) return Object.entries(step);
  const inner = Object.entries(step.agent), short = ([, value]) => typeof value !== "object" && String(value).length < 60;
  const facts = Object.fromEntries(inner.filter((item) => item[0] !== "reasoning" && item[0] !== "text" && short(item)).map(([name, value]) => [words(name), value]));
  const texts = inner.filter(([name]) => !(words(name) in facts)).map(([name, value]) => [name === "text" ? "whole reply" : name, value]);
  return [...Object.entries(step).filter(([name]) => name !== "agent"), ...texts, ["how it replied", empty(facts) ? "" : pairs(facts).join(" · ")]];
}

function turn(step, role) {
  const extra = notes(step).filter(([name, value]) => !TURN.includes(name) && !empty(value));
  const thought = ([name]) => /^(reason|think|thought)/.test(name);
  const feedback = step.feedback && step.feedback !== step.action_error ? step.feedback : "";
  const terms = pairs(step.reward_terms);
  return make("div", "turn",
    ...line("environment", block(step.observation ?? "")),
    ...extra.filter(thought).flatMap(([name, value]) => field(name, value)),
    ...line(role ? badge(role, role) : "agent", block(step.action ?? "", "action")),
    ...extra.filter((item) => !thought(item)).flatMap(([name, value]) => field(name, value)),
    ...(step.action_error ? line("error", make("div", "error", step.action_error)) : []),
    ...(feedback ? line("feedback", block(feedback)) : []),
    ...line("reward", make("div", "figures", make("b", "", number(step.reward)), terms.length ? ` · ${terms.join(" · ")}` : "")));
}

function article(entry, record) {
  const name = outcome(entry);
  const facts = [
    head.envs[entry.env],
    entry.difficulty === null ? "" : `difficulty ${number(entry.difficulty)}`,
    pairs(record.params).join(", "),
    `reward ${number(record.return)}`,
    entry.progress === null ? "" : `progress ${number(entry.progress)}`,
    count(entry.length, "turn"),
  ];
  const header = make("header", "", make("span", `outcome ${name}`, name), ...asides(entry).map((aside) => make("span", `outcome ${aside}`, aside)),
    ...facts.filter(Boolean).map((fact) => make("span", "", fact)));
  if (entry.replay) {
    const link = make("a", "", "replay, step by step");
    link.href = entry.replay;
    link.target = "_blank";
    link.rel = "noopener";
    header.append(link);
  }
  const top = make("div", "turn");
  if (!empty(record.reference)) top.append(...line("reference", block(record.reference, "reference")));
  if (record.error) top.append(...line("exception", make("div", "error", record.error)));
  for (const [key, value] of Object.entries(record)) if (!EPISODE.includes(key) && !empty(value)) top.append(...field(key, value));
  if (entry.cut) top.append(...line("note", make("div", "soft", `${count(entry.cut, "character")} of long texts were left out of this page; ${head.files[entry.file].path}, line ${entry.line}, has them.`)));
  const body = make("article", "", header, top.childNodes.length ? top : null);
  const steps = record.turns || [], add = (some) => body.append(...some.map((step) => turn(step, entry.role)));
  const finish = () => {
    if (!empty(record.final_observation) && steps.length) body.append(make("div", "turn", ...line("at the end", block(record.final_observation))));
    const rest = EPISODE.filter((key) => key in record && !["turns", "final_observation", "reference", "error", "params"].includes(key));
    const list = make("dl", "terms");
    for (const key of rest) list.append(make("dt", "", words(key)), make("dd", "", plain(record[key] ?? null)));
    body.append(make("div", "turn", ...line("", make("details", "", make("summary", "", "record"), list))));
  };
  add(steps.slice(0, TURNS));
  if (!steps.length) body.append(make("div", "turn", ...line("", make("div", "none", "no turn was recorded"))));
  if (steps.length > TURNS) {
    const button = make("button", "", `show the other ${count(steps.length - TURNS, "turn")}`);
    button.onclick = () => { button.parentElement.remove(); add(steps.slice(TURNS)); finish(); };
    body.append(make("div", "turn", make("span", "who"), button));
  } else finish();
  return body;
}

function others(entry) {
  const same = (byTask.get(entry.task) || []).filter((other) => other !== entry);
  if (!same.length) return null;
  const said = make("p", "note", "the same task, side by side: ");
  same.slice(0, 24).forEach((other, place) => {
    const link = make("a", "", other.id);
    link.href = `${keys(entry)}&${encodeURIComponent(other.id)}`;
    said.append(place ? ", " : "", link, " ", make("span", outcome(other), outcome(other)));
  });
  if (same.length > 24) said.append(` and ${same.length - 24} more`);
  return said;
}

async function show() {
  const run = ++rendering, detail = $("detail");
  const asked = location.hash.slice(1).split("&").filter(Boolean);
  const place = asked.map((part) => { try { return byId.get(decodeURIComponent(part)); } catch { return undefined; } });
  open = place.filter(Boolean).slice(0, 2);
  document.body.classList.toggle("reading", asked.length > 0);
  if (!open.length) {
    detail.replaceChildren(...(asked.length && asked[0] !== "overview" ? [make("p", "none", `There is no episode ${asked.join(" & ")} in this page.`)] : []), overview());
    draw();
    return;
  }
  const got = await Promise.all(open.map(async (entry) => (await records(entry.chunk))[entry.row]));
  if (run !== rendering) return;
  const at = shown.indexOf(open[0]);
  const button = (text, title, act, off) => { const one = make("button", "", text); one.title = title; one.onclick = act; one.disabled = off; return one; };
  const bar = make("div", "bar",
    phone.matches ? button("list", "Back to the list (Escape)", close, false) : null,
    button("previous", "The episode before (left arrow)", () => go(-1), at <= 0),
    button("next", "The next episode (right arrow)", () => go(1), at < 0 || at >= shown.length - 1),
    make("span", "soft note", at < 0 ? "not among those shown" : `${(at + 1).toLocaleString("en")} of ${shown.length.toLocaleString("en")}`));
  const columns = open.map((entry, column) => {
    const link = make("a", "", entry.id);
    link.href = keys(entry);
    return make("div", "", make("h2", "", link), entry.label ? make("p", "note", entry.label) : null, article(entry, got[column]));
  });
  const first = others(open[0]);
  detail.replaceChildren(bar, ...(first ? [first] : []), make("div", open.length > 1 ? "pair" : "", ...columns));
  detail.scrollTop = 0;
  reveal(open[0]);
  draw();
  mark();
}

function mark() {
  if (!window.CSS || !CSS.highlights) return;
  CSS.highlights.delete("found");
  const query = $("text").value.trim().toLowerCase(), ranges = [];
  if (!query || found === null) return;
  const walker = document.createTreeWalker($("detail"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < 500; node = walker.nextNode()) {
    const text = node.data.toLowerCase();
    if (text.length !== node.data.length) continue;
    for (let at = text.indexOf(query); at >= 0 && ranges.length < 500; at = text.indexOf(query, at + query.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + query.length);
      ranges.push(range);
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}

function go(by) {
  const at = shown.indexOf(open[0]), next = open.length ? shown[at + by] : shown[0];
  if (!next || (open.length && at < 0)) return;
  // Side by side, the other column goes on to the same task in its own file.
  const other = open[1] && (byTask.get(next.task) || []).find((one) => one.file === open[1].file && one.sample === open[1].sample && one !== next);
  location.replace(keys(next) + (other ? `&${encodeURIComponent(other.id)}` : ""));
}

function close() {
  if (location.hash) history.pushState(null, "", location.pathname + location.search);
  show();
}

function overview() {
  const table = make("table"), titles = ["file", "environment", "episodes", ...Object.keys(FLAGS)];
  table.append(make("tr", "", ...titles.map((title, place) => make("th", place < 2 ? "text" : "", title))));
  const groups = new Map();
  for (const entry of entries) {
    const key = `${entry.file} ${entry.env}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(entry);
  }
  for (const group of groups.values()) {
    const cells = [head.files[group[0].file].name, head.envs[group[0].env], group.length.toLocaleString("en"),
      ...Object.entries(FLAGS).map(([name, bit]) => group.filter((entry) => entry.flags & bit).length.toLocaleString("en"))];
    table.append(make("tr", "", ...cells.map((cell, place) => make("td", place < 2 ? "text" : "", cell))));
  }
  const scroll = make("div", "scroll", table);
  scroll.tabIndex = 0;
  const files = head.files.map((file) => {
    const item = make("li", "", `${file.name}: ${file.agent ? `agent ${file.agent}, ` : ""}${file.path}`);
    if (file.report) {
      const link = make("a", "", "report");
      link.href = file.report;
      item.append(" · ", link);
    }
    return item;
  });
  const help = "Choose an episode from the list. Arrow keys go through what the filters show, / searches, Escape goes back. The address of an episode can be kept.";
  const back = make("button", "", "list");
  back.onclick = close;
  return make("div", "", phone.matches ? make("div", "bar", back) : null, make("h2", "", "Overview"), make("p", "soft", help), scroll, make("h2", "", "Files"), make("ul", "", ...files),
    ...head.notes.map((note) => make("p", "note", note)));
}

// Searching --------------------------------------------------------------------------------------------------------------
async function search() {
  const query = $("text").value.trim().toLowerCase(), run = ++searching;
  if (!query) {
    found = null;
    apply();
    mark();
    return;
  }
  const hits = new Set(entries.filter((entry) => entry.id.toLowerCase().includes(query)).map((entry) => entry.at));
  // In JSON these stand as they are, so that most chunks can be passed over without being read.
  const easy = /^[ !#-[\]-~]+$/.test(query);
  let at = 0;
  for (let chunk = 0; chunk < head.chunks.length; chunk++) {
    const text = await unpack(`chunk-${chunk}`);
    if (run !== searching) return;
    if (chunk % 20 === 19) $("summary").textContent = `searching … ${percent(chunk, head.chunks.length)}`;
    if (!easy || text.toLowerCase().includes(query)) JSON.parse(text).forEach((record, row) => {
      if (strings(record, []).some((one) => one.toLowerCase().includes(query))) hits.add(at + row);
    });
    at += head.chunks[chunk];
  }
  found = hits;
  apply();
  mark();
}

// Start ------------------------------------------------------------------------------------------------------------------
function options(id, values, all) {
  $(id).replaceChildren(...(all ? [new Option(all, "")] : []), ...values.map(([text, value]) => new Option(text, value)));
  $(id).hidden = Boolean(all) && values.length < 2;
  $(id).onchange = () => apply();
}

function clear() {
  for (const id of ["file", "env", "role", "low", "high", "text"]) $(id).value = "";
  document.querySelectorAll("#outcomes [aria-pressed=true]").forEach((chip) => chip.setAttribute("aria-pressed", "false"));
  bounds.clear();
  chooseQuantity();
  search();
}

const NAMES = ["file", "env", "id", "flags", "difficulty", "reward", "length", "progress", "step", "task", "sample", "snippet", "replay", "cut", "line", "label", "quantities", "role"];
let chunk = 0, row = 0;
function add(rows) {
  for (const values of rows) {
    const entry = Object.fromEntries(NAMES.map((name, place) => [name, values[place]]));
    while (row >= head.chunks[chunk]) { chunk++; row = 0; }
    Object.assign(entry, { at: entries.length, chunk, row: row++ });
    entries.push(entry);
    byId.set(entry.id, entry);
    if (entry.task >= 0 && !byTask.has(entry.task)) byTask.set(entry.task, []);
    if (entry.task >= 0) byTask.get(entry.task).push(entry);
  }
  for (const group of byTask.values()) {
    const won = group.filter((entry) => entry.flags & FLAGS.success).length;
    const lost = group.filter((entry) => entry.flags & FLAGS.failed).length;
    group.forEach((entry) => (entry.differs = won > 0 && lost > 0));
  }
}

// Chips and choices of the filters, from all entries; what was chosen stays chosen.
function offer() {
  const counts = Object.fromEntries(Object.entries(FLAGS).map(([name, bit]) => [name, entries.filter((entry) => entry.flags & bit).length]));
  counts.differs = entries.filter((entry) => entry.differs).length;
  const pressed = [...document.querySelectorAll("#outcomes [aria-pressed=true]")].map((chip) => chip.dataset.name);
  $("outcomes").replaceChildren(...Object.entries(counts).filter(([, total]) => total).map(([name, total]) => {
    const chip = make("button", "chip", `${name} ${total.toLocaleString("en")}`);
    Object.assign(chip.dataset, { name });
    chip.title = MEANINGS[name];
    chip.setAttribute("aria-pressed", String(pressed.includes(name)));
    chip.onclick = () => { chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true")); apply(); };
    return chip;
  }));
  const chosen = Object.fromEntries(["file", "env", "role", "sort", "quantity"].map((id) => [id, $(id).value]));
  options("file", head.files.map((file, place) => [file.name, place]), "every file");
  options("env", head.envs.map((env, place) => [env, place]), "every environment");
  options("role", [...new Set(entries.map((entry) => entry.role).filter(Boolean))].map((name) => [name, name]), "every role");
  const names = ["turns", "reward", ...new Set(entries.flatMap((entry) => Object.keys(entry.quantities)))];
  const usable = {
    "newest first": entries.some((entry) => entry.step !== null), "same tasks together": entries.some((entry) => (byTask.get(entry.task) || []).length > 1),
    "most tokens first": names.includes("tokens written"), "highest cost first": names.includes(COST),
  };
  options("sort", Object.keys(ORDERS).filter((name) => usable[name] !== false).map((name) => [name, name]));
  options("quantity", names.map((name) => [name, name]));
  $("quantity").onchange = chooseQuantity;
  for (const [id, value] of Object.entries(chosen)) if ([...$(id).options].some((option) => option.value === value)) $(id).value = value;
  chooseQuantity();
}

// A page that follows its files asks its server for what is new.
async function follow() {
  const live = $("live"), say = (text, lost) => { live.textContent = text; live.classList.toggle("bad", lost); };
  live.hidden = false;
  try {
    const news = await (await fetch(`news?reader=${head.follow}&chunks=${head.chunks.length}`)).json();
    if (news.reload) return location.reload();
    news.chunks.forEach((text, place) => {
      const element = make("script", "", text);
      Object.assign(element, { type: "text/plain", id: `chunk-${head.chunks.length + place}` });
      document.body.append(element);
    });
    head.chunks.push(...news.sizes);
    Object.assign(head, { files: news.files, envs: news.envs, notes: news.notes });
    if (news.entries.length) {
      add(news.entries);
      offer();
      if ($("text").value.trim()) await search();
      else apply({ keep: true });
      if (!open.length) show();
    }
    say(`live, ${new Date().toLocaleTimeString()}`, false);
  } catch {
    say("the server is gone", true);
  }
  setTimeout(follow, 1500);
}

async function start() {
  add(JSON.parse(await unpack("entries")));
  offer();
  let waiting = null;
  $("text").oninput = () => { clearTimeout(waiting); waiting = setTimeout(search, 250); };
  $("low").oninput = $("high").oninput = () => apply();
  $("least").oninput = $("greatest").oninput = bound;
  $("clear").onclick = clear;
  $("overview").onclick = () => { location.hash = "#overview"; };
  $("more").onclick = () => reshape($("filters").hidden);
  $("theme").onclick = () => {
    const dark = getComputedStyle(document.documentElement).colorScheme === "light dark" ? matchMedia("(prefers-color-scheme: dark)").matches : document.documentElement.style.colorScheme === "dark";
    document.documentElement.style.colorScheme = dark ? "light" : "dark";
  };
  const reshape = (unfolded) => { $("filters").hidden = !unfolded; $("more").setAttribute("aria-expanded", String(unfolded)); };
  const fit = () => { reshape(!phone.matches); $("more").hidden = !phone.matches; draw(); };
  phone.addEventListener("change", fit);
  $("list").addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  addEventListener("resize", draw);
  addEventListener("hashchange", show);
  addEventListener("popstate", show);
  addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
    if (event.key === "Escape") typing ? event.target.blur() : close();
    if (typing) return;
    const act = { ArrowRight: () => go(1), j: () => go(1), ArrowLeft: () => go(-1), k: () => go(-1), "/": () => $("text").focus() }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  apply();
  fit();
  show();
  if (head.follow) follow();
}
start();
