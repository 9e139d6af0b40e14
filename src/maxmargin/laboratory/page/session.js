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

/**
 * @param {import("./link.js").Link} link @param {import("./state.js").State} initial
 * @param {{refresh: () => void, complain: (words: string) => void, look: () => any}} shell  look: colours, dark, reduced
 */
export function createSession(link, initial, { refresh, complain, look }) {
  const store = createStore(initial);
  const pointer = { hover: -1, selected: -1, tool: /** @type {"point"|"erase"|"flip"} */ ("point"), brush: 1 };
  const weightViews = { risk: /** @type {any} */ (null), cone: /** @type {any} */ (null), section: /** @type {any} */ (null), weights3d: /** @type {any} */ (null), cut: /** @type {number|null} */ (null) };
  const player = createPlayer(refresh, () => store.set({ time: player.atEnd() ? null : player.k() }, "time"));
  /** The last answer with its state. @type {{version: number, state: any, answer: any}} */
  let answered = { version: -1, state: initial, answer: null };
  let [version, brokenAt, since] = [0, -1, 0]; // brokenAt: the last change after which the rows are other rows
  /** @type {number|null} where to stand when the next answer is there */ let wanted = initial.time;
  /** @type {any} */ let judged = null;
  let [fresh, moving] = [true, false];

  /** The state that is shown: the answered one, until a change that moves rows has its answer. */
  function shown() {
    const state = store.get();
    if (answered.version >= brokenAt || !answered.answer) return state;
    if (!link.isOpen() || performance.now() - since > PATIENCE_MS) return state;
    return { ...answered.state, hand: null, time: state.time, view: state.view };
  }
  function scene() {
    const state = shown();
    const lost = state === store.get() && answered.version < brokenAt; // no answer speaks of these rows
    return derive({ state, answer: lost ? null : answered.answer, stale: answered.version < version, player, pointer, weightViews, judged, look: look() });
  }

  async function solve() {
    const [asked, state] = [version, store.get()];
    const body = { state: { ...spoken(state), hand: null, time: null } };
    try {
      const answer = await link.ask("solve", moving ? { ...body, quick: true } : body);
      if (answer !== DROPPED) take(asked, state, answer);
    } catch (error) {
      if (asked !== version) return;
      complain(/** @type {Error} */ (error).message);
      take(asked, state, null);
    }
  }
  /** @param {number} asked @param {any} state @param {any} answer */
  function take(asked, state, answer) {
    if (asked < answered.version) return;
    const at = answered.state.past + player.place() - state.past; // the same moment of a run that went on
    answered = { version: asked, state, answer };
    const from = wanted;
    if (asked === version) wanted = null;
    player.load(places(answer), fresh || from !== null ? from : player.playing() ? Math.max(0, at) : null, fresh);
    fresh = false;
    const time = player.atEnd() ? null : player.k();
    if (asked === version && !player.playing() && store.get().time !== time) store.set({ time }, "time"); // links know it too
    if (!answer || !answer.usable) Object.assign(weightViews, { risk: null, cone: null, section: null, weights3d: null });
    pointer.hover = Math.min(pointer.hover, state.points.length - 1);
    refresh();
  }
  async function judge() {
    const state = store.get();
    if (!state.hand) { judged = null; return; }
    try {
      const answer = await link.ask("judge", { state: { ...spoken(state), hand: null, time: null }, weights: state.hand });
      if (answer !== DROPPED) { judged = answer; refresh(); }
    } catch (error) {
      complain(/** @type {Error} */ (error).message);
    }
  }

  store.subscribe((state, kind, before) => {
    if (state.hand !== before.hand && !state.hand) judged = null;
    if (ASKED.has(kind)) {
      version += 1;
      since = performance.now();
      if (!LIVE.has(kind)) brokenAt = version;
      if (!LIVE.has(kind)) setTimeout(refresh, PATIENCE_MS + 20);
      if (pointer.selected >= state.points.length) pointer.selected = -1;
      pointer.brush = Math.min(pointer.brush, state.labels.length - 1);
      solve();
    }
    if (state.hand && (ASKED.has(kind) || state.hand !== before.hand)) judge();
    if (state.view !== before.view) player.setTempo(state.view.tempo, state.view.speed);
    refresh();
  });
  player.setTempo(initial.view.tempo, initial.view.speed);

  /** Where a run goes on from when the data changes under it. */
  function goingOn() {
    const { answer, state } = answered;
    if (!player.playing() || !answer || !answer.run || answer.machines.length > 1) return {};
    const { weights, k } = moment(answer, player.k());
    return state.past + k === store.get().past ? {} : { start: weights, past: state.past + k };
  }
  /** A change of data or algorithm by a person. @param {any} part @param {any} kind @param {string} [group] */
  function edit(part, kind, group) {
    const on = kind === "model" ? {} : goingOn();
    const { view } = store.get();
    const other = part.points && group !== "split" && view.preset && !view.about?.edited; // an example that is no more as it was made
    store.change({ ...on, ...(other ? { view: { ...view, about: { ...view.about, edited: true } } } : {}), ...part }, kind, group);
  }
  /** Other data altogether: from the beginning. @param {any} part @param {string} [group] */
  function replace(part, group) {
    if (player.playing()) wanted = 0;
    pointer.selected = pointer.hover = -1;
    store.change({ start: null, past: 0, watch: 0, hand: null, ...part }, "data", group);
  }
  function leaveHand() {
    if (store.get().hand) store.set({ hand: null }, "hand");
  }

  /** @param {string} ask @param {string} name @param {any} body @param {(answer: any) => any} [shape] */
  async function askFor(ask, name, body, shape = (answer) => answer) {
    try {
      const answer = await link.ask(ask, { state: { ...spoken(store.get()), hand: null, time: null }, ...body }, name);
      if (answer === DROPPED) return;
      weightViews[name] = { ...body, ...shape(answer) };
    } catch {
      weightViews[name] = null; // the view says what it can without
    }
    refresh();
  }

  const session = {
    store, player, pointer, weightViews, scene, edit, replace, leaveHand, solve,
    answer: () => answered.answer,
    /** Changes that were asked about so far, and the last of them that is answered. */
    version: () => version, answeredTo: () => answered.version,
    /** A point is being moved, or no longer: meanwhile Python does less. @param {boolean} now */
    setMoving(now) { moving = now; },
    /** The weights shown become the start, or zero does. @param {boolean} here */
    startFrom(here) {
      const now = scene();
      store.change({ start: here ? now.weights : null, past: here ? now.continued + (now.hand ? 0 : now.k) : 0, hand: null }, "model");
      wanted = here ? 0 : null;
      player.pause();
    },
    /** Another state altogether: from a link. @param {import("./state.js").State} state */
    restore(state) {
      wanted = state.time;
      fresh = true;
      pointer.selected = pointer.hover = -1;
      store.change(state, "data");
    },
    destroy() { player.destroy(); },
  };
  return { ...session, actions: createActions(session, askFor, refresh) };
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
