// Where several machines together say which class: exact polygons, cut by the lines themselves.
import { cutPolygon, middle } from "./geometry.js";
import { classes, value, watched } from "./scene.js";

/** @typedef {import("./geometry.js").Pair} Pair */

/** @typedef {{kind: number, polygon: Pair[]}} Region */

/** The planes of all machines, the watched one as it is at this moment. @param {import("./scene.js").Scene} scene @returns {number[][] | null} */
function planesNow(scene) {
  const planes = scene.answer?.planes;
  if (!planes || planes.length < 2 || !scene.answer.machines || planes.length !== scene.answer.machines.length) return null;
  return planes.map((/** @type {number[]} */ p, /** @type {number} */ i) => (i === watched(scene) && scene.weights ? scene.weights : p));
}

/**
 * For each class the function of x whose largest wins among those with most votes (one-vs-rest: all have as many).
 * @param {import("./scene.js").Scene} scene @param {number[][]} planes @returns {number[][]}
 */
function scores(scene, planes) {
  const sums = Array.from({ length: classes(scene) }, () => [0, 0, 0]);
  const pairs = scene.answer.scheme === "ovo";
  scene.answer.machines.forEach((/** @type {any} */ machine, /** @type {number} */ i) => {
    for (let j = 0; j < 3; j++) {
      for (const c of machine.positive) sums[c][j] += planes[i][j];
      if (pairs) for (const c of machine.negative) sums[c][j] -= planes[i][j];
    }
  });
  return sums;
}

/** Votes at a place, by class. @param {import("./scene.js").Scene} scene @param {number[][]} planes @param {Pair} at */
function votes(scene, planes, at) {
  const got = new Array(classes(scene)).fill(0);
  scene.answer.machines.forEach((/** @type {any} */ machine, /** @type {number} */ i) => {
    for (const c of value(planes[i], at[0], at[1]) > 0 ? machine.positive : machine.negative) got[c] += 1;
  });
  return got;
}

/** Classes that some machine knows: others cannot win. @param {import("./scene.js").Scene} scene @returns {number[]} */
function candidates(scene) {
  const known = new Set(scene.answer.machines.flatMap((/** @type {any} */ m) => (scene.answer.scheme === "ovo" ? [...m.positive, ...m.negative] : m.positive)));
  return /** @type {number[]} */ ([...known]).sort((a, b) => a - b);
}

/**
 * The regions of the classes inside a polygon.
 * @param {import("./scene.js").Scene} scene @param {Pair[]} box @returns {Region[]}
 */
export function regions(scene, box) {
  const planes = planesNow(scene);
  if (!planes) return [];
  const best = scores(scene, planes);
  const all = candidates(scene);
  if (scene.answer.scheme !== "ovo") return largest(box, best, all);
  let cells = [box];
  for (const [a, c, d] of planes) { // the lines of all machines cut the view into cells of equal votes
    cells = cells.flatMap((cell) => [cutPolygon(cell, a, c, d), cutPolygon(cell, -a, -c, -d)].filter((p) => p.length));
  }
  return cells.flatMap((cell) => {
    const got = votes(scene, planes, middle(cell));
    const most = Math.max(...all.map((c) => got[c]));
    return largest(cell, best, all.filter((c) => got[c] === most));
  });
}

/** Where each of some classes has the largest score. @param {Pair[]} cell @param {number[][]} best @param {number[]} among @returns {Region[]} */
function largest(cell, best, among) {
  return among.map((kind) => {
    let polygon = cell;
    for (const other of among) {
      if (other === kind) continue;
      const [p, q] = [best[kind], best[other]];
      polygon = cutPolygon(polygon, p[0] - q[0], p[1] - q[1], p[2] - q[2]);
    }
    return { kind, polygon };
  }).filter((region) => region.polygon.length);
}

/** The class predicted at a place by all machines. @param {import("./scene.js").Scene} scene @returns {((x: number, y: number) => number) | null} */
export function predictor(scene) {
  const planes = planesNow(scene);
  if (!planes) return null;
  const best = scores(scene, planes);
  const all = candidates(scene);
  const pairs = scene.answer.scheme === "ovo";
  return (x, y) => {
    const got = pairs ? votes(scene, planes, [x, y]) : null;
    let [kind, most, sum] = [-1, -1, -Infinity];
    for (const c of all) {
      const [v, s] = [got ? got[c] : 0, value(best[c], x, y)];
      if (v > most || (v === most && s > sum)) [kind, most, sum] = [c, v, s];
    }
    return kind;
  };
}
