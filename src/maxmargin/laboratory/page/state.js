// The state of the lab: one value, replaced as a whole by every change, with undo and redo; and what Python allows in it.

/** How much Python takes. */
export const LIMITS = { points: Infinity, classes: Infinity, updates: Infinity, epochs: Infinity, seed: Infinity };

/** Each by its name, in the order of the list. @type {Map<string, {name: string, title: string, brief: string, sentence: string, options: string[]}>} */
export const ALGORITHMS = new Map();

/** @param {{limits: any, algorithms: any[]}} hello */
export function learnFacts({ limits, algorithms }) {
  Object.assign(LIMITS, limits);
  for (const algorithm of algorithms) ALGORITHMS.set(algorithm.name, algorithm);
}

/**
 * @typedef {Object} Options
 * @property {boolean} intercept @property {number} threshold @property {number} rate
 * @property {"cyclic"|"shuffled"|"random"} order @property {boolean} averaged @property {"exact"|number} step
 * @property {number} C @property {"ovr"|"ovo"} scheme @property {number} epochs @property {number} seed @property {boolean} polish @property {number|null} updates  null: as many as a drag can follow
 *
 * @typedef {Object} State
 * @property {1} v
 * @property {[number, number, number, number][]} points  x₁, x₂, class, role (0 train, 1 validation)
 * @property {string[]} labels @property {string[]} names
 * @property {"perceptron"|"batch"|"pocket"|"hard"|"soft"} algorithm
 * @property {Options} options
 * @property {number[]|null} start  weights the run starts from; null is zero
 * @property {number} past  updates made before `start` (a run that went on after the data changed)
 * @property {number} watch @property {number[]|null} hand @property {number|null} time
 * @property {any} view  what only the page needs; `about`: sentence of the example, whether its points were edited, the share held out
 *
 * @typedef {"move"|"add"|"flip"|"data"|"model"|"time"|"hand"|"view"|"history"} Kind  what a change was about
 */

/** @type {Options} */
const OPTIONS = {
  intercept: true, threshold: 0, rate: 1, order: "cyclic", averaged: false, step: "exact", C: 1, scheme: "ovr", epochs: 100, seed: 0, polish: true, updates: null,
};

const VIEW = { tab: "w", layers: { risk: false, verdict: true, regions: true }, tempo: "lecture", speed: 1, preset: null, about: null, windows: {} };

/** A complete state from any part of one. @param {any} [part] @returns {State} */
export function complete(part = {}) {
  const given = part && typeof part === "object" ? part : {};
  const view = given.view && typeof given.view === "object" ? given.view : {};
  return {
    v: 1,
    points: Array.isArray(given.points) ? given.points.filter(Array.isArray).map((/** @type {any[]} */ p) => [Number(p[0]), Number(p[1]), p[2] | 0, p[3] ? 1 : 0]) : [],
    labels: Array.isArray(given.labels) && given.labels.length >= 2 ? given.labels.slice(0, LIMITS.classes).map(String) : ["−1", "+1"],
    names: Array.isArray(given.names) && given.names.length === 2 ? given.names.map(String) : ["x₁", "x₂"],
    algorithm: ["perceptron", "batch", "pocket", "hard", "soft"].includes(given.algorithm) ? given.algorithm : "perceptron",
    options: { ...OPTIONS, ...given.options },
    start: triple(given.start), past: Number(view.past) || 0, watch: given.watch | 0, hand: triple(given.hand),
    time: Number.isFinite(given.time) && given.time !== null ? Number(given.time) : null,
    view: { ...VIEW, ...view, past: undefined, layers: { ...VIEW.layers, ...view.layers }, windows: { ...view.windows } },
  };
}

/** @param {any} value @returns {number[]|null} */
const triple = (value) => (Array.isArray(value) && value.length === 3 && value.every(Number.isFinite) ? value : null);

/** What Python is told: the state without the page's own. @param {State} state */
export function spoken(state) {
  const { v, points, labels, names, algorithm, options, start, watch, hand, time } = state;
  return { v, points, labels, names, algorithm, options, start, watch, hand, time };
}

/** All of it as it is kept in links and notebooks: what the page alone needs is in `view`. @param {State} state */
export const sealed = (state) => ({ ...spoken(state), view: state.past ? { ...state.view, past: state.past } : state.view });

/** The parts that undo brings back. @param {State} state */
function memory({ points, labels, names, algorithm, options, start, past, watch, view }) {
  return { points, labels, names, algorithm, options, start, past, watch, preset: view.preset, about: view.about };
}

const MAX_UNDO_STEPS = 200;

/** @param {State} initial */
export function createStore(initial) {
  let state = initial;
  let group = "";
  /** @type {any[]} */ let undone = [];
  /** @type {any[]} */ let done = [];
  /** @type {((state: State, kind: Kind, before: State) => void)[]} */ const listeners = [];

  /** @param {State} next @param {Kind} kind */
  function replace(next, kind) {
    const before = state;
    state = next;
    for (const listen of listeners) listen(state, kind, before);
  }

  /** @param {any[]} from @param {any[]} to */
  function travel(from, to) {
    const memo = from.pop();
    if (!memo) return false;
    to.push(memory(state));
    group = "";
    const { preset, about, ...parts } = memo;
    replace({ ...state, ...parts, hand: null, view: { ...state.view, preset, about } }, "history");
    return true;
  }

  return {
    get: () => state,
    /**
     * A change that undo takes back. Changes with the same group name, one after another, are one step.
     * @param {Partial<State>} part @param {Kind} kind @param {string} [name]
     */
    change(part, kind, name = "") {
      if (!name || name !== group) {
        done.push(memory(state));
        if (done.length > MAX_UNDO_STEPS) done.shift();
        undone = [];
      }
      group = name;
      replace({ ...state, ...part }, kind);
    },
    /** A change beside the history: time, view, weights by hand. @param {Partial<State>} part @param {Kind} kind */
    set(part, kind) { replace({ ...state, ...part }, kind); },
    /** There is nothing to take back: this is the beginning. */
    forget() { [done, undone, group] = [[], [], ""]; },
    /** The next change begins a new step. */
    close() { group = ""; },
    undo: () => travel(done, undone),
    redo: () => travel(undone, done),
    canUndo: () => done.length > 0,
    canRedo: () => undone.length > 0,
    /** @param {(state: State, kind: Kind, before: State) => void} listen */
    subscribe(listen) { listeners.push(listen); },
  };
}

/** @typedef {ReturnType<typeof createStore>} Store */

/** @typedef {[number, number, number, number]} Point  x₁, x₂, class, role */

/** @param {Point[]} points @param {Point} point @returns {Point[]} */
export const added = (points, point) => (points.length < LIMITS.points ? [...points, point] : points);

/** @param {Point[]} points @param {number} row @param {Partial<{x: number, y: number, kind: number, role: number}>} part @returns {Point[]} */
export function changed(points, row, { x, y, kind, role }) {
  const next = points.slice();
  const old = points[row];
  next[row] = [x ?? old[0], y ?? old[1], kind ?? old[2], role ?? old[3]];
  return next;
}

/** @param {Point[]} points @param {number} row @returns {Point[]} */
export const removed = (points, row) => points.filter((_, i) => i !== row);

/** The share that is held out now. @param {Point[]} points */
export const heldOut = (points) => (points.length ? points.filter((p) => p[3]).length / points.length : 0);

/** @param {string} text */
const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

/**
 * The data as CSV, the label last; numbers are written so that they are read back as the same doubles.
 * @param {{points: Point[], labels: string[], names: string[]}} state
 */
export function toCsv({ points, labels, names }) {
  const split = points.some((p) => p[3]);
  const head = [...names, ...(split ? ["validation"] : []), "label"].map(quoted).join(",");
  const lines = points.map(([x, y, kind, role]) => [x, y, ...(split ? [role] : []), quoted(labels[kind].replace("−", "-"))].join(","));
  return `${[head, ...lines].join("\n")}\n`;
}

/** The name of one more class. @param {string[]} labels */
export function nextLabel(labels) {
  for (let i = labels.length; ; i++) if (!labels.includes(String(i))) return String(i);
}
