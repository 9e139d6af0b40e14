// What x-space is made of: points, sides, boundary and normal, slab and slack, the row in hand.
import { faint } from "./colours.js";
import { cutLine, cutPolygon, inside } from "./geometry.js";
import { arrow, FONT, label, outline, radius, ring, segment, shape } from "./marks.js";
import { classes, machineOf, signs, value } from "./reading.js";
import { predictor, regions } from "./regions.js";

/** @typedef {import("./reading.js").Scene} Scene */
/** @typedef {import("./plane.js").Plane} Plane */
/** @typedef {import("./geometry.js").Pair} Pair */
/** @typedef {{c: CanvasRenderingContext2D, plane: Plane, colours: import("./colours.js").Colours}} Kit  what every part needs */

/** Points by class: training filled, validation hollow. @param {Kit} kit @param {Scene} scene @param {(row: number) => boolean} wanted */
export function drawPoints({ c, plane, colours }, scene, wanted) {
  const points = scene.state.points;
  const r = radius(points.length);
  const window = plane.window;
  for (let kind = 0; kind < 5; kind++) {
    for (const role of [0, 1]) {
      c.beginPath();
      let some = false;
      for (let i = 0; i < points.length; i++) {
        const p = points[i];
        if (p[2] !== kind || Boolean(p[3]) !== Boolean(role) || !wanted(i) || !inside(window, p, 0.03)) continue;
        const [x, y] = plane.pixel(p[0], p[1]);
        shape(c, kind, x, y, role ? r - 0.6 : r);
        some = true;
      }
      if (!some) continue;
      c.lineJoin = "miter";
      if (points.length <= 500) { c.strokeStyle = colours.card; c.lineWidth = role ? 4.5 : 3; c.stroke(); }
      c.fillStyle = role ? colours.card : faint(colours.classes[kind], points.length > 500 ? 0.85 : 1);
      c.fill();
      if (role) { c.strokeStyle = colours.classes[kind]; c.lineWidth = Math.min(2.2, r * 0.45); c.stroke(); }
      c.lineJoin = "round";
    }
  }
}

/** The two sides, or the regions of several classes, faintly. @param {Kit} kit @param {Scene} scene @param {Pair[]} box  corners of the view */
export function drawSides({ c, plane, colours }, scene, box) {
  const share = colours.dark ? 0.16 : 0.1;
  const fill = (/** @type {Pair[]} */ polygon, /** @type {number} */ kind, /** @type {boolean} */ edge) => {
    if (!polygon.length) return;
    outline(c, polygon.map((p) => plane.pixel(p[0], p[1])));
    c.fillStyle = faint(colours.classes[kind], share);
    c.fill();
    if (!edge) return;
    c.strokeStyle = faint(colours.card, 0.9); // neighbours are told apart by a thin seam
    c.lineWidth = 1.5;
    c.stroke();
  };
  if (classes(scene) > 2) {
    const found = regions(scene, box);
    for (const region of found) fill(region.polygon, region.kind, scene.answer.scheme !== "ovo");
    return;
  }
  const w = scene.weights;
  if (!w || (w[0] === 0 && w[1] === 0)) return;
  fill(cutPolygon(box, w[0], w[1], w[2]), 1, false);
  fill(cutPolygon(box, -w[0], -w[1], -w[2]), 0, false);
}

/** The line w·x + b = shift. @param {Kit} kit @param {number[]} w @param {number} [shift] @returns {boolean}  whether it can be seen */
export function drawLine({ c, plane }, w, shift = 0) {
  const ends = cutLine(w[0], w[1], w[2] - shift, plane.window);
  if (ends) segment(c, plane.pixel(...ends[0]), plane.pixel(...ends[1]));
  return Boolean(ends);
}

/** The place on the boundary nearest to the middle of what is seen of it. @param {Plane} plane @param {number[]} w @returns {Pair | null} */
function foot(plane, w) {
  const win = plane.window;
  const ends = cutLine(w[0], w[1], w[2], win);
  if (!ends) return null;
  const size = w[0] * w[0] + w[1] * w[1];
  const [mx, my] = [(win[0] + win[1]) / 2, (win[2] + win[3]) / 2];
  const off = value(w, mx, my) / size;
  const at = /** @type {Pair} */ ([mx - off * w[0], my - off * w[1]]);
  return inside(win, at, -0.08) ? at : [(ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2];
}

/** The boundary and w as its normal. @param {Kit} kit @param {Scene} scene */
export function drawBoundary(kit, scene) {
  const { c, plane, colours } = kit;
  const w = scene.weights;
  if (!w || !w.every(Number.isFinite)) return;
  const note = (/** @type {string} */ text) => {
    const [x] = plane.pixel((plane.window[0] + plane.window[1]) / 2, 0);
    label(c, text, [x, plane.pixel(0, plane.window[2])[1] - 30], colours.quiet, colours.card, "center", FONT, plane.frame);
  };
  if (w[0] === 0 && w[1] === 0) return note(scene.answer || scene.hand ? "w = 0: no boundary yet" : "");
  if (scene.previous && scene.row >= 0 && (scene.previous[0] || scene.previous[1])) {
    c.setLineDash([3, 6]);
    c.strokeStyle = faint(colours.ink, 0.5);
    c.lineWidth = 1.5;
    drawLine(kit, scene.previous);
    c.setLineDash([]);
  }
  c.strokeStyle = colours.ink;
  c.lineWidth = 2.4;
  if (!drawLine(kit, w)) return note("the boundary is outside this view");
  const at = foot(plane, w);
  if (!at) return;
  const [p, size] = [plane.pixel(...at), Math.hypot(w[0], w[1])];
  const machine = machineOf(scene);
  const tip = plane.pixel(at[0] + w[0] / size, at[1] + w[1] / size);
  const unit = Math.hypot(tip[0] - p[0], tip[1] - p[1]); // pixels of a step of length 1 along w
  const long = machine && unit / size > 20 ? unit / size : 46; // of a margin machine up to the edge of its slab
  const [ux, uy] = [(tip[0] - p[0]) / unit, (tip[1] - p[1]) / unit];
  arrow(c, p, [p[0] + ux * long, p[1] + uy * long], colours.ink, 2.4);
  const bold = FONT.replace("12px", "italic 700 15px");
  label(c, "w", [p[0] + ux * (Math.min(long, 90) + 2) - uy * 14, p[1] + uy * (Math.min(long, 90) + 2) + ux * 14], colours.ink, colours.card, "center", bold, plane.frame);
}

/** The slab of a margin machine with its edges. @param {Kit} kit @param {Scene} scene @param {Pair[]} box */
export function drawSlab(kit, scene, box) {
  const { c, plane, colours } = kit;
  const machine = machineOf(scene);
  const w = scene.weights;
  if (!machine || !w || !(w[0] || w[1])) return;
  const slab = cutPolygon(cutPolygon(box, w[0], w[1], w[2] + 1), -w[0], -w[1], 1 - w[2]);
  if (slab.length) {
    outline(c, slab.map((p) => plane.pixel(p[0], p[1])));
    c.fillStyle = faint(colours.ink, colours.dark ? 0.1 : 0.06);
    c.fill();
  }
  const sign = signs(scene);
  const kinds = [sign.indexOf(-1), sign.indexOf(1)];
  c.lineWidth = 1.6;
  c.setLineDash([7, 4]);
  [-1, 1].forEach((side, i) => {
    c.strokeStyle = classes(scene) === 2 ? colours.classes[kinds[i]] : colours.quiet;
    drawLine(kit, w, side);
  });
  c.setLineDash([]);
}

/** Support vectors, ringed, and slack of some rows. @param {Kit} kit @param {Scene} scene @param {(row: number) => boolean} wanted */
export function drawSupport({ c, plane, colours }, scene, wanted) {
  const machine = machineOf(scene);
  const w = scene.weights;
  if (!machine || !w || !(w[0] || w[1])) return;
  const sign = signs(scene);
  const size = w[0] * w[0] + w[1] * w[1];
  const points = scene.state.points;
  const most = machine.alpha.reduce((/** @type {number} */ m, /** @type {number} */ a) => Math.max(m, a), 0);
  const [small, large] = [radius(points.length) + 2, points.length > 400 ? 9 : 20];
  for (let i = 0; i < points.length; i++) {
    const [x, y, kind, role] = points[i];
    if (role || !sign[kind] || !wanted(i) || !inside(plane.window, points[i], 0.1)) continue;
    const colour = colours.classes[kind];
    const short = 1 - sign[kind] * value(w, x, y);
    if (machine.xi[i] > 0 && short > 0) { // slack: the way to the edge of its own class
      const t = (sign[kind] * short) / size;
      c.strokeStyle = faint(colours.bad, points.length > 400 ? 0.35 : 0.9);
      c.lineWidth = points.length > 400 ? 0.8 : 1.8;
      segment(c, plane.pixel(x, y), plane.pixel(x + t * w[0], y + t * w[1]));
    }
    if (machine.alpha[i] > 0 && most > 0) { // the ring's area is in proportion to α
      const r = Math.sqrt(small * small + (machine.alpha[i] / most) * (large * large - small * small));
      c.fillStyle = faint(colour, 0.22);
      c.beginPath();
      c.arc(...plane.pixel(x, y), r, 0, 2 * Math.PI);
      c.fill();
      ring(c, plane.pixel(x, y), r, colour, points.length > 400 ? 1 : 1.6);
    }
  }
}

/** Rows on the wrong side of the weights that are drawn (y·f(x) ≤ 0). @param {Scene} scene @returns {number[]} */
export function wrongRows(scene) {
  const points = scene.state.points;
  const w = scene.weights;
  if (!w) return [];
  const found = [];
  if (classes(scene) > 2) {
    const predict = predictor(scene);
    if (!predict) return [];
    for (let i = 0; i < points.length; i++) if (predict(points[i][0], points[i][1]) !== points[i][2]) found.push(i);
    return found;
  }
  for (let i = 0; i < points.length; i++) {
    const p = points[i];
    if ((p[2] === 1 ? 1 : -1) * value(w, p[0], p[1]) <= 0) found.push(i);
  }
  return found;
}

/** A cross on each point of the wrong side. @param {Kit} kit @param {Scene} scene @param {number[]} rows */
export function drawWrong({ c, plane, colours }, scene, rows) {
  const points = scene.state.points;
  const many = points.length > 400;
  const r = radius(points.length) * (many ? 0.8 : 1.2);
  c.beginPath();
  for (const i of rows) {
    if (!inside(plane.window, points[i])) continue;
    const [x, y] = plane.pixel(points[i][0], points[i][1]);
    c.moveTo(x - r, y - r); c.lineTo(x + r, y + r);
    c.moveTo(x - r, y + r); c.lineTo(x + r, y - r);
  }
  c.lineCap = many ? "butt" : "round";
  c.strokeStyle = many ? faint(colours.ink, 0.8) : colours.ink;
  c.lineWidth = many ? 1 : Math.min(2.2, r * 0.32);
  c.stroke();
  c.lineCap = "round";
}

/** The row in hand and y·x, what the update adds to w. @param {Kit} kit @param {Scene} scene */
export function drawUpdate({ c, plane, colours }, scene) {
  const p = scene.state.points[scene.row];
  const sign = p && signs(scene)[p[2]];
  if (!p || !sign) return;
  const at = plane.pixel(p[0], p[1]);
  const zero = plane.pixel(0, 0);
  const r = radius(scene.state.points.length);
  const colour = colours.accent;
  if (inside(plane.window, [0, 0])) {
    c.setLineDash([2, 4]);
    c.strokeStyle = colour;
    c.lineWidth = 1.4;
    if (sign < 0) segment(c, zero, at);
    c.setLineDash([]);
    const tip = plane.pixel(sign * p[0], sign * p[1]);
    const long = Math.hypot(tip[0] - zero[0], tip[1] - zero[1]);
    const back = sign > 0 ? Math.min(r + 5, long * 0.4) / (long || 1) : 0; // the arrow ends at the ring of its point
    arrow(c, zero, [tip[0] + (zero[0] - tip[0]) * back, tip[1] + (zero[1] - tip[1]) * back], colour, 2.6);
    const shown = inside(plane.window, [sign * p[0], sign * p[1]], -0.04) ? 0.62 : 0.3;
    const [mx, my] = [zero[0] + (tip[0] - zero[0]) * shown, zero[1] + (tip[1] - zero[1]) * shown];
    const [ox, oy] = long > 0 ? [(-(tip[1] - zero[1]) / long) * 16, ((tip[0] - zero[0]) / long) * 16] : [0, 16];
    label(c, sign > 0 ? "+x" : "−x", [mx + ox, my + oy], colour, colours.card, "center", FONT.replace("12px", "italic 600 14px"), plane.frame);
  } else {
    const far = Math.hypot(at[0] - zero[0], at[1] - zero[1]) || 1;
    const [ux, uy] = [((at[0] - zero[0]) / far) * sign, ((at[1] - zero[1]) / far) * sign];
    arrow(c, [at[0] + ux * (r + 6), at[1] + uy * (r + 6)], [at[0] + ux * 54, at[1] + uy * 54], colour, 2.6);
    label(c, sign > 0 ? "+x" : "−x", [at[0] + ux * 66, at[1] + uy * 66], colour, colours.card, "center", FONT.replace("12px", "italic 600 14px"), plane.frame);
  }
  ring(c, at, r + 5, colour, 3);
}
