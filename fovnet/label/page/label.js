// The page: one volume after another, what the reader does to it, and how far all is.

import { act, get, picture, Refused } from "./server.js";
import { Regions } from "./regions.js";
import { Bands } from "./bands.js";
import { Cuts, original } from "./pictures.js";
import { picked } from "./list.js";

const $ = id => document.getElementById(id);
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const TEN = 10, POLL_MS = 5000, NARROW_PX = 90, NOTCH_PX = 40;
const FLATTEST = 4;         // times as high as wide that a body is drawn at most: at 14 nobody knows a kidney
const SLICE_PX = 3;         // but a slice at least so high, and all of them LOW_PX, to be hit by hand
const LOW_PX = 240;

let regions, bands, begun;
let shown = null;           // what the server said of the volume, with its `pictures`
let label = [];             // as it is on the page
let chosen = "";            // the line that is moved
let looked = null;          // the slice looked at; null: those beside the chosen line
let depth = [64, 64];       // column and row at which the side and the front view are cut
let ahead = null;           // the next volume, loaded before it is wanted
let trail = [];             // volumes shown, in order; `at` is the present one
let at = -1;
let acted = [];             // volumes with actions of this window, for undo
let unsent = false;         // an edit that waits for the one before it

// ---- volumes ---------------------------------------------------------------------------------------------

async function load(index) {
  const facts = await get(`/volumes/${index}`);
  if (facts.fault) return { ...facts, cuts: null };
  const { bitmap } = await picture(`/volumes/${index}/cuts.jpg`);
  return { ...facts, pictures: new Cuts(bitmap, facts) };
}

function loadAhead(after) {
  const wanted = get(`/next?after=${after}`).then(({ next }) => next);
  ahead = { index: wanted, volume: wanted.then(next => next === null ? null : load(next)) };
  ahead.volume.catch(() => {});
}

async function fetched(index) {
  const kept = ahead && await ahead.index.catch(() => null) === index ? await ahead.volume.catch(() => null) : null;
  return kept || load(index);
}

async function show(index, { back = false } = {}) {
  if (index === null) return finish();
  let volume = await fetched(index);
  if (back) volume = await load(index);                 // what was loaded ahead is older than what was done
  shown = volume;
  label = shown.extents;
  if (!back) {
    trail = [...trail.slice(0, at + 1), index];
    at = trail.length - 1;
  }
  depth = shown.pictures ? shown.pictures.middle : [64, 64];
  $("finished").hidden = true;
  $("work").hidden = false;
  ({ chosen, looked } = shown.fault ? { chosen: "", looked: null } : regions.beginning(label, slices()));
  tell(shown.fault || (shown.mark ? `This volume is ${shown.mark === "aside" ? `not to be labelled: ${shown.comment}` : shown.mark}.` : ""), Boolean(shown.fault));
  if (!shown.fault) drawViews();
  drawAll();
  act(index, () => ({ act: "shown", revision: 0 })).catch(failed);
  loadAhead(index);
}

function finish() {
  shown = null;
  $("work").hidden = true;
  $("finished").hidden = false;
  $("name").textContent = "Nothing left";
  $("about").textContent = "";
  $("finished-words").textContent = `All volumes that wait for ${begun.reader} are done. The tables are in ${begun.out}; Ctrl-C in the terminal ends the server.`;
  tell("");
}

const slices = () => shown.grid.slices;
const line = () => regions.borders(label, slices()).find(one => one.id === chosen) || null;
const heightAt = slice => shown.grid.bottom_mm + slice * shown.grid.step_mm;

// ---- actions ---------------------------------------------------------------------------------------------

// Sends an action on the present volume; what comes back is what the server holds.
async function send(action, { follow = false, leaves = false } = {}) {
  const index = shown.index;
  const state = await act(index, () => ({ revision: shown.index === index ? shown.revision : 0, ...action() }));
  if (action().act !== "shown" && acted.at(-1) !== index) acted.push(index);
  progress(state.progress);
  if (shown && shown.index === index) {
    Object.assign(shown, { revision: state.revision, mark: state.mark, comment: state.comment, undo: state.undo, redo: state.redo, unoffered: state.unoffered });
    if (follow) { label = state.extents; if (!line()) chosen = regions.beginning(label, slices()).chosen; tell(""); }
    if (!leaves) drawAll();
  }
  return state;
}

function edit(next) {
  if (typeof next === "string") return tell(next);
  if (same(next, label)) return undefined;
  label = next;
  looked = null;
  if (!line()) chosen = regions.beginning(label, slices()).chosen;
  tell("");
  drawAll();
  return save();
}

// Saves the label as it is when its turn comes: of many quick moves the last one.
function save() {
  if (unsent) return undefined;
  unsent = true;
  return send(() => { unsent = false; return { act: "edit", extents: label }; }).catch(failed);
}

async function leave(action) {
  const { next } = await send(action, { leaves: true });
  await show(next);
}

const actions = {
  done: () => leave(() => ({ act: "done", extents: label })),
  skip: () => leave(() => ({ act: "skipped" })),
  redo: () => shown.redo ? send(() => ({ act: "redo" }), { follow: true }) : tell("There is nothing to redo."),
  restart: () => edit(shown.begun),
  clear: () => shown.unoffered && !label.length ? save() : edit(regions.sideOf([])),       // it is said that there is none
  lower: () => edit(regions.shifted(label, -1)),
  upper: () => edit(regions.shifted(label, +1)),
  help: () => $("help").showModal(),
  async list() {
    const { volumes } = await get("/list"), index = await picked($("list"), volumes);
    if (index !== null && index !== shown?.index) await show(index);
  },
  async undo() {
    if (shown && shown.undo && acted.includes(shown.index)) return send(() => ({ act: "undo" }), { follow: true });
    const before = acted.filter(index => !shown || index !== shown.index).pop();
    if (before === undefined) return shown && shown.undo ? send(() => ({ act: "undo" }), { follow: true }) : tell("There is nothing to undo.");
    acted = acted.slice(0, acted.lastIndexOf(before) + 1);
    await show(before, { back: true });
    return shown.undo ? send(() => ({ act: "undo" }), { follow: true }) : undefined;
  },
  async back() {
    const to = shown ? at - 1 : at;
    if (to < 0) return tell("This is the first volume.");
    at = to;
    return show(trail[at], { back: true });
  },
  async comment() {
    const words = await asked("A comment on this volume", shown.comment, []);
    if (words !== null) await send(() => ({ act: "comment", words }));
  },
  async aside() {
    const reasons = ["not a body", "too noisy", "header is wrong: not feet to head", "cannot tell the border"];
    const words = await asked("Cannot be labelled, because …", shown.fault, reasons);
    if (words) await leave(() => ({ act: "aside", words }));
  },
};

function run(name, ...given) {
  if (!shown && !["undo", "back", "list", "help"].includes(name)) return;
  if (shown && shown.fault && !["skip", "aside", "undo", "redo", "back", "comment", "list", "help"].includes(name)) {
    tell(shown.fault, true);
    return;
  }
  Promise.resolve().then(() => actions[name](...given)).catch(failed);
}

async function failed(fault) {
  if (!(fault instanceof Refused)) {
    tell(`Sorry, the page met something it was not written for: ${fault.message}. Reload it; what you did is saved.`, true);
    return;
  }
  if (fault.status !== 409 || !shown) { tell(fault.message, true); return; }
  const mine = label;
  await show(shown.index, { back: true });
  if (!same(mine, label) && await choice($("clash")) === "mine") edit(mine);
  else tell("Somebody else has changed this volume; this is how it is now.", true);
}

function choice(dialog) {
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise(done => dialog.addEventListener("close", () => done(dialog.returnValue), { once: true }));
}

async function asked(title, words, reasons) {
  $("words-title").textContent = title;
  $("words-text").value = words || "";
  $("reasons").replaceChildren(...reasons.map(reason => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: reason });
    button.addEventListener("click", () => { $("words-text").value = reason; $("words").close("save"); });
    return button;
  }));
  const answer = choice($("words"));
  $("words-text").focus();
  return await answer === "save" ? $("words-text").value.trim() : null;
}

// ---- drawing ---------------------------------------------------------------------------------------------

function tell(words, bad = false) {
  $("told").textContent = words;
  $("told").className = bad ? "bad" : "";
}

function progress(far) {
  $("bar").value = far.volumes ? far.done / far.volumes : 0;
  const readers = Object.entries(far.readers), parts = [`${far.done} of ${far.volumes} done`];
  if (readers.length > 1) parts.push(readers.map(([name, count]) => `${name} ${count}`).join(", "));
  if (far.unwritten) parts.push(far.unwritten);
  $("done").textContent = parts.join(" · ");
  const own = readers.length ? far.readers[begun.reader] : far.done;       // a blind reader is told of no reader
  $("begin").hidden = own > 0;
  const wrong = far.wrong;
  if (wrong && wrong.value !== null) {
    const share = value => (100 * value).toFixed(1);
    const interval = wrong.low === null ? "" : `, ${share(wrong.low)} to ${share(wrong.high)}`;
    const people = `${wrong.subjects} ${wrong.subjects === 1 ? "person" : "people"}`;
    $("wrong").textContent = `corrected so far: ${share(wrong.value)} % of ${wrong.denominator.toLocaleString("en")} slices (${people}${interval}${far.is_random ? "" : "; not drawn at random"})`;
  }
}

function drawAll() {
  const facts = Object.values(shown.attributes).filter(Boolean).slice(0, 5).join(", ");
  $("name").textContent = shown.volume_id;
  $("about").textContent = [facts, shown.comment && shown.mark !== "aside" ? `comment: ${shown.comment}` : ""].filter(Boolean).join(" · ");
  document.title = `${shown.volume_id}: fovnet label`;
  drawDoubts(shown.message ? shown.message.split("; ") : []);
  drawToggles();
  for (const [name, can] of [["redo", shown.redo], ["undo", shown.undo || acted.length > 0], ["back", at > 0]])
    document.querySelector(`nav [data-do=${name}]`).setAttribute("aria-disabled", String(!can));
  const isUnread = Boolean(shown.fault);
  $("body").hidden = $("slices").hidden = $("regions").hidden = isUnread;
  $("unread").hidden = !isUnread;
  $("unread-words").textContent = shown.fault;
  const [done, aside] = ["done", "aside"].map(name => document.querySelector(`nav [data-do=${name}]`));
  const isReady = !isUnread && !(shown.unoffered && !label.length);
  done.classList.toggle("main", isReady);
  done.setAttribute("aria-disabled", String(!isReady));
  aside.classList.toggle("main", isUnread);
  if (shown.fault) return;
  drawLabel();
  drawSize();
}

function drawDoubts(doubts) {
  $("doubts").hidden = !doubts.length;
  const more = doubts.length > 1 ? ` (and ${doubts.length - 1} more)` : "";
  $("doubts").firstElementChild.textContent = `In doubt: ${doubts[0]}${more}`;
  $("doubts").lastElementChild.replaceChildren(...doubts.slice(1).map(doubt =>
    Object.assign(document.createElement("li"), { textContent: doubt })));
}

function drawToggles() {
  const shows = new Set(label.map(([name]) => name));
  const buttons = [...$("toggles").children];
  regions.names.forEach((name, index) => buttons[index].setAttribute("aria-pressed", String(shows.has(name))));
}

function drawSize() {
  const stage = $("stage"), high = shown.grid.slices * shown.grid.step_mm;
  stage.style.height = "";
  const most = stage.clientHeight, share = window.innerWidth > 760 ? 0.55 : 1;
  const room = Math.max(2 * NARROW_PX, $("work").clientWidth * share - $("bars").offsetWidth - 32 * share);
  const wide = Math.max(NARROW_PX, Math.min(room / 2, most * shown.side_mm / high));
  const tall = Math.min(most, Math.max(FLATTEST * wide * high / shown.side_mm, SLICE_PX * slices(), LOW_PX));
  stage.style.height = `${tall}px`;
  for (const view of stage.querySelectorAll(".view")) view.style.width = `${wide}px`;
  const stretch = (tall / high) / (wide / shown.side_mm);
  const drawn = Math.abs(stretch - 1) < 0.03 ? "true to scale" : `drawn ${stretch.toFixed(1)} times as high as wide`;
  $("scale").textContent = `${shown.grid.slices} slices, z ${Math.round(heightAt(0))} to ${Math.round(heightAt(slices()))} mm; ${drawn}${shown.notes.length ? `; ${shown.notes.join("; ")}` : ""}`;
}

function drawViews() {
  shown.pictures.view($("front"), false, depth[1]);
  shown.pictures.view($("side"), true, depth[0]);
}

function named(one) {
  const isEnd = one.side || !one.above || !one.below;
  const name = isEnd ? `${one.above ? "lower" : "upper"} end of ${one.above || one.below}` : `${one.below} | ${one.above}`;
  const where = one.at === 0 ? "where the volume begins" : one.at === slices() ? "where the volume ends" : `between slice ${one.at - 1} and ${one.at}`;
  return { name, where, value: `${name}: ${where}, at ${Math.round(heightAt(one.at))} mm` };
}

function drawLabel() {
  drawToggles();
  bands.draw(label, slices(), shown.beside, chosen, named);
  drawPair();
}

// The two slices beside the chosen line, or the one looked at and the one below it.
function drawPair() {
  const one = line(), place = looked ?? (one ? one.at : Math.floor(slices() / 2));
  $("landmark").textContent = looked === null || !label.length ? lineWords(one) : `Looking at slice ${looked}; the lines stay where they are`;
  $("look").hidden = looked === null;
  Object.assign($("look").style, { left: `${$("bars").offsetWidth}px`, bottom: `${100 * ((looked ?? 0) + 0.5) / slices()}%` });
  drawSlice("above", place);
  drawSlice("below", place - 1);
}

function lineWords(one) {
  if (!one && !label.length && shown.unoffered) return "Nothing is offered, as another file was predicted. Add the regions that you see, or press 0 if there is none.";
  if (!one) return label.length ? "" : "No region is shown. Add those that you see; Enter says that there is none.";
  const { name, where } = named(one), isEnd = one.at === 0 || one.at === slices();
  const more = regions.landmark(one) || (isEnd ? where : "");
  return more ? `${name}: ${more}` : name;
}

let wanted = 0;

function drawSlice(id, slice) {
  const words = $(`${id}-words`), inside = slice >= 0 && slice < slices();
  const names = regions.at(label, slice);
  shown.pictures.slice($(id), slice);
  const tone = document.createElement("i");
  tone.style.background = regions.colour(names[0] || "none");
  words.replaceChildren(tone, inside ? `${names.join(", ") || "none"}: slice ${slice}, z ${Math.round(heightAt(slice + 0.5))} mm` : "outside the volume");
  if (inside && $("original").checked) drawOriginal(id, slice);
}

async function drawOriginal(id, slice) {
  const turn = ++wanted, index = shown.index;
  const canvas = $(id);
  canvas.turn = turn;
  try {
    const made = await picture(`/volumes/${index}/slices/${slice}.jpg`);
    if (canvas.turn === turn && shown && shown.index === index) original(canvas, made, shown.pictures.crop);
  } catch (fault) { failed(fault); }
}

// ---- what the reader does --------------------------------------------------------------------------------

function choose(step) {
  const lines = regions.borders(label, slices());
  if (!lines.length) return;
  const now = lines.findIndex(one => one.id === chosen);
  chosen = lines[Math.max(0, Math.min(lines.length - 1, now + step))].id;
  looked = null;
  bands.focus(chosen);
  drawLabel();
}

// Looks at a slice without moving a line; null: at the chosen line again.
function look(slice) {
  if (!shown || shown.fault) return;
  looked = slice === null ? null : Math.max(0, Math.min(slices() - 1, slice));
  drawPair();
}

const turn = by => look((looked ?? line()?.at ?? Math.floor(slices() / 2)) + by);

function lookAlong(view) {
  const over = event => {
    const box = view.getBoundingClientRect();
    look(Math.floor((box.bottom - event.clientY) / box.height * slices()));
  };
  view.addEventListener("pointerdown", over);
  view.addEventListener("pointermove", over);
  view.addEventListener("pointerleave", event => { if (event.pointerType === "mouse") look(null); });
}

let rolled = 0;             // pixels that the wheel has turned since the last slice

function roll(event) {
  if (event.ctrlKey || !shown || shown.fault) return;
  event.preventDefault();
  rolled += event.deltaY * (event.deltaMode ? NOTCH_PX : 1);
  const by = Math.trunc(rolled / NOTCH_PX);
  rolled -= by * NOTCH_PX;
  if (by) turn(-by);
}

function brighter(by) {
  const slider = $("brightness");
  slider.value = Number(slider.value) + by;
  slider.dispatchEvent(new Event("input"));
}

const KEYS = {
  Enter: () => run("done"), s: () => run("skip"), z: () => run("undo"), y: () => run("redo"), b: () => run("back"),
  c: () => run("comment"), x: () => run("aside"), r: () => run("restart"), l: () => run("list"), 0: () => run("clear"), "?": () => run("help"),
  "[": () => run("lower"), "]": () => run("upper"), "+": () => brighter(0.2), "=": () => brighter(0.2), "-": () => brighter(-0.2),
  o: () => { $("original").checked = !$("original").checked; drawLabel(); },
  t: () => $("tinted").click(),
  PageUp: event => turn(event.shiftKey ? TEN : 1), PageDown: event => turn(event.shiftKey ? -TEN : -1), Escape: () => look(null),
  ArrowLeft: () => choose(-1), ArrowRight: () => choose(+1),
  ArrowUp: event => nudge(event.shiftKey ? TEN : 1), ArrowDown: event => nudge(event.shiftKey ? -TEN : -1),
};

function nudge(by) {
  const one = line();
  if (one) edit(regions.moved(label, one, one.at + by));
}

function pressed(event) {
  if (document.querySelector("dialog[open]") || event.altKey) return;
  const command = event.ctrlKey || event.metaKey;
  if (command && !["z", "y"].includes(event.key.toLowerCase())) return;
  if (event.target.matches("textarea, input[type=range]")) return;
  if (event.target.matches("button, input") && ["Enter", " "].includes(event.key)) return;
  let key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (command && key === "z" && event.shiftKey) key = "y";
  const name = /^[1-9]$/.test(key) ? regions.names[Number(key) - 1] : undefined;
  if (!KEYS[key] && !name) return;
  event.preventDefault();
  if (event.repeat && !/^(Arrow|Page)/.test(key)) return;             // a key held down is one wish
  if (name) { if (shown && !shown.fault) edit(regions.toggled(label, name, slices())); }
  else if (shown && !shown.fault || !/^(Arrow|Page|o$)/.test(key)) KEYS[key](event);
}

function listen() {
  document.addEventListener("keydown", pressed);
  for (const button of document.querySelectorAll("[data-do]")) button.addEventListener("click", event => {
    if (event.detail) button.blur();                    // by mouse or touch: Enter is then "all right" again
    run(button.dataset.do);
  });
  for (const id of ["brightness", "contrast"]) $(id).addEventListener("input", light);
  for (const id of ["brightness", "contrast", "original", "tinted"]) $(id).addEventListener("pointerup", () => $(id).blur());
  $("tinted").addEventListener("change", () => { $("tint").hidden = !$("tinted").checked; });
  $("original").addEventListener("change", drawLabel);
  for (const id of ["above", "below"]) $(id).addEventListener("click", event => {
    const box = event.target.getBoundingClientRect();
    depth = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height].map((share, axis) => shown.pictures.pixelAt(share, axis));
    drawViews();
  });
  for (const id of ["front", "side"]) lookAlong($(id));
  for (const id of ["front", "side", "pair"]) $(id).addEventListener("wheel", roll, { passive: false });
  window.addEventListener("resize", () => { if (shown && !shown.fault) { drawLabel(); drawSize(); } });
}

function light() {
  const filter = `brightness(${$("brightness").value}) contrast(${$("contrast").value})`;
  for (const id of ["front", "side", "above", "below"]) $(id).style.filter = filter;
}

// The sides of the patient, on both slices.
function markSides() {
  for (const plane of document.querySelectorAll(".plane"))
    plane.append(...[["left", "R"], ["right", "L"], ["front", "A"], ["back", "P"]].map(([side, letter]) =>
      Object.assign(document.createElement("span"), { className: `at ${side}`, textContent: letter })));
}

function addToggles() {
  $("toggles").replaceChildren(...regions.names.map((name, index) => {
    const button = Object.assign(document.createElement("button"), { type: "button" });
    const tone = Object.assign(document.createElement("span"), { className: "tone" });
    tone.style.setProperty("--tone", regions.colour(name));
    button.append(tone, name);
    if (index < 9) button.append(Object.assign(document.createElement("kbd"), { textContent: index + 1 }));
    button.addEventListener("click", event => {
      if (event.detail) button.blur();
      if (shown && !shown.fault) edit(regions.toggled(label, name, slices()));
    });
    return button;
  }));
  const borders = regions.chain.slice(1).map((name, index) => [`${regions.chain[index]} | ${name}`, regions.landmarks[index]]);
  const sides = regions.side.map((name, index) => [name, regions.meanings[index]]);
  $("landmarks").replaceChildren(...[...borders, ...sides].filter(([, words]) => words).map(([name, words]) =>
    Object.assign(document.createElement("li"), { textContent: `${name}: ${words}` })));
}

async function poll() {
  try {
    const far = await get(`/progress${shown ? `?of=${shown.index}` : ""}`), index = shown?.index;
    progress(far);
    if (shown && !unsent && shown.index === index && far.revision > shown.revision) tell("Somebody else has changed this volume; your next action will show how.", true);
  } catch (fault) { failed(fault); }
  setTimeout(poll, POLL_MS);
}

async function begin() {
  history.replaceState(null, "", "/");                  // the key does not stay in the address
  begun = await get("/begin");
  regions = new Regions(begun.regions);
  bands = new Bands($("stage"), regions, {
    chosen: one => { if (one.id !== chosen || looked !== null) { chosen = one.id; looked = null; drawLabel(); } },
    dragged: (one, to) => {
      const now = regions.borders(label, slices()).find(other => other.id === one.id);
      if (now) { label = regions.moved(label, now, to); looked = null; drawLabel(); }
    },
    released: save,
  });
  addToggles();
  markSides();
  listen();
  progress(begun.progress);
  setTimeout(poll, POLL_MS);
  await show(begun.next);
}

begin().catch(failed);
