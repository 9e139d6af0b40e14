// Weight space (w₁, w₂, b): each training point is a plane y(w·x + b) = 1, and the widest margin is the allowed
// point nearest to the b axis.
import { createSurface } from "./canvas.js";
import { cutConvex, fingerprint, insideBox } from "./geometry.js";
import { listen } from "./input.js";
import { latest } from "./link.js";
import { arrow, card, dot, faint, FONT, label, outline, ring, segment, star } from "./marks.js";
import { drawn, pathOf, signs, watched, words } from "./scene.js";
import { number, tuple } from "./text.js";

/** @typedef {import("./geometry.js").Pair} Pair */
/** @typedef {import("./scene.js").Scene} Scene */

/**
 * @typedef {Object} SpaceActions
 * @property {(row: number) => void} hover
 * @property {(box: Box) => void} askWeights3d
 * @property {(name: string, seen: any) => void} [looked]
 */

const TURN_SPEED = 0.1; // radians per second, by itself
const MAX_PATH_UPDATES = 800; // updates of the path that are drawn

/**
 * @typedef {Object} SpaceView  what is looked at, from where, and what was drawn last
 * @property {HTMLCanvasElement} canvas @property {import("./canvas.js").Surface} surface @property {SpaceActions} actions
 * @property {Scene | null} scene @property {Box | null} box @property {number} turn @property {number} tilt @property {number} zoom
 * @property {boolean} touched  a person has taken hold of the picture: it no longer turns by itself
 * @property {number} frameAt  time of the last frame of the turning
 * @property {any} fitted  the answer that the box was last checked for
 * @property {Pair | null} pointer @property {Polygon[]} shown
 * @property {() => boolean} busy
 */

/** @param {HTMLCanvasElement} canvas @param {SpaceActions} actions */
export function createSpace3D(canvas, actions) {
  const surface = createSurface(canvas, () => view.scene && paint(view, view.scene, ask), { left: 8, top: 8, right: 8, bottom: 8 });
  const ask = latest((/** @type {Box} */ box) => actions.askWeights3d(box), 120);
  /** @type {SpaceView} */
  const view = {
    canvas, surface, actions, scene: null, box: null, turn: -0.6, tilt: 0.42, zoom: 1, touched: false, frameAt: 0, fitted: undefined,
    pointer: null, shown: [], busy: () => gestures.busy(),
  };
  const gestures = listen(canvas, turnGestures(view));
  return {
    /** @param {Scene} now */
    draw(now) { view.scene = now; paint(view, now, ask); },
    destroy() { ask.stop(); gestures.destroy(); surface.destroy(); },
    window: () => lookedAt(view),
    /** @param {{box?: Box | null, zoom?: number, turn?: number, tilt?: number}} w */
    setWindow(w) {
      view.touched = true;
      if (w.box) { view.box = w.box; view.fitted ??= null; }
      [view.zoom, view.turn, view.tilt] = [w.zoom ?? view.zoom, w.turn ?? view.turn, w.tilt ?? view.tilt];
      surface.request();
    },
    /** @param {Scene} now */
    fit: (now) => fit(view, now),
    at: () => null,
    describe,
  };
}

/** What is looked at, and from where. @param {SpaceView} view */
const lookedAt = ({ box, zoom, turn, tilt }) => ({ box, zoom, turn, tilt });

/** @param {SpaceView} view @param {number} dx @param {number} dy  angles */
function rotate(view, dx, dy) {
  view.touched = true;
  view.turn += dx;
  view.tilt = Math.max(-1.5, Math.min(1.5, view.tilt + dy));
  view.actions.looked?.("3d", lookedAt(view));
  view.surface.request();
}

/** Turn and zoom; the plane under the pointer is lit. @param {SpaceView} view */
function turnGestures(view) {
  const { canvas, surface, actions } = view;
  return {
    locate: surface.locate,
    pan(/** @type {number} */ dx, /** @type {number} */ dy) { rotate(view, dx * 0.01, dy * 0.01); canvas.style.cursor = "grabbing"; },
    arrow(/** @type {number} */ dx, /** @type {number} */ dy) { rotate(view, dx * 0.08, dy * 0.08); },
    zoom(/** @type {number} */ by) { view.zoom = Math.max(0.02, Math.min(50, view.zoom * by)); rotate(view, 0, 0); },
    tap() { view.touched = true; },
    twice() { if (view.scene) fit(view, view.scene); rotate(view, 0, 0); },
    hover(/** @type {Pair | null} */ at) {
      view.pointer = at;
      canvas.style.cursor = "grab";
      const found = at ? view.shown.filter((s) => s.row >= 0 && covers(s.pixels, at)).sort((p, q) => q.near - p.near)[0] : undefined;
      const row = found ? found.row : -1;
      if (view.scene && view.scene.hover !== row) actions.hover(row);
    },
  };
}

/** Show everything. @param {SpaceView} view @param {Scene} now */
function fit(view, now) {
  view.fitted = now.answer;
  view.box = whole(now);
  view.zoom = 1;
  view.surface.request();
}

/** Fit by itself when the weights have left the box, or fill next to nothing of it. @param {SpaceView} view @param {Scene} now */
function choose(view, now) {
  const { box, fitted, zoom } = view;
  if (!box || fitted === undefined) return fit(view, now);
  const lost = now.weights && zoom >= 1 && !inBox(now.weights, box);
  if (now.answer === fitted && !lost) return;
  view.fitted = now.answer;
  const wanted = whole(now);
  const size = (wanted[0][1] - wanted[0][0]) / (box[0][1] - box[0][0]);
  if (zoom === 1 && (lost || size > 1.35 || size < 0.4)) fit(view, now);
}

/** A box zoomed about its middle. @param {Box} box @param {number} zoom @returns {Box} */
const zoomed = (box, zoom) => /** @type {Box} */ (box.map(([lo, hi]) => [(lo + hi) / 2 - ((hi - lo) / 2) * zoom, (lo + hi) / 2 + ((hi - lo) / 2) * zoom]));

/** Turn slowly until somebody takes hold of the picture. @param {SpaceView} view */
function drift(view) {
  const time = performance.now();
  view.turn += TURN_SPEED * Math.min(0.1, view.frameAt ? (time - view.frameAt) / 1000 : 0);
  view.frameAt = time;
  view.surface.request();
}

/** @param {SpaceView} view @param {Scene} now @param {(key: string, box: Box) => void} ask */
function paint(view, now, ask) {
  const { surface, pointer } = view;
  if (!surface.begin()) { view.frameAt = 0; return; }
  choose(view, now);
  const box = zoomed(/** @type {Box} */ (view.box), view.zoom);
  if (!view.touched && !now.reduced && !view.busy()) drift(view);
  const { points } = now.state;
  if (points.length) ask(`${fingerprint(points)}|${signs(now).join("")}|${watched(now)}|${box.join()}`, box);
  const [c, colours] = [surface.context, surface.colours()];
  const see = camera(box, view.turn, view.tilt, surface.frame);
  const at = (/** @type {ArrayLike<number>} */ p) => /** @type {Pair} */ (/** @type {unknown} */ (see(p).slice(0, 2)));
  const kit = { c, colours, box, see, at, frame: surface.frame };
  drawPaper(kit, surface);
  drawBox(kit, false, surface.width);
  view.shown = visiblePolygons(kit, now);
  drawPolygons(kit, now, view.shown);
  drawBox(kit, true, surface.width);
  c.strokeStyle = faint(colours.ink, 0.7); // the b axis, from which ‖w‖ is measured
  c.lineWidth = 1.4;
  drawLine(kit, [0, 0, box[2][0]], [0, 0, box[2][1]]);
  drawPath(kit, now);
  drawWeights(kit, now);
  drawOptimum(kit, now);
  if (pointer && now.hover >= 0 && points[now.hover] && !view.busy()) card(c, words(now, now.hover, number), pointer, surface.frame, colours);
  surface.ring();
}

/** The card that the picture stands on. @param {Kit} kit @param {{width: number, height: number}} size */
function drawPaper({ c, colours }, { width, height }) {
  c.fillStyle = colours.card;
  c.strokeStyle = colours.line;
  c.lineWidth = 1;
  c.beginPath();
  c.rect(0.5, 0.5, width - 1, height - 1);
  c.fill();
  c.stroke();
}

/** @typedef {{row: number, pixels: number[][], near: number}} Polygon  row −1: a face of the allowed region */
/** @typedef {{c: CanvasRenderingContext2D, colours: import("./marks.js").Colours, box: Box, see: (p: ArrayLike<number>) => number[], at: (p: ArrayLike<number>) => Pair, frame: import("./marks.js").Box}} Kit  what every part needs; see: the camera, at: its pixel */

/** The optimum of the hard margin: what Python has sent with the planes, or with the verdict. @param {Scene} now @returns {number[] | null} */
const optimum = (now) => now.weights3d?.optimum ?? now.answer?.verdict?.plane ?? null;

/** A box with equal units for w₁ and w₂ that holds the origin, the optimum and the path. @param {Scene} now @returns {Box} */
function whole(now) {
  const best = now.answer?.verdict?.status === "separable" ? now.answer.verdict.plane : null;
  const marks = [[0, 0, 0], ...pathOf(now).steps, ...(now.weights ? [now.weights] : []), ...(best ? [best] : [])];
  const [low, high] = [[0, 1, 2].map((j) => Math.min(...marks.map((m) => m[j]))), [0, 1, 2].map((j) => Math.max(...marks.map((m) => m[j])))];
  const wide = Math.max(high[0] - low[0], high[1] - low[1]) || 1;
  const tall = high[2] - low[2] || wide;
  const half = [wide * 0.85, wide * 0.85, tall * 0.85];
  return /** @type {Box} */ ([0, 1, 2].map((j) => [(low[j] + high[j]) / 2 - half[j], (low[j] + high[j]) / 2 + half[j]]));
}

/** A segment, as far as it is in the box. @param {Kit} kit @param {number[]} p @param {number[]} q */
function drawLine({ c, at, box }, p, q) {
  const ends = segmentInBox(p, q, box);
  if (ends) segment(c, at(ends[0]), at(ends[1]));
}

/** Whether there are so many planes that the region must stand before them, or it would drown. @param {Scene} now */
const crowded = (now) => (now.weights3d?.planes?.length ?? 0) > 6;

/** Planes of the points and faces of the allowed region, the far ones first. @param {Kit} kit @param {Scene} now @returns {Polygon[]} */
function visiblePolygons({ box, see }, now) {
  const found = now.weights3d;
  if (!found) return [];
  const place = (/** @type {number[][]} */ polygon, /** @type {number} */ row) => {
    const pixels = cutToBox(polygon, box).map(see);
    return { row, pixels, near: pixels.reduce((sum, p) => sum + p[2], 0) / (pixels.length || 1) };
  };
  const shown = [
    ...(found.region?.faces ?? []).map((/** @type {number[][]} */ face) => place(face, -1)),
    ...(found.planes ?? []).filter((/** @type {any} */ p) => now.state.points[p.row]).map((/** @type {any} */ p) => place(p.polygon, p.row)),
  ].filter((s) => s.pixels.length >= 3).sort((p, q) => p.near - q.near);
  if (crowded(now)) shown.sort((p, q) => Number(p.row < 0) - Number(q.row < 0));
  return shown;
}

/** @param {Kit} kit @param {Scene} now @param {Polygon[]} shown */
function drawPolygons({ c, colours }, now, shown) {
  const crowd = crowded(now);
  for (const { row, pixels } of shown) {
    const lit = row >= 0 && (row === now.hover || row === now.row || row === now.selected);
    const colour = row < 0 ? colours.cone : colours.classes[now.state.points[row][2]];
    outline(c, /** @type {Pair[]} */ (/** @type {unknown} */ (pixels)));
    c.fillStyle = faint(colour, row < 0 ? (colours.dark ? 0.22 : crowd ? 0.4 : 0.3) : lit ? 0.4 : crowd ? 0.06 : 0.2);
    c.fill();
    c.strokeStyle = row < 0 ? faint(colours.ink, 0.28) : faint(colour, lit ? 1 : crowd ? 0.4 : 0.6);
    c.lineWidth = lit ? 3 : 1.1;
    c.stroke();
  }
}

/** The path up to the moment. @param {Kit} kit @param {Scene} now */
function drawPath({ c, colours, box, at }, now) {
  const all = pathOf(now).steps;
  const end = Math.min(now.k, all.length - 1);
  c.strokeStyle = faint(colours.path, all.length > 300 ? 0.5 : 0.8);
  c.lineWidth = all.length > 300 ? 1 : 1.5;
  c.beginPath();
  for (let i = Math.max(1, end - MAX_PATH_UPDATES); i <= end; i++) {
    const ends = inBox(all[i - 1], box) && inBox(all[i], box) ? [all[i - 1], all[i]] : segmentInBox(all[i - 1], all[i], box);
    if (!ends) continue;
    c.moveTo(...at(ends[0]));
    c.lineTo(...at(ends[1]));
  }
  c.stroke();
}

/** The last update, and the weights over the floor. @param {Kit} kit @param {Scene} now */
function drawWeights({ c, colours, box, at, frame }, now) {
  const w = drawn(now);
  if (!w || !inBox(w, box)) return;
  if (now.previous && inBox(now.previous, box)) arrow(c, at(now.previous), at(w), colours.accent, 2.6);
  const p = at(w);
  c.strokeStyle = faint(colours.ink, 0.35); // a plumb line to the floor, so that its place can be read
  c.lineWidth = 1;
  c.setLineDash([2, 4]);
  segment(c, p, at([w[0], w[1], box[2][0]]));
  c.setLineDash([]);
  dot(c, p, 5.5, colours.ink, colours.card);
  if (now.hand) ring(c, p, 9, colours.accent, 2);
  const best = optimum(now);
  if (!best || Math.hypot(at(best)[0] - p[0], at(best)[1] - p[1]) > 20) label(c, "(w, b)", [p[0] + 12, p[1] + 12], colours.ink, colours.card, "left", FONT.replace("12px", "italic 600 13px"), frame);
}

/** The widest margin, and how far it is from the b axis. @param {Kit} kit @param {Scene} now */
function drawOptimum(kit, now) {
  const { c, colours, at, frame } = kit;
  const best = optimum(now);
  if (!best || !inBox(best, kit.box)) return;
  c.setLineDash([5, 4]);
  c.strokeStyle = colours.good;
  c.lineWidth = 2;
  drawLine(kit, [0, 0, best[2]], best);
  c.setLineDash([]);
  const [p, q] = [at([0, 0, best[2]]), at(best)];
  star(c, q, colours.good, colours.card);
  label(c, "widest margin", [q[0], q[1] - 18], colours.good, colours.card, "center", FONT, frame);
  const margin = now.answer?.verdict?.margin;
  if (margin > 0 && Math.hypot(p[0] - q[0], p[1] - q[1]) > 30) label(c, `‖w‖ = ${number(1 / margin)}`, [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2 + 14], colours.good, colours.card, "center", FONT, frame);
}

/** The picture in words. @param {Scene} scene */
function describe(scene) {
  const planes = scene.weights3d?.planes?.length ?? 0;
  const said = [`Weight space with the axes w₁, w₂ and b: ${planes === 1 ? "one plane" : `${planes} planes`}, each for a training point.`];
  const best = scene.weights3d?.optimum ?? null;
  if (best) said.push(`The allowed point nearest to the b axis is ${tuple(best)}: the widest margin.`);
  if (scene.weights) said.push(`The weights now are ${tuple(scene.weights)}.`);
  return said.join(" ");
}

/** @typedef {[number, number, number]} Triple */
/** @typedef {[[number, number], [number, number], [number, number]]} Box  lowest and highest of each coordinate */

const PERSPECTIVE = 0.13; // how much larger what is near appears

/**
 * @param {Box} box @param {number} turn  angle about the third axis @param {number} tilt  angle above the floor
 * @param {{left: number, top: number, width: number, height: number}} frame
 * @returns {(p: ArrayLike<number>) => Triple}  pixel across, pixel down, nearness (larger is nearer)
 */
function camera(box, turn, tilt, frame) {
  const [st, ct, se, ce] = [Math.sin(turn), Math.cos(turn), Math.sin(tilt), Math.cos(tilt)];
  const scale = Math.min(frame.width, frame.height) * 0.3;
  const [mx, my] = [frame.left + frame.width / 2, frame.top + frame.height / 2];
  return (p) => {
    const [u, v, h] = [0, 1, 2].map((j) => (2 * (p[j] - box[j][0])) / (box[j][1] - box[j][0]) - 1);
    const [across, deep] = [u * ct - v * st, u * st + v * ct]; // deep: away from the eye on the floor
    const near = -deep * ce + h * se;
    const size = scale * (1 + PERSPECTIVE * near);
    return [mx + across * size, my - (h * ce + deep * se) * size, near];
  };
}

/** The eight corners; bit j of the index says low or high of coordinate j. @param {Box} box @returns {Triple[]} */
const boxCorners = (box) => [0, 1, 2, 3, 4, 5, 6, 7].map((i) => /** @type {Triple} */ ([box[0][i & 1], box[1][(i >> 1) & 1], box[2][(i >> 2) & 1]]));

/** The twelve edges as pairs of corners, with the coordinate along which each runs. */
const EDGES = [0, 1, 2].flatMap((j) => [0, 1, 2, 3, 4, 5, 6, 7].filter((i) => !(i & (1 << j))).map((i) => [i, i | (1 << j), j]));

/** The part of a flat polygon inside a box. @param {number[][]} polygon @param {Box} box @returns {number[][]} */
function cutToBox(polygon, box) {
  return box.reduce((kept, [low, high], j) => cutConvex(cutConvex(kept, (p) => p[j] - low), (p) => high - p[j]), polygon);
}

/** A segment inside a box, or null. @param {number[]} p @param {number[]} q @param {Box} box @returns {[number[], number[]] | null} */
function segmentInBox(p, q, box) {
  const along = q.map((v, j) => v - p[j]);
  const ends = insideBox(p, along, box, 0, 1);
  if (!ends) return null;
  const [first, last] = ends.map((t) => p.map((v, j) => v + t * along[j]));
  return [first, last];
}

/** @param {ArrayLike<number>} p @param {Box} box */
const inBox = (p, box) => [0, 1, 2].every((j) => p[j] >= box[j][0] && p[j] <= box[j][1]);

/** Whether a pixel is inside a polygon of pixels. @param {ArrayLike<number>} at @param {ArrayLike<number>[]} polygon */
function covers(polygon, at) {
  let odd = false;
  polygon.forEach((p, i) => {
    const q = polygon[(i + 1) % polygon.length];
    if (p[1] > at[1] !== q[1] > at[1] && at[0] < p[0] + ((at[1] - p[1]) / (q[1] - p[1])) * (q[0] - p[0])) odd = !odd;
  });
  return odd;
}

const AXIS_NAMES = ["w₁", "w₂", "b"];

/**
 * Draw the edges that are behind everything, or those before it with names and ends of the axes.
 * @param {Kit} kit @param {boolean} front @param {number} width  of the canvas
 */
function drawBox({ c, colours, box, see }, front, width) {
  const corners = boxCorners(box).map(see);
  const far = corners.reduce((best, p, i) => (p[2] < corners[best][2] ? i : best), 0);
  c.lineWidth = 1;
  for (const [i, j] of EDGES) {
    const behind = i === far || j === far;
    if (behind === front) continue;
    c.strokeStyle = faint(colours.quiet, front ? 0.75 : 0.35);
    segment(c, [corners[i][0], corners[i][1]], [corners[j][0], corners[j][1]]);
  }
  if (!front) return;
  const [mx, my] = [0, 1].map((m) => corners.reduce((sum, p) => sum + p[m], 0) / 8);
  for (let axis = 0; axis < 3; axis++) {
    const own = EDGES.filter(([i, j, along]) => along === axis && i !== far && j !== far);
    const rank = (/** @type {number[]} */ [i, j]) => (axis === 2 ? -corners[i][0] - corners[j][0] : corners[i][1] + corners[j][1]); // left, or lowest
    const [i, j] = own.reduce((best, edge) => (rank(edge) > rank(best) ? edge : best), own[0]);
    const [p, q] = [corners[i], corners[j]];
    const [ox, oy] = [(p[0] + q[0]) / 2 - mx, (p[1] + q[1]) / 2 - my]; // outwards
    const out = [(ox / Math.hypot(ox, oy)) * 17, (oy / Math.hypot(ox, oy)) * 13];
    const put = (/** @type {number} */ t, /** @type {string} */ text, /** @type {string} */ colour, /** @type {string} */ font) => {
      const half = text.length * 3.5 + 4;
      const x = p[0] + t * (q[0] - p[0]) + out[0];
      label(c, text, [Math.max(half, Math.min(width - half, x)), p[1] + t * (q[1] - p[1]) + out[1]], colour, colours.card, "center", font);
    };
    put(0.12, number(box[axis][0], 3), colours.quiet, FONT);
    put(0.5, AXIS_NAMES[axis], colours.ink, FONT.replace("12px", "italic 600 14px"));
    put(0.88, number(box[axis][1], 3), colours.quiet, FONT);
  }
}
