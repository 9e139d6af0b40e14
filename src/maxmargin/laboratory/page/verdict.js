// The verdict as a drawing in x-space: the widest plane and its margin, or the two hulls and what they share.
import { drawLine } from "./canvas.js";
import { cutLine } from "./geometry.js";
import { extent, faint, FONT, label, outline, radius, ring, segment, star } from "./marks.js";
import { classes, signs, value } from "./scene.js";
import { number } from "./text.js";

/** @typedef {import("./canvas.js").Kit} Kit */
/** @typedef {import("./geometry.js").Pair} Pair */
/** @typedef {import("./scene.js").Scene} Scene */

/** @typedef {{left: number, top: number, wide: number, high: number}} Room */

/** Places beside a line, at both of its ends and on both of its sides. @param {Pair} from @param {Pair} to @param {number} off @returns {[Pair, CanvasTextAlign][]} */
function beside(from, to, off) {
  const long = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
  const [ux, uy] = [(to[0] - from[0]) / long, (to[1] - from[1]) / long];
  const places = /** @type {[Pair, CanvasTextAlign][]} */ ([]);
  for (const t of [Math.min(long * 0.35, 64), long - Math.min(long * 0.35, 64), long * 0.3, long * 0.7, long * 0.5]) {
    for (const side of [1, -1]) {
      const at = /** @type {Pair} */ ([from[0] + ux * t - uy * off * side, from[1] + uy * t + ux * off * side]);
      places.push([at, -uy * side > 0 ? "left" : "right"]);
    }
  }
  return places;
}

/** The room of the legend. @param {{left: number, top: number, width: number}} frame @param {number} many  classes @returns {Room} */
const corner = (frame, many) => ({ left: frame.left + frame.width - 110, top: frame.top, wide: 110, high: 17 * many + 12 });

/** The place with the fewest points in it, the first of several. @param {Room[]} spots @param {Pair[]} pixels @param {Room} taken */
function freest(spots, pixels, taken) {
  const within = (/** @type {Room} */ s) => pixels.filter(([x, y]) => x > s.left - 8 && x < s.left + s.wide + 8 && y > s.top - 8 && y < s.top + s.high + 8).length;
  const over = (/** @type {Room} */ s) => s.left < taken.left + taken.wide && s.left + s.wide > taken.left && s.top < taken.top + taken.high;
  const costs = spots.map((s) => within(s) + (over(s) ? 3 : 0));
  return spots[costs.indexOf(Math.min(...costs))];
}

/** The verdict: the widest plane and its margin, or the two hulls and the point they share. @param {Kit} kit @param {Scene} scene */
export function drawVerdict(kit, scene) {
  const verdict = scene.answer?.verdict;
  if (!verdict || scene.answer.n !== scene.state.points.length) return;
  if (verdict.status !== "separable") drawHulls(kit, scene, verdict.hulls);
  else if (verdict.plane && verdict.margin > 0) {
    drawWidest(kit, scene, verdict);
    labelMargin(kit, scene, verdict);
  }
}

/** The widest plane with its edges, and the points nearest to it. @param {Kit} kit @param {Scene} scene @param {any} verdict */
function drawWidest(kit, scene, { plane: widest, margin, nearest }) {
  const { c, plane, colours } = kit;
  const points = scene.state.points;
  const size = Math.hypot(widest[0], widest[1]);
  c.strokeStyle = colours.good;
  c.lineWidth = 2;
  const same = scene.weights && !scene.hand && widest.every((/** @type {number} */ v, /** @type {number} */ j) => Math.abs(v - scene.weights[j]) <= 1e-6 * size);
  if (!same) { // a hard margin machine has drawn them itself
    c.setLineDash([10, 5]);
    drawLine(kit, widest);
    c.lineWidth = 1.2;
    c.setLineDash([3, 4]);
    for (const side of [-1, 1]) drawLine(kit, widest, side * size * margin);
    c.setLineDash([]);
  }
  const r = radius(points.length) + 4;
  for (const row of nearest ?? []) {
    if (!points[row]) continue;
    const [x, y] = points[row];
    const off = value(widest, x, y) / (size * size);
    c.strokeStyle = faint(colours.good, 0.8);
    c.lineWidth = 1.2;
    segment(c, plane.pixel(x, y), plane.pixel(x - off * widest[0], y - off * widest[1]));
    ring(c, plane.pixel(x, y), r, colours.good, 1.8);
  }
}

/** How wide the margin is, beside the plane where points are few. @param {Kit} kit @param {Scene} scene @param {any} verdict */
function labelMargin({ c, plane, colours }, scene, { plane: widest, margin }) {
  const ends = cutLine(widest[0], widest[1], widest[2], plane.window);
  if (!ends) return;
  const size = Math.hypot(widest[0], widest[1]);
  const edge = plane.pixel(widest[0] / size * margin, widest[1] / size * margin);
  const zero = plane.pixel(0, 0);
  const off = Math.min(60, Math.hypot(edge[0] - zero[0], edge[1] - zero[1])) + 10;
  const text = `margin ${number(margin)}`;
  const [from, to] = ends.map((p) => plane.pixel(p[0], p[1])).sort((p, q) => q[1] - p[1]);
  const spots = beside(from, to, off).map(([at, align]) => extent(c, text, at, align, FONT, plane.frame));
  const best = freest(spots, pixelsOf(plane, scene), corner(plane.frame, classes(scene)));
  label(c, text, [best.left, best.top + best.high / 2], colours.good, colours.card, "left");
}

/** Where all points are. @param {import("./canvas.js").Plane} plane @param {Scene} scene @returns {Pair[]} */
const pixelsOf = (plane, scene) => scene.state.points.map((/** @type {number[]} */ p) => plane.pixel(p[0], p[1]));

/** The hulls of both sides. @param {Kit} kit @param {Scene} scene @param {any} hulls  rows at their corners */
function drawHulls({ c, plane, colours }, scene, hulls) {
  if (!hulls) return;
  const points = scene.state.points;
  const sign = signs(scene);
  for (const [rows, side] of [[hulls.negative, -1], [hulls.positive, 1]]) {
    if (!rows || rows.some((/** @type {number} */ row) => !points[row])) continue;
    const colour = classes(scene) === 2 || side > 0 ? colours.classes[sign.indexOf(side)] : colours.quiet;
    outline(c, rows.map((/** @type {number} */ row) => plane.pixel(points[row][0], points[row][1])));
    c.fillStyle = faint(colour, 0.14);
    c.fill();
    c.strokeStyle = faint(colour, 0.8);
    c.lineWidth = 1.6;
    c.stroke();
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
  const { left, top, width, height } = plane.frame; // what the star means is said at the edge, where points are few
  const text = "    in both hulls";
  const spots = [height - 20, 16].map((down) => extent(c, text, [left + width / 2, top + down], "center", FONT, plane.frame));
  const best = freest(spots, pixelsOf(plane, scene), corner(plane.frame, classes(scene)));
  label(c, text, [best.left, best.top + best.high / 2], colours.bad, colours.card, "left");
  star(c, [best.left, best.top + best.high / 2], colours.bad, colours.card);
}
