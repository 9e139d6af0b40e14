// What holds the lab together without drawing anything: state, time, questions to Python, and what a hand does.
import { DROPPED } from "./link.js";
import { derive, moment, places } from "./scene.js";
import { added, changed, createStore, removed, spoken } from "./state.js";
import { createPlayer } from "./timeline.js";

/** Changes that leave every row where it was: drawn at once, beside the last answer. Others wait for theirs. */
const LIVE = new Set(["move", "add", "flip"]);
/** Changes that Python must be asked about. */
const ASKED = new Set(["move", "add", "flip", "data", "model", "history"]);
const PATIENCE_MS = 1500;

/** @typedef {{version: number, state: any, answer: any}} Answered  an answer with its state, and the change that it knows of */

/**
 * @typedef {Object} Work  what goes on in a lab
 * @property {import("./link.js").Link} link @property {() => void} refresh @property {(words: string) => void} complain
 * @property {() => any} look  colours, dark, reduced
 * @property {import("./state.js").Store} store @property {import("./timeline.js").Player} player
 * @property {{hover: number, selected: number, tool: "point"|"erase"|"flip", brush: number}} pointer
 * @property {{risk: any, cone: any, section: any, weights3d: any, cut: number|null}} weightViews
 * @property {Answered} answered  the last answer
 * @property {number} version  changes that Python was asked about so far
 * @property {number} brokenAt  the last change after which the rows are other rows @property {number} since  when the last change was
 * @property {number|null} wanted  where to stand when the next answer is there
 * @property {any} judged  what Python says of weights set by hand
 * @property {boolean} fresh  no answer was there before @property {boolean} moving  a point is in a hand
 */

/**
 * @param {import("./link.js").Link} link @param {import("./state.js").State} initial
 * @param {{refresh: () => void, complain: (words: string) => void, look: () => any}} shell  look: colours, dark, reduced
 */
export function createSession(link, initial, { refresh, complain, look }) {
  const store = createStore(initial);
  const player = createPlayer(refresh, () => store.set({ time: player.atEnd() ? null : player.k() }, "time"));
  /** @type {Work} */
  const work = {
    link, refresh, complain, look, store, player,
    pointer: { hover: -1, selected: -1, tool: "point", brush: 1 },
    weightViews: { risk: null, cone: null, section: null, weights3d: null, cut: null },
    answered: { version: -1, state: initial, answer: null },
    version: 0, brokenAt: -1, since: 0, wanted: initial.time, judged: null, fresh: true, moving: false,
  };
  store.subscribe((state, kind, before) => follow(work, state, kind, before));
  player.setTempo(initial.view.tempo, initial.view.speed);
  const session = {
    store, player, pointer: work.pointer, weightViews: work.weightViews,
    scene: () => sceneOf(work),
    edit: (/** @type {any} */ part, /** @type {any} */ kind, /** @type {string|undefined} */ group) => edit(work, part, kind, group),
    replace: (/** @type {any} */ part, /** @type {string|undefined} */ group) => replace(work, part, group),
    leaveHand() { if (store.get().hand) store.set({ hand: null }, "hand"); },
    answer: () => work.answered.answer,
    /** Changes that were asked about so far, and the last of them that is answered. */
    version: () => work.version, answeredTo: () => work.answered.version,
    /** A point is being moved, or no longer: meanwhile Python does less. @param {boolean} now */
    setMoving(now) { work.moving = now; },
    startFrom: (/** @type {boolean} */ here) => startFrom(work, here),
    restore: (/** @type {import("./state.js").State} */ state) => restore(work, state),
    destroy() { player.destroy(); },
  };
  return { ...session, actions: createActions(session, (ask, name, body, shape) => askFor(work, ask, name, body, shape), refresh) };
}

/** The state that is shown: the answered one, until a change that moves rows has its answer. @param {Work} work */
function shownState({ store, link, answered, brokenAt, since }) {
  const state = store.get();
  if (answered.version >= brokenAt || !answered.answer) return state;
  if (!link.isOpen() || performance.now() - since > PATIENCE_MS) return state;
  return { ...answered.state, hand: null, time: state.time, view: state.view };
}

/** @param {Work} work */
function sceneOf(work) {
  const { store, answered, brokenAt, version, player, pointer, weightViews, judged, look } = work;
  const state = shownState(work);
  const lost = state === store.get() && answered.version < brokenAt; // no answer speaks of these rows
  return derive({ state, answer: lost ? null : answered.answer, stale: answered.version < version, player, pointer, weightViews, judged, look: look() });
}

/** What Python is asked about: the state without what only the page needs. @param {any} state */
const question = (state) => ({ ...spoken(state), hand: null, time: null });

/** Ask for the solution of the state as it is now. @param {Work} work */
async function solve(work) {
  const [asked, state] = [work.version, work.store.get()];
  try {
    const answer = await work.link.ask("solve", { state: question(state), ...(work.moving ? { quick: true } : {}) });
    if (answer !== DROPPED) take(work, { version: asked, state, answer });
  } catch (error) {
    if (asked !== work.version) return;
    work.complain(/** @type {Error} */ (error).message);
    take(work, { version: asked, state, answer: null });
  }
}

/** Use an answer, unless a newer one is there. @param {Work} work @param {Answered} answered */
function take(work, answered) {
  const { store, player, pointer, weightViews, wanted, fresh } = work;
  const { version, state, answer } = answered;
  if (version < work.answered.version) return;
  const at = work.answered.state.past + player.place() - state.past; // the same moment of a run that went on
  work.answered = answered;
  if (version === work.version) work.wanted = null;
  player.load(places(answer), fresh || wanted !== null ? wanted : player.playing() ? Math.max(0, at) : null, fresh);
  work.fresh = false;
  const time = player.atEnd() ? null : player.k();
  if (version === work.version && !player.playing() && store.get().time !== time) store.set({ time }, "time"); // links know it too
  if (!answer || !answer.usable) Object.assign(weightViews, { risk: null, cone: null, section: null, weights3d: null });
  pointer.hover = Math.min(pointer.hover, state.points.length - 1);
  work.refresh();
}

/** Ask what weights set by hand are worth. @param {Work} work */
async function judge(work) {
  const state = work.store.get();
  if (!state.hand) { work.judged = null; return; }
  try {
    const answer = await work.link.ask("judge", { state: question(state), weights: state.hand });
    if (answer !== DROPPED) { work.judged = answer; work.refresh(); }
  } catch (error) {
    work.complain(/** @type {Error} */ (error).message);
  }
}

/** After a change of the state: ask what has to be asked. @param {Work} work @param {any} state @param {any} kind @param {any} before */
function follow(work, state, kind, before) {
  const { pointer, player, refresh } = work;
  if (state.hand !== before.hand && !state.hand) work.judged = null;
  if (ASKED.has(kind)) {
    work.version += 1;
    work.since = performance.now();
    if (!LIVE.has(kind)) work.brokenAt = work.version;
    if (!LIVE.has(kind)) setTimeout(refresh, PATIENCE_MS + 20);
    if (pointer.selected >= state.points.length) pointer.selected = -1;
    pointer.brush = Math.min(pointer.brush, state.labels.length - 1);
    solve(work);
  }
  if (state.hand && (ASKED.has(kind) || state.hand !== before.hand)) judge(work);
  if (state.view !== before.view) player.setTempo(state.view.tempo, state.view.speed);
  refresh();
}

/** Where a run goes on from when the data changes under it. @param {Work} work */
function goingOn({ store, player, answered: { answer, state } }) {
  if (!player.playing() || !answer || !answer.run || answer.machines.length > 1) return {};
  const { weights, k } = moment(answer, player.k());
  return state.past + k === store.get().past ? {} : { start: weights, past: state.past + k };
}

/** A change of data or algorithm by a person. @param {Work} work @param {any} part @param {any} kind @param {string} [group] */
function edit(work, part, kind, group) {
  const on = kind === "model" ? {} : goingOn(work);
  const { view } = work.store.get();
  const other = part.points && group !== "split" && view.preset && !view.about?.edited; // an example that is no more as it was made
  work.store.change({ ...on, ...(other ? { view: { ...view, about: { ...view.about, edited: true } } } : {}), ...part }, kind, group);
}

/** Other data altogether: from the beginning. @param {Work} work @param {any} part @param {string} [group] */
function replace(work, part, group) {
  const { store, player, pointer } = work;
  if (player.playing()) work.wanted = 0;
  pointer.selected = pointer.hover = -1;
  store.change({ start: null, past: 0, watch: 0, hand: null, ...part }, "data", group);
}

/** The weights shown become the start, or zero does. @param {Work} work @param {boolean} here */
function startFrom(work, here) {
  const now = sceneOf(work);
  work.store.change({ start: here ? now.weights : null, past: here ? now.continued + (now.hand ? 0 : now.k) : 0, hand: null }, "model");
  work.wanted = here ? 0 : null;
  work.player.pause();
}

/** Another state altogether: from a link. @param {Work} work @param {import("./state.js").State} state */
function restore(work, state) {
  work.wanted = state.time;
  work.fresh = true;
  work.pointer.selected = work.pointer.hover = -1;
  work.store.change(state, "data");
}

/** Ask for what a view of the weights shows. @param {Work} work @param {string} ask @param {string} name @param {any} body @param {(answer: any) => any} [shape] */
async function askFor(work, ask, name, body, shape = (answer) => answer) {
  try {
    const answer = await work.link.ask(ask, { state: question(work.store.get()), ...body }, name);
    if (answer === DROPPED) return;
    work.weightViews[name] = { ...body, ...shape(answer) };
  } catch {
    work.weightViews[name] = null; // the view says what it can without
  }
  work.refresh();
}

/**
 * What the views may ask for: points and weights that a hand changes, and questions about what they show.
 * @param {any} session @param {(ask: string, name: string, body: any, shape?: (answer: any) => any) => Promise<void>} askFor @param {() => void} refresh
 */
function createActions({ store, player, pointer, answer, edit, leaveHand, setMoving }, askFor, refresh) {
  return {
    /** @param {number} x @param {number} y @param {number} kind */
    add(x, y, kind) {
      const { points } = store.get();
      pointer.selected = points.length;
      edit({ points: added(points, [x, y, kind, 0]) }, "add");
    },
    /** @param {number} row @param {number} x @param {number} y @param {"start"|"drag"|"end"|"key"} phase */
    move(row, x, y, phase) {
      const { points } = store.get();
      if (phase === "start") { store.close(); setMoving(true); return; }
      if (phase === "end") setMoving(false);
      const same = !points[row] || (points[row][0] === x && points[row][1] === y);
      if (!same || (phase === "end" && !["hard", "soft"].includes(store.get().algorithm))) edit({ points: changed(points, row, { x, y }) }, "move", `move-${row}`);
      if (phase === "end") store.close();
    },
    /** @param {number} row */
    remove(row) {
      pointer.selected = pointer.hover = -1;
      edit({ points: removed(store.get().points, row) }, "data");
    },
    /** @param {number} row */
    flip(row) {
      const { points, labels } = store.get();
      edit({ points: changed(points, row, { kind: (points[row][2] + 1) % labels.length }) }, "flip");
    },
    /** @param {number} row */
    hover(row) { if (pointer.hover !== row) { pointer.hover = row; refresh(); } },
    /** @param {number} row */
    select(row) { if (pointer.selected !== row) { pointer.selected = row; refresh(); } },
    /** @param {number[]} weights */
    setWeights(weights) {
      if (!answer()?.usable) return; // nothing to judge them by
      player.pause();
      store.set({ hand: weights }, "hand");
    },
    undo: () => store.undo(),
    seek: (/** @type {number} */ place) => { leaveHand(); player.seek(place); },
    watch: (/** @type {number} */ i) => edit({ watch: i, start: null, past: 0, hand: null }, "model"),
    askRisk: (/** @type {number[]} */ window, /** @type {number} */ b, size = 81) => askFor("risk", "risk", { window, b, size }),
    askCone: (/** @type {number[]} */ window, /** @type {number} */ b) => askFor("wspace", "cone", { window, b }, (answer) => ({ polygon: answer.cone })),
    askSection: (/** @type {number} */ w1, /** @type {number[]} */ window) => askFor("section", "section", { w1, window }),
    askWeights3d: (/** @type {number[][]} */ box) => askFor("weights3d", "weights3d", { box }),
    /** The window of a view was moved by a person. @param {string} name @param {any} window */
    looked(name, window) { store.set({ view: { ...store.get().view, windows: { ...store.get().view.windows, [name]: window } } }, "view"); },
  };
}

/** @typedef {ReturnType<typeof createSession>} Session */
