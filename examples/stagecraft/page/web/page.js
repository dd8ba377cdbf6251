// The page: it sends what the user writes to the worker, and shows the answer. Texts of users are only ever set as
// text; the only markup from answers is the picture of package diagram and the page of package rehearse, which escape
// what they show. The policy of the page forbids scripts in both.
"use strict";

const $ = (id) => document.getElementById(id);

// el makes an element: el("p", {className: "soft"}, "text", otherElement).
function el(tag, properties, ...children) {
  const e = Object.assign(document.createElement(tag), properties);
  e.append(...children.filter((c) => c !== null && c !== undefined && c !== ""));
  return e;
}

// svg makes an element of a drawing.
function svg(tag, attributes, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

const many = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

// ---- the views and their state

const views = {
  lives: {
    texts: { stages: "Stages", objects: "Objects" },
    hint: "Stages of kwok, and objects that they are played on. Other objects may be needed to exist, such as a Node.",
  },
  status: { texts: { objects: "Objects" }, hint: "Any objects, as kubectl get -o yaml prints them. Children, such as the Pods of a Deployment, count." },
  rollout: {
    texts: { rollout: "Policies, workload and clusters" },
    hint: "StagedBindingPolicies, StatusCollectors, the workload, a ManagedCluster for each cluster, and a Script, as stagecraft rehearse takes them.",
  },
};
const examples = JSON.parse($("examples").textContent);
let view = "lives";
let untouched = true; // the texts are those of an example: the address needs not have them
const editors = {}; // of the view, by the name of the text
let sections = {}; // of the answer, by its part
let faults = 0; // in the texts

// An editor is a text area with line numbers, in which lines can be marked.
class Editor {
  constructor(name, label) {
    this.text = el("textarea", { id: `text-${name}`, spellcheck: false, wrap: "off", rows: name === "stages" ? 18 : 14, autocapitalize: "off" });
    this.numbers = el("div");
    this.marks = new Map();
    this.element = el("div", {}, el("label", { htmlFor: this.text.id }, label), el("div", { className: "editor" }, el("div", { className: "gutter", ariaHidden: "true" }, this.numbers), this.text));
    this.text.addEventListener("input", () => { this.marks.clear(); this.number(); changed(); });
    this.text.addEventListener("scroll", () => this.scroll());
    this.text.addEventListener("dragover", (e) => e.preventDefault());
    this.text.addEventListener("drop", (e) => { if (e.dataTransfer.files.length) { e.preventDefault(); open(e.dataTransfer.files, this); } });
    this.text.addEventListener("focus", () => { Editor.last = this; });
  }
  set(value) { this.text.value = value; this.marks.clear(); this.number(); }
  scroll() { this.numbers.style.marginTop = `${-this.text.scrollTop}px`; }
  mark(line, kind) { if (line && this.marks.get(line) !== "fault") this.marks.set(line, kind); }
  // number writes the line numbers, not more than can be looked at.
  number() {
    const lines = Math.min(this.text.value.split("\n").length, 10000);
    this.numbers.replaceChildren(...Array.from({ length: lines }, (_, i) => el("span", { className: this.marks.get(i + 1) || "" }, String(i + 1))));
    this.scroll();
  }
  select(from, to) {
    this.text.focus();
    this.text.setSelectionRange(from, to);
    const line = this.text.value.slice(0, from).split("\n").length;
    this.text.scrollTop = Math.max(0, (line - 5) * parseFloat(getComputedStyle(this.text).lineHeight));
    this.scroll();
  }
}

function showView(next) {
  view = next;
  for (const name of Object.keys(editors)) delete editors[name];
  for (const [name, label] of Object.entries(views[view].texts)) editors[name] = new Editor(name, label);
  Editor.last = null;
  $("editors").replaceChildren(...Object.values(editors).map((e) => e.element));
  for (const name of Object.keys(views)) {
    $(`tab-${name}`).ariaSelected = String(name === view);
    $(`tab-${name}`).tabIndex = name === view ? 0 : -1;
  }
  $("hint").textContent = views[view].hint;
  $("options").hidden = view === "status";
  for (const id of ["delete", "extensions"]) $(id).parentElement.hidden = view !== "lives";
  $("given").setAttribute("aria-labelledby", `tab-${view}`);
  $("example").replaceChildren(...examples.filter((e) => e.view === view).map((e) => el("option", {}, e.title)));
  sections = Object.fromEntries(parts[view].map((part) => [part, el("div")]));
  $("shown").replaceChildren(...Object.values(sections));
}

function showExample(index) {
  const example = examples.filter((e) => e.view === view)[index];
  for (const name of Object.keys(editors)) editors[name].set(example[name] || "");
  $("seed").value = 1;
  $("delete").checked = $("extensions").checked = false;
  untouched = true;
  ask();
}

function state() {
  const s = { seed: Math.max(0, Math.trunc(Number($("seed").value))) || 0, delete: $("delete").checked, extensions: $("extensions").checked };
  for (const name of Object.keys(editors)) s[name] = editors[name].text.value;
  return s;
}

let waiting; // for the end of typing
function changed() {
  untouched = false;
  clearTimeout(waiting);
  waiting = setTimeout(() => { waiting = null; remember(); ask(); }, 250);
}

async function open(files, editor) {
  const texts = [];
  for (const file of files) {
    if (file.size > 1 << 20) return say(`${file.name} is too large for this page`, true);
    texts.push(await file.text());
  }
  editor.set(texts.join("\n---\n"));
  changed();
}

// ---- permalinks: #VIEW, or #VIEW=STATE with the state as JSON, deflated, in base64url

const maxState = 2 << 20;

async function through(bytes, stream) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader(), parts = [];
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    if ((size += value.length) > maxState) throw new Error("too long");
    parts.push(value);
  }
}

async function pack(s) {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(s)), new CompressionStream("deflate-raw"));
  return btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw"))));
}

async function remember() {
  try {
    history.replaceState(null, "", `#${view}${untouched ? "" : `=${await pack(state())}`}`);
  } catch {
    say("The texts are too long for a link.", true);
  }
}

// recall shows what the address says, or the first example.
async function recall() {
  const [name, packed] = location.hash.slice(1).split("=");
  showView(Object.hasOwn(views, name) ? name : "lives");
  if (!packed) return showExample(0);
  try {
    const s = await unpack(packed);
    for (const name of Object.keys(editors)) editors[name].set(String(s[name] ?? ""));
    $("seed").value = Math.trunc(Number(s.seed)) || 0;
    $("delete").checked = s.delete === true;
    $("extensions").checked = s.extensions === true;
    untouched = false;
    ask();
  } catch {
    showExample(0);
    $("hint").textContent = `The link is damaged; this is an example. ${views[view].hint}`;
  }
}

// ---- the program

// parts are the parts of the answers, in the order in which they are asked for. The page shows each when it comes.
const parts = { lives: ["next", "lives", "lint"], status: [""], rollout: [""] };

const longest = 15000; // ms for an answer, before the worker is replaced
let worker, module, busy, pending, timer;

function startWorker() {
  busy = "start";
  worker = new Worker(workerAddress);
  worker.onmessage = ({ data }) => receive(data);
  worker.onerror = (e) => restart(e.message);
  worker.postMessage({ module: module || null });
}

// feed sends the part of the program before the running script to the worker, which unpacks and compiles it while the
// browser reads the next part.
function feed() {
  const part = document.currentScript.previousElementSibling;
  worker.postMessage({ part: part.content.textContent });
  part.remove();
}

function receive(data) {
  if (data.failed) return restart(data.failed);
  if (data.module) module = data.module;
  clearTimeout(timer);
  if (data.answer !== undefined) {
    const answer = JSON.parse(data.answer), next = parts[busy.view][parts[busy.view].indexOf(busy.part) + 1];
    show(busy, answer);
    if (next && !pending && !answer.error) pending = { ...busy, part: next };
  }
  busy = null;
  send();
}

// restart replaces the worker after it has failed or taken too long. Without a module it cannot work at all.
function restart(why) {
  worker.terminate();
  clearTimeout(timer);
  say(`The program was stopped: ${why}`, true);
  if (!module) return;
  startWorker();
}

function send() {
  if (busy || !pending) return;
  [busy, pending] = [pending, null];
  worker.postMessage({ request: JSON.stringify(busy) });
  timer = setTimeout(() => restart("it took longer than 15 s. The command stagecraft has no such limit."), longest);
}

function ask() {
  pending = { ...state(), view, part: parts[view][0], now: new Date().toISOString(), sent: performance.now() };
  send();
}

function say(text, bad) {
  $("state").textContent = text;
  $("state").className = bad ? "bad" : "soft";
}

// ---- answers

const heading = (text) => el("h2", {}, text);
const chip = (status) => el("span", { className: `chip ${status}` }, status);

function table(head, rows) {
  const cells = (tag, row) => el("tr", {}, ...row.map((c) => el(tag, {}, c)));
  return el("div", { className: "wide" }, el("table", {}, head ? el("thead", {}, cells("th", head)) : "", el("tbody", {}, ...rows.map((r) => cells("td", r)))));
}

// show shows an answer, or a part of it, in place of the former. The first part begins the count of faults.
function show(request, answer) {
  if (request.view !== view) return;
  const first = request.part === parts[view][0], shown = [];
  if (first) {
    for (const e of Object.values(editors)) e.marks.clear();
    faults = 0;
  }
  if (answer.error) {
    for (const section of Object.values(sections)) section.replaceChildren();
    shown.push(el("p", { className: "bad" }, answer.error));
  }
  const found = request.part === "lives" ? [] : answer.faults || []; // the lives have the faults of what is next
  if (found.length) shown.push(...showFaults(found));
  for (const note of answer.notes || []) shown.push(el("p", { className: "soft" }, note));
  if (view === "lives") shown.push(...showLives(answer));
  if (view === "status") shown.push(...showStatuses(answer.statuses || []));
  if (view === "rollout") shown.push(...(answer.rollouts || []).map(showRollout));
  for (const e of Object.values(editors)) e.number();
  sections[request.part].replaceChildren(...shown);
  faults += found.filter((f) => !f.informational).length;
  say(`${faults ? many(faults, "fault") : "No faults in the text"} · answered in ${Math.round(performance.now() - request.sent)} ms`, faults > 0 || Boolean(answer.error));
  document.documentElement.dataset.answered ??= String(Math.round(performance.now()));
}

function showFaults(faults) {
  const list = faults.map((f) => {
    const note = f.informational || f.rule !== "fault";
    editors[f.file]?.mark(f.line, note ? "note" : "fault");
    const place = f.line ? `${f.file}:${f.line}:${f.column} ` : "";
    const words = [f.stage && `stage "${f.stage}"`, f.path, f.message].filter(Boolean).join(": ");
    const button = el("button", { className: note ? "place note" : "place" }, el("strong", {}, place), words, f.advice ? ` (${f.advice})` : "", note && f.rule ? ` [${f.rule}]` : "");
    button.onclick = () => editors[f.file]?.select(f.from || 0, f.to || 0);
    return button;
  });
  return [heading(faults.every((f) => f.rule === "fault") ? "Faults" : "What cannot be meant"), ...list];
}

function showLives(a) {
  const shown = [];
  if (a.explanations?.length) shown.push(heading("What is next, and why"), ...a.explanations.map(showExplanation));
  if (a.run?.moments.length) shown.push(...showRun(a.run));
  if (a.diagram) shown.push(heading(a.lives ? "All lives" : "The Stages"), picture(a.diagram));
  if (a.lives) {
    if (a.lives.findings?.length) shown.push(el("ul", {}, ...a.lives.findings.map((f) => el("li", {}, f))));
    if (a.times?.length) {
      const names = ["min", "mean", "p50", "p90", "p99", "max"];
      shown.push(el("h3", {}, "How long it takes"), table(["Object", "to", "reached", ...names],
        a.times.map((t) => [t.object, t.target, `${+(t.reached * 100).toFixed(1)}%`, ...names.map((n) => t.times?.[n] ?? "")])));
    }
    shown.push(showTransitions(a.lives));
  }
  return shown;
}

function showExplanation(e) {
  const stages = e.stages.map((s) => el("details", { open: false }, el("summary", {}, el("span", { className: s.matches ? "holds" : "fails" }, s.stage), s.matches ? ` ${+((s.chance || 0) * 100).toFixed(1)}%, after ${s.delay}` : ""),
    el("ul", { className: "plain" }, ...s.requirements.map((r) => el("li", { className: r.holds ? "holds" : "fails" }, `${r.path}: ${r.text}`, r.error ? ` (${r.error})` : "")))));
  return el("div", {}, el("p", {}, el("strong", {}, e.summary)), ...stages, el("details", {}, el("summary", {}, "Everything that was seen"), el("pre", {}, e.text)));
}

function showTransitions(lives) {
  const name = (id) => `${id} ${lives.states[id].label}`;
  return el("details", {}, el("summary", {}, `${many(lives.states.length, "state")}, ${many(lives.transitions.length, "transition")}`),
    table(["from", "by", "chance", "after", "to"], lives.transitions.map((t) => [name(t.from), t.stage || t.action || "", t.stage ? `${+((t.chance || 0) * 100).toFixed(1)}%` : "",
      t.delay || "", name(t.to) + (t.error ? `, failed: ${t.error}` : "")])));
}

// picture shows a drawing of package diagram, with its own styles.
function picture(text) {
  const drawing = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const host = el("div", { className: "picture", tabIndex: 0, role: "img", ariaLabel: "The lives as a diagram" });
  host.attachShadow({ mode: "open" }).append(document.importNode(drawing, true));
  return host;
}

// ---- the run

// changesUntil returns the last change of each object at a moment, and its text before that moment.
function changesUntil(run, index) {
  const now = run.objects.map(() => null), before = run.objects.map(() => "");
  run.moments.slice(0, index + 1).forEach((m, i) => m.changes.forEach((c) => {
    if (i === index) before[c.object] = now[c.object]?.yaml || "";
    now[c.object] = c;
  }));
  return { now, before };
}

function showRun(run) {
  const last = run.moments.at(-1).seconds, end = last > 0 ? last * 1.06 : 1;
  const percent = (seconds) => (100 * seconds) / end;
  const slider = el("input", { type: "range", min: 0, max: run.moments.length - 1, value: 0, id: "slider", ariaLabel: "Moment" });
  const time = el("output", { className: "soft" }), detail = el("div"), play = el("button", {}, "Play"), cursors = [];
  const go = (index) => {
    slider.value = index;
    const m = run.moments[index];
    time.textContent = `${m.at} · ${index + 1} of ${run.moments.length}`;
    slider.ariaValueText = `${m.at}: ${m.events.join("; ") || many(m.changes.length, "change")}`;
    for (const c of cursors) for (const x of ["x1", "x2"]) c.setAttribute(x, `${percent(m.seconds)}%`);
    detail.replaceChildren(...showMoment(run, index));
  };
  const lanes = run.objects.flatMap((name, object) => {
    const cursor = svg("line", { y1: 0, y2: "100%" });
    cursors.push(cursor);
    const lane = svg("svg", { role: "img", "aria-label": name }, ...spansOf(run, object, end).map(([from, to, status]) =>
      svg("rect", { class: status, x: `${percent(from)}%`, width: `${Math.max(percent(to - from), 0.4)}%`, y: "10%", height: "80%", rx: 3 }, svg("title", {}, `${status} from ${from} s`))), cursor);
    lane.onclick = (e) => {
      const box = lane.getBoundingClientRect(), at = ((e.clientX - box.left) / box.width) * end;
      go(Math.max(0, run.moments.findLastIndex((m) => m.seconds <= at)));
    };
    return [el("span", {}, name), lane];
  });
  const axis = svg("svg", { class: "axis", "aria-hidden": "true" }, ...[0, 0.5, 1].map((x) => svg("text", { x: `${percent(last * x)}%`, y: "1em", "text-anchor": ["start", "middle", "end"][x * 2] }, duration(last * x))));
  let playing;
  play.onclick = () => {
    clearInterval(playing);
    playing = playing ? null : setInterval(() => {
      if (!detail.isConnected || Number(slider.value) >= run.moments.length - 1) { clearInterval(playing); playing = null; play.textContent = "Play"; return; }
      go(Number(slider.value) + 1);
    }, 700);
    play.textContent = playing ? "Pause" : "Play";
    if (playing && Number(slider.value) >= run.moments.length - 1) go(0);
  };
  slider.oninput = () => go(Number(slider.value));
  go(0);
  return [heading("A run in virtual time"), el("div", { className: "lanes" }, ...lanes, el("span"), axis), el("div", { className: "slider" }, play, slider, time), detail,
    el("p", { className: "soft" }, `The run ends at ${run.moments.at(-1).at}: ${run.end}. Another seed draws other delays and chances.`)];
}

// spansOf returns the spans of time in which an object had a status.
function spansOf(run, object, end) {
  const spans = [];
  for (const m of run.moments) {
    for (const c of m.changes.filter((c) => c.object === object)) {
      const open = spans.at(-1);
      if (open && open[1] === end) open[1] = m.seconds;
      if (c.yaml) spans.push([m.seconds, end, c.status]);
    }
  }
  return spans;
}

function duration(seconds) {
  if (seconds < 120) return `${+seconds.toFixed(1)} s`;
  return seconds < 7200 ? `${+(seconds / 60).toFixed(1)} min` : `${+(seconds / 3600).toFixed(1)} h`;
}

function showMoment(run, index) {
  const { now, before } = changesUntil(run, index), m = run.moments[index];
  const objects = run.objects.map((name, i) => {
    const c = now[i];
    if (!c) return null;
    const changedNow = m.changes.some((change) => change.object === i);
    const body = c.yaml ? el("details", { open: changedNow }, el("summary", {}, changedNow ? "The object, with what is new" : "The object"), difference(before[i], c.yaml, changedNow && index > 0)) : "";
    return el("div", {}, el("h3", {}, name, " ", chip(c.yaml ? c.status : "NotFound"), c.reason ? ` ${c.reason}` : ""), body);
  });
  return [el("ul", {}, ...m.events.map((e) => el("li", {}, e))), ...objects.filter(Boolean)];
}

// difference shows a text, with the lines that the former text does not have.
function difference(before, after, marked) {
  const left = new Map();
  for (const line of before.split("\n")) left.set(line, (left.get(line) || 0) + 1);
  return el("pre", { tabIndex: 0 }, ...after.trimEnd().split("\n").map((line) => {
    const n = left.get(line) || 0;
    if (n) left.set(line, n - 1);
    return el("span", { className: marked && !n ? "new" : "same" }, line || " ");
  }));
}

// ---- status and rollout

const bases = { Kind: "a rule for the kind", Convention: "a convention of the API", Words: "words in the status", Guess: "a guess" };

function showStatuses(statuses) {
  return statuses.map((s) => {
    let field = "no single field";
    if (s.field) {
      editors.objects.mark(s.line, "field");
      field = el("button", { className: "field" }, `${s.field} (line ${s.line})`);
      field.onclick = () => editors.objects.select(s.from || 0, s.to || 0);
    }
    const rows = [["Reason", s.reason || "–"], ["Message", s.message || "–"], ["Decided by", field], ["Basis", `${s.basis}: ${bases[s.basis] || "no rule"}`]];
    if (s.upstream !== s.status) rows.push(["Upstream kstatus", s.upstream]);
    if (s.suspended) rows.push(["Suspended", "someone paused the object"]);
    if (s.terminal) rows.push(["Terminal", "trying again does not help"]);
    if (s.recheckAfter) rows.push(["Look again", `in ${s.recheckAfter}`]);
    const name = [s.namespace, s.name].filter(Boolean).join("/");
    return el("div", {}, el("h3", {}, `${s.kind} ${name} `, chip(s.status)), table(null, rows),
      el("details", {}, el("summary", {}, "Which rules were tried, and what they saw"), el("pre", { tabIndex: 0 }, s.explanation)));
  });
}

// showRollout shows the page of package rehearse in a frame that runs no scripts.
function showRollout(r) {
  const frame = el("iframe", { title: `The rehearsal of ${r.policy}`, srcdoc: r.page });
  frame.setAttribute("sandbox", "allow-same-origin");
  frame.onload = () => {
    const page = frame.contentDocument.documentElement;
    const fit = () => { frame.style.height = `${page.querySelector("body").scrollHeight + 60}px`; };
    new ResizeObserver(fit).observe(page);
    fit();
  };
  return frame;
}

// ---- the controls

function tab(name) {
  if (name !== view) { showView(name); showExample(0); remember(); }
  $(`tab-${view}`).focus();
}

const workerAddress = URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" }));

const tabs = Object.keys(views);
for (const name of tabs) {
  $(`tab-${name}`).onclick = () => tab(name);
  $(`tab-${name}`).onkeydown = (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (step) tab(tabs[(tabs.indexOf(view) + step + tabs.length) % tabs.length]);
  };
}
$("example").onchange = () => { showExample($("example").selectedIndex); remember(); };
for (const id of ["seed", "delete", "extensions"]) $(id).oninput = changed;
$("file").onchange = async () => { await open($("file").files, Editor.last || Object.values(editors)[0]); $("file").value = ""; };
$("copy").onclick = async () => {
  untouched = false;
  await remember();
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied. It has all texts.");
  } catch {
    say("Copy the address of this page. It has all texts.");
  }
};
addEventListener("hashchange", recall);
startWorker();
recall();

// The program follows in the file.
document.addEventListener("DOMContentLoaded", () => worker.postMessage({ part: null }));
