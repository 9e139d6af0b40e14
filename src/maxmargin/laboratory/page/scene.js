// What is drawn now, derived from the state, the last answer and the time.
import { first } from "./text.js";

/**
 * @typedef {Object} Scene  what every view draws
 * @property {import("./store.js").State} state  the state that is shown
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
 * @param {import("./store.js").State} now.state @param {any} now.answer @param {boolean} now.stale
 * @param {import("./player.js").Player} now.player @param {any} now.pointer  hover, selected, tool, brush
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
