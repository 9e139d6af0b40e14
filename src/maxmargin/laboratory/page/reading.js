// What the views read from a scene: signs of points for the watched machine, values, who is on the wrong side.

/**
 * @typedef {Object} Scene  what every view draws
 * @property {any} state @property {any} answer @property {boolean} stale
 * @property {number} k @property {number} K
 * @property {number[] | null} weights  [w1, w2, b] now @property {number[] | null} previous  before the current update
 * @property {number} row  in hand, −1 @property {boolean} hand
 * @property {number} hover @property {number} selected
 * @property {string} tool @property {number} brush @property {boolean} reduced
 * @property {boolean} [playing] @property {number} [part]  way to the next update while playing, in [0, 1)
 * @property {{verdict?: boolean, risk?: boolean, regions?: boolean}} [layers]
 * @property {any} [judged]  judgement of weights set by hand @property {any} [risk] @property {any} [cone]
 * @property {any} [section] @property {any} [weights3d] @property {number | null} [cut]  w₁ of the cross-section
 */

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
export const fits = (scene) => Boolean(scene.answer) && scene.answer.n === scene.state.points.length;

/** Number of classes. @param {Scene} scene @returns {number} */
export const classes = (scene) => scene.state.labels.length;

/** The margin machine's answer, if there is one that fits the points. @param {Scene} scene */
export function machineOf(scene) {
  const machine = scene.answer?.machine;
  if (scene.hand || !machine || machine.refused || !machine.weights || !fits(scene)) return null;
  return machine;
}

/** All weights of the run, the start first. @param {Scene} scene @returns {number[][]} */
export function path(scene) {
  const run = scene.answer?.run;
  return run && run.start ? [run.start, ...run.updates.weights] : [];
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
