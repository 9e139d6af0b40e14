// The verdict as a drawing in x-space: the widest plane and its margin, or the two hulls and what they share.
import { faint } from "./colours.js";
import { cutLine } from "./geometry.js";
import { label, outline, radius, ring, segment, star } from "./marks.js";
import { classes, signs, value } from "./reading.js";
import { number } from "./text.js";
import { drawLine } from "./xparts.js";

/** @typedef {import("./reading.js").Scene} Scene */
/** @typedef {import("./xparts.js").Kit} Kit */

/** The verdict: the widest plane and its margin, or the two hulls and the point they share. @param {Kit} kit @param {Scene} scene */
export function drawVerdict(kit, scene) {
  const { c, plane, colours } = kit;
  const verdict = scene.answer?.verdict;
  const points = scene.state.points;
  if (!verdict || scene.answer.n !== points.length) return;
  const at = (/** @type {number} */ row) => plane.pixel(points[row][0], points[row][1]);
  if (verdict.status === "separable" && verdict.plane && verdict.margin > 0) {
    const size = Math.hypot(verdict.plane[0], verdict.plane[1]);
    c.strokeStyle = colours.good;
    c.lineWidth = 2;
    const same = scene.weights && !scene.hand && verdict.plane.every((/** @type {number} */ v, /** @type {number} */ j) => Math.abs(v - scene.weights[j]) <= 1e-6 * size);
    if (!same) { // a hard margin machine has drawn them itself
      c.setLineDash([10, 5]);
      drawLine(kit, verdict.plane);
      c.lineWidth = 1.2;
      c.setLineDash([3, 4]);
      for (const side of [-1, 1]) drawLine(kit, verdict.plane, side * size * verdict.margin);
      c.setLineDash([]);
    }
    const r = radius(points.length) + 4;
    for (const row of verdict.nearest ?? []) {
      if (!points[row]) continue;
      const off = value(verdict.plane, points[row][0], points[row][1]) / (size * size);
      c.strokeStyle = faint(colours.good, 0.8);
      c.lineWidth = 1.2;
      segment(c, at(row), plane.pixel(points[row][0] - off * verdict.plane[0], points[row][1] - off * verdict.plane[1]));
      ring(c, at(row), r, colours.good, 1.8);
    }
    const ends = cutLine(verdict.plane[0], verdict.plane[1], verdict.plane[2], plane.window);
    if (ends) { // beside the slab, near an end, where points are few
      const [from, to] = ends.map((p) => plane.pixel(p[0], p[1])).sort((p, q) => q[1] - p[1]);
      const long = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
      const [ux, uy] = [(to[0] - from[0]) / long, (to[1] - from[1]) / long];
      const right = ux > 0 ? 1 : -1; // under the line
      const edge = plane.pixel(verdict.plane[0] / size * verdict.margin, verdict.plane[1] / size * verdict.margin);
      const zero = plane.pixel(0, 0);
      const off = Math.min(60, Math.hypot(edge[0] - zero[0], edge[1] - zero[1])) + 10;
      const t = Math.min(long * 0.35, 64);
      const at = /** @type {[number, number]} */ ([from[0] + ux * t - uy * off * right, from[1] + uy * t + ux * off * right]);
      label(c, `margin ${number(verdict.margin)}`, at, colours.good, colours.card, right > 0 ? "left" : "right");
    }
  }
  if (verdict.hulls && verdict.status !== "separable") {
    const sign = signs(scene);
    for (const [rows, side] of [[verdict.hulls.negative, -1], [verdict.hulls.positive, 1]]) {
      if (!rows || rows.some((/** @type {number} */ row) => !points[row])) continue;
      const colour = classes(scene) === 2 || side > 0 ? colours.classes[sign.indexOf(side)] : colours.quiet;
      outline(c, rows.map(at));
      c.fillStyle = faint(colour, 0.14);
      c.fill();
      c.strokeStyle = faint(colour, 0.8);
      c.lineWidth = 1.6;
      c.stroke();
    }
  }
}

/** The points whose mean is the common point of the hulls; over the points, which it may coincide with. @param {Kit} kit @param {Scene} scene */
export function drawWitness({ c, plane, colours }, scene) {
  const points = scene.state.points;
  const witness = scene.answer?.verdict?.witness;
  if (!witness?.point || scene.answer.n !== points.length) return;
  const common = plane.pixel(witness.point[0], witness.point[1]);
  const r = radius(points.length) + 4;
  for (const [row, weight] of [...witness.positive, ...witness.negative]) {
    if (!points[row] || !(weight > 0)) continue;
    const at = plane.pixel(points[row][0], points[row][1]);
    c.strokeStyle = faint(colours.bad, 0.85);
    c.lineWidth = 1.6;
    c.setLineDash([4, 4]);
    segment(c, at, common);
    c.setLineDash([]);
    ring(c, at, r, colours.bad, 2);
  }
  star(c, common, colours.bad, colours.card);
  label(c, "in both hulls", [common[0], common[1] + 20], colours.bad, colours.card);
}
