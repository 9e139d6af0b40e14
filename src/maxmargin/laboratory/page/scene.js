// What is drawn now, derived from the state, the last answer and the time; and what the views read from it.
import { fingerprint } from "./geometry.js";
import { first } from "./text.js";

/**
 * @typedef {Object} Scene  what every view draws
 * @property {import("./state.js").State} state  the state that is shown
 * @property {any} answer  last answer to `solve`, or null
 * @property {boolean} stale  the state is newer than the answer
 * @property {number} k  updates done now @property {number} K
 * @property {number} part  progress towards the next update while playing, in [0, 1)
 * @property {boolean} final  the model's own weights are shown: the average, or the polished pocket
 * @property {number[]|null} weights @property {number[]|null} previous  before the current update
 * @property {number} row  of the update in hand, −1 @property {boolean} hand @property {any} judged  judgement of weights set by hand
 * @property {number} continued  updates made before this run, when it went on after the data changed
 * @property {boolean} playing
 * @property {number} hover @property {number} selected @property {"point"|"erase"|"flip"} tool @property {number} brush
 * @property {{risk: boolean, verdict: boolean, regions: boolean}} layers @property {number|null} cut  w₁ of the section
 * @property {any} risk @property {any} cone @property {any} section @property {any} weights3d  answers for the weight views
 * @property {any} colours @property {boolean} dark @property {boolean} reduced
 */

/** How many places the time line has: one more than updates when the model differs from the last iterate. @param {any} answer */
export function places(answer) {
  const run = answer && answer.usable && answer.run;
  return run ? run.updates.weights.length + (run.final_note ? 1 : 0) : 0;
}

/** @type {WeakMap<object, any>} */
const finals = new WeakMap();

/** The answer whose last place holds the numbers of the model itself. @param {any} answer */
function atFinal(answer) {
  let made = finals.get(answer);
  if (!made) {
    const { run } = answer;
    const errors = answer.machines[answer.watch].errors;
    const last = (/** @type {any[]} */ list, /** @type {any} */ value) => [...list.slice(0, -1), value];
    const alone = answer.machines.length === 1 && answer.judged;
    made = { ...answer, run: {
      ...run, errors: last(run.errors, errors), best: last(run.best, Math.min(errors, run.best.at(-1))), risk: last(run.risk, run.final_risk ?? null),
      validation: run.validation && last(run.validation, run.final_validation ?? (alone ? alone.validation_errors : null)),
    } };
    finals.set(answer, made);
  }
  return made;
}

/**
 * Weights before and after the update in hand.
 * @param {any} answer @param {number} place
 * @returns {{weights: number[]|null, previous: number[]|null, row: number, k: number, final: boolean}}
 */
export function moment(answer, place) {
  if (!answer || !answer.usable) return { weights: null, previous: null, row: -1, k: 0, final: false };
  const { run, machine } = answer;
  if (!run) {
    const weights = machine ? machine.weights ?? null : answer.machines[answer.watch]?.weights ?? null;
    return { weights, previous: null, row: -1, k: 0, final: false };
  }
  const all = run.updates.weights;
  const k = Math.min(place, all.length);
  const before = k > 1 ? all[k - 2] : k === 1 ? run.start : null;
  if (place > all.length) return { weights: run.final, previous: k ? all[k - 1] : run.start, row: -1, k, final: true };
  return { weights: k ? all[k - 1] : run.start, previous: before, row: k ? run.updates.row[k - 1] : -1, k, final: false };
}

/**
 * @param {Object} now
 * @param {import("./state.js").State} now.state @param {any} now.answer @param {boolean} now.stale
 * @param {import("./timeline.js").Player} now.player @param {any} now.pointer  hover, selected, tool, brush
 * @param {any} now.weightViews  risk, cone, section, weights3d, cut @param {any} now.judged @param {any} now.look  colours, dark, reduced
 * @returns {Scene}
 */
export function derive({ state, answer, stale, player, pointer, weightViews, judged, look }) {
  const here = moment(answer, player.k());
  const hand = Boolean(state.hand);
  return {
    state, stale,
    answer: here.final && !hand ? atFinal(answer) : answer,
    k: here.k, K: answer && answer.usable && answer.run ? answer.run.updates.weights.length : 0,
    part: player.part(), final: here.final && !hand, playing: player.playing(),
    weights: state.hand ?? here.weights, previous: hand ? null : here.previous, row: hand ? -1 : here.row,
    hand, judged: hand ? judged : null, continued: state.past,
    ...pointer, layers: state.view.layers, ...weightViews, ...look,
  };
}

/** @type {WeakMap<object, any>} */
const told = new WeakMap();

/**
 * The scene for the line of arithmetic: the model's own weights come from no single update, so a sentence stands in its place.
 * @param {Scene} scene @returns {Scene}
 */
export function inWords(scene) {
  if (!scene.final) return scene;
  const { run } = scene.answer;
  if (!told.has(scene.answer)) told.set(scene.answer, { ...scene.answer, usable: false, why: `The model: ${run.final_note}. ${first(run.stop ?? "")}` });
  return { ...scene, answer: told.get(scene.answer) };
}

export const NOTHING = /** @type {number[]} */ ([0, 0, 0]);

/**
 * +1, −1 or 0 (not its business) of each class for the watched machine.
 * @param {Scene} scene @returns {number[]}
 */
export function signs(scene) {
  const machine = scene.answer?.machines?.[watched(scene)];
  const [positive, negative] = machine ? [machine.positive, machine.negative] : [[1], [0]];
  return [0, 1, 2, 3, 4].map((c) => (positive.includes(c) ? 1 : negative.includes(c) ? -1 : 0));
}

/** Index of the watched machine. @param {Scene} scene @returns {number} */
export const watched = (scene) => scene.answer?.watch ?? scene.state.watch ?? 0;

/** w·x + b, summed from left to right as the library does. @param {ArrayLike<number>} w @param {number} x @param {number} y */
export const value = (w, x, y) => w[0] * x + w[1] * y + w[2];

/** Whether the answer speaks of the points that are on the screen. @param {Scene} scene */
const fits = (scene) => Boolean(scene.answer) && scene.answer.n === scene.state.points.length;

/** Number of classes. @param {Scene} scene @returns {number} */
export const classes = (scene) => scene.state.labels.length;

/** The margin machine's answer, if there is one that fits the points. @param {Scene} scene */
export function machineOf(scene) {
  const machine = scene.answer?.machine;
  if (scene.hand || !machine || machine.refused || !machine.weights || !fits(scene)) return null;
  return machine;
}

const KNOWN = /** @type {WeakMap<object, {steps: number[][], id: number}>} */ (new WeakMap());

/** The path of an answer with a number to know it by. @param {Scene} scene */
export function pathOf(scene) {
  const run = scene.answer?.run;
  if (!run?.start || scene.hand) return { steps: [], id: 0 };
  const key = run.updates; // the same object for as long as the run is the same
  const known = KNOWN.get(key);
  if (known) return known;
  const steps = [run.start, ...run.updates.weights];
  const made = { steps, id: fingerprint(steps) };
  KNOWN.set(key, made);
  return made;
}

/**
 * The lines shown on hover: which point, where, and what the library says of it.
 * @param {Scene} scene @param {number} row @param {(v: number, digits?: number) => string} number @returns {string[]}
 */
export function words(scene, row, number) {
  const { points, labels, names } = scene.state;
  const [x, y, kind, role] = points[row];
  const lines = [`point ${row + 1} · ${labels[kind]}${role ? " · validation" : ""}`, `${names[0]} = ${number(x)}   ${names[1]} = ${number(y)}`];
  if (scene.stale) return lines;
  const machine = machineOf(scene);
  if (machine && !role) {
    lines.push(`α = ${number(machine.alpha[row])}   ξ = ${number(machine.xi[row])}`);
    lines.push(`y·f(x) = ${number(machine.values[row])}: ${machine.kind[row]}`);
  } else if (scene.hand && scene.judged?.values?.length === points.length && Number.isFinite(scene.judged.values[row])) {
    lines.push(`y·f(x) = ${number(scene.judged.values[row])}`);
  } else if (row === scene.row && scene.k > 0) {
    lines.push(`update ${scene.k}: y·f(x) was ${number(scene.answer.run.updates.margin[scene.k - 1])}`);
  }
  return lines;
}

/**
 * The weights as they are drawn: while playing they glide from one update to the next.
 * @param {Scene} scene @returns {number[] | null}
 */
export function drawn(scene) {
  const [w, before] = [scene.weights, scene.previous];
  if (!w || !before || !scene.playing || scene.reduced || scene.part === undefined) return w;
  const t = Math.min(1, scene.part / 0.45);
  const eased = 1 - (1 - t) ** 3;
  return w.map((v, i) => before[i] + eased * (v - before[i]));
}
