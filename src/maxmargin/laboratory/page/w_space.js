// w-space: weights are points, training points are lines. Click to set w by hand.
import { drawOrigin } from "./canvas.js";
import { area, around, cutLine, fingerprint, grown, identity, inside, middle } from "./geometry.js";
import { latest } from "./link.js";
import { arrow, dot, faint, FONT, label, outline, parts, ring, segment } from "./marks.js";
import { createPlaneView, weightGestures } from "./plane_view.js";
import { drawn, NOTHING, pathOf, signs, value, watched } from "./scene.js";
import { number, tuple } from "./text.js";

/** @typedef {import("./canvas.js").Kit} Kit */
/** @typedef {import("./geometry.js").Pair} Pair */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./geometry.js").Window} Window */

/**
 * @typedef {Object} WeightActions
 * @property {(weights: number[], phase?: "start" | "drag" | "end") => void} setWeights
 * @property {(row: number) => void} hover
 * @property {(window: Window, b: number) => void} askCone @property {(window: Window, b: number) => void} askRisk
 * @property {(name: string, window: Window) => void} [looked]  a person has moved the window
 */

const NEAR_PIXELS = 7; // from a line, that is still at it

/** @param {HTMLCanvasElement} canvas @param {WeightActions} actions */
export function createWSpace(canvas, actions) {
  const askCone = latest((/** @type {Window} */ w, /** @type {number} */ b) => actions.askCone(w, b), 60);
  const askRisk = latest((/** @type {Window} */ w, /** @type {number} */ b) => actions.askRisk(w, b), 120);
  return createPlaneView(canvas, actions, {
    name: "w", whole, lost, nearest, describe,
    axes: () => ["w₁", "w₂"],
    subject: (scene) => scene.answer,
    gestures: (view) => weightGestures(view, (at, phase) => {
      if (view.scene) actions.setWeights([...view.plane.rounded(view.plane.clamped(at)), bias(view.scene)], phase);
    }, (w) => [w[0], w[1]]),
    draw(now, view, kit) {
      const [b, window] = [bias(now), view.plane.target()];
      if (now.state.points.length) {
        askCone(`${lineKey(now)}|${window}`, grown(window, 2.5), b);
        if (now.layers?.risk) askRisk(`${lineKey(now)}|${window}`, grown(window, 1.15), b);
      }
      drawWSpace(now, view, kit, b);
    },
    stop() { askCone.stop(); askRisk.stop(); },
  });
}

/** @typedef {import("./plane_view.js").PlaneView} PlaneView */

/** The third weight: w-space is a section at it. @param {Scene} now */
const bias = (now) => now.weights?.[2] ?? 0;

/** Changes when any of the lines does. @param {Scene} now */
const lineKey = (now) => `${fingerprint(now.state.points)}|${signs(now).join("")}|${watched(now)}|${bias(now)}`;

/** The row whose line is nearest to a pixel, −1 if none is near. @param {Scene} scene @param {PlaneView} view @param {Pair} at */
function nearest(scene, { plane, surface }, at) {
  const [points, sign, b, w] = [scene.state.points, signs(scene), bias(scene), plane.value(at)];
  const [ux, uy] = [(plane.window[1] - plane.window[0]) / surface.frame.width, (plane.window[3] - plane.window[2]) / surface.frame.height];
  let [best, row] = [NEAR_PIXELS, -1];
  for (let i = 0; i < points.length; i++) {
    if (!counts(points[i], sign)) continue;
    const [x, y] = points[i];
    const far = Math.abs(w[0] * x + w[1] * y + b) / Math.hypot(x * ux, y * uy);
    if (far < best) [best, row] = [far, i];
  }
  return row;
}

/** A square around the origin, the path and the weights. @param {Scene} now @returns {Window} */
function whole(now) {
  const points = [[0, 0], ...pathOf(now).steps, ...(now.weights ? [now.weights] : [])];
  const most = Math.max(...points.map((p) => Math.max(Math.abs(p[0]), Math.abs(p[1]))));
  if (!(most > 0)) {
    const reach = !now.state.points.length ? 1 : Math.max(1e-6, ...now.state.points.map((/** @type {number[]} */ p) => Math.max(Math.abs(p[0]), Math.abs(p[1])))) || 1;
    return [-reach, reach, -reach, reach];
  }
  const found = /** @type {Window} */ (around(points, 0.22));
  const half = Math.max(found[1] - found[0], found[3] - found[2]) / 2; // a cone needs room to the sides
  const [mx, my] = [(found[0] + found[1]) / 2, (found[2] + found[3]) / 2];
  return [mx - half, mx + half, my - half, my + half];
}

/** Whether w or its path has left the view, or fills next to nothing of it. @param {Scene} now @param {PlaneView} view @param {boolean} changed */
function lost(now, { plane }, changed) {
  const window = plane.target();
  if (now.weights && !inside(window, now.weights)) return true;
  if (!changed) return false;
  const wanted = whole(now);
  const small = wanted[1] - wanted[0] < 0.22 * Math.min(window[1] - window[0], window[3] - window[2]);
  return small || pathOf(now).steps.some((step) => !inside(window, step));
}

/** All that is inside the axes. @param {Scene} now @param {PlaneView} view @param {Kit} kit @param {number} b */
function drawWSpace(now, view, kit, b) {
  const { surface, plane } = view;
  const { points } = now.state;
  if (now.layers?.risk && now.risk) {
    surface.layer("risk", `${identity(now.risk)}|${plane.key}`, (inner) => { plane.clip(inner); drawRisk(inner, now.risk, plane, kit.colours); });
  }
  drawCone(kit, now, b);
  const moving = points.length > MAX_MOVING_LINES && (now.playing || view.busy()) && now.state.options?.intercept !== false;
  const stride = moving ? Math.ceil(points.length / 160) : 1; // lines that move are fewer
  surface.layer("lines", `${lineKey(now)}|${plane.key}|${stride}`, (inner) => { plane.clip(inner); drawLines({ ...kit, c: inner }, now, b, stride); });
  drawOrigin(kit);
  if (now.row >= 0 && now.row !== now.hover) lightLine(kit, now, now.row, b, 2.6);
  if (now.hover >= 0) lightLine(kit, now, now.hover, b, 3.6);
  if (now.selected >= 0 && now.selected !== now.hover) lightLine(kit, now, now.selected, b, 3);
  drawPath(kit, now, surface);
  if (now.weights) drawWeights(kit, now, drawn(now) ?? NOTHING);
  captionCone(kit, now, b, surface.frame);
}

/** The picture in words. @param {Scene} scene */
function describe(scene) {
  const sign = signs(scene);
  const lines = scene.state.points.filter((/** @type {number[]} */ p) => counts(p, sign)).length;
  const w = scene.weights;
  const said = [`w-space with a line for each of ${lines} training points.`];
  if (w) said.push(`The weights are w = ${tuple([w[0], w[1]])}, b = ${number(w[2])}${scene.hand ? ", set by hand" : scene.K ? `, after ${scene.k} of ${scene.K} updates` : ""}.`);
  if (scene.cone && w && scene.cone.b === w[2]) said.push(scene.cone.polygon?.length ? "The weights that have all points right are shaded." : "At this b no w has all points right.");
  return said.join(" ");
}

const MAX_MOVING_LINES = 400; // lines beyond which only some are drawn while they move
const PATH_CHUNK = 250; // updates of the path that are drawn into its kept layer together

/** Whether a point is a line here: trained, and the watched machine's business. @param {number[]} p @param {number[]} sign */
const counts = (p, sign) => !p[3] && sign[p[2]] !== 0;

/** The line w·x + b = 0 of each training point, with normals to its good side when there are few. @param {Kit} kit @param {Scene} scene @param {number} b @param {number} stride */
function drawLines({ c, plane, colours }, scene, b, stride) {
  const points = scene.state.points;
  const sign = signs(scene);
  const trained = points.filter((/** @type {number[]} */ p) => counts(p, sign)).length;
  const width = trained <= 12 ? 2 : trained <= 60 ? 1.2 : trained <= 300 ? 0.9 : 0.7;
  const share = trained <= 12 ? 1 : trained <= 60 ? 0.8 : Math.max(0.1, Math.min(0.75, 24 / Math.sqrt(trained) / 2.4) * (stride > 1 ? 1 : Math.min(1, 300 / trained)));
  c.lineWidth = width;
  c.lineCap = "butt";
  for (let kind = 0; kind < 5; kind++) {
    c.strokeStyle = faint(colours.classes[kind], share);
    let [open, drawn] = [0, 0];
    for (let i = 0; i < points.length; i++) {
      const p = points[i];
      if (p[2] !== kind || !counts(p, sign) || drawn++ % stride) continue;
      const ends = cutLine(p[0], p[1], b, plane.window);
      if (!ends) continue;
      if (!open) c.beginPath();
      c.moveTo(...plane.pixel(...ends[0]));
      c.lineTo(...plane.pixel(...ends[1]));
      if (++open >= 40) { c.stroke(); open = 0; } // some at a time: where they cross it is darker
    }
    if (open) c.stroke();
  }
  c.lineCap = "round";
  if (trained > 40) return;
  for (const p of points) {
    if (counts(p, sign)) normals({ c, plane, colours }, p, sign[p[2]], b, trained <= 12 ? 12 : 9, trained <= 12 ? 1.8 : 1);
  }
}

/** Short normals near both ends of a line: the side where w has the point right. @param {Kit} kit @param {number[]} p @param {number} sign @param {number} b @param {number} long @param {number} width */
function normals({ c, plane, colours }, p, sign, b, long, width) {
  const ends = cutLine(p[0], p[1], b, plane.window);
  if (!ends) return;
  const [from, to] = [plane.pixel(...ends[0]), plane.pixel(...ends[1])];
  const size = Math.hypot(from[0] - to[0], from[1] - to[1]);
  if (size < 30) return;
  let [nx, ny] = [-(to[1] - from[1]) / size, (to[0] - from[0]) / size];
  const [v] = [plane.value([from[0] + nx, from[1] + ny])];
  if (sign * value([p[0], p[1], b], v[0], v[1]) < 0) [nx, ny] = [-nx, -ny];
  const inset = Math.min(size * 0.2, 26);
  for (const t of [inset / size, 1 - inset / size]) {
    const at = /** @type {Pair} */ ([from[0] + t * (to[0] - from[0]), from[1] + t * (to[1] - from[1])]);
    arrow(c, at, [at[0] + nx * long, at[1] + ny * long], colours.classes[p[2]], width);
  }
}

/** One line lit up, its good side shaded. @param {Kit} kit @param {Scene} scene @param {number} row @param {number} b @param {number} width */
function lightLine(kit, scene, row, b, width) {
  const { c, plane, colours } = kit;
  const p = scene.state.points[row];
  const sign = signs(scene);
  const ends = p && counts(p, sign) && cutLine(p[0], p[1], b, plane.window);
  if (!ends) return;
  c.strokeStyle = colours.card;
  c.lineWidth = width + 3;
  segment(c, plane.pixel(...ends[0]), plane.pixel(...ends[1]));
  c.strokeStyle = colours.classes[p[2]];
  c.lineWidth = width;
  segment(c, plane.pixel(...ends[0]), plane.pixel(...ends[1]));
  normals(kit, p, sign[p[2]], b, 18, 2.4);
}

/** Where all training points are right. @param {Kit} kit @param {Scene} scene @param {number} b */
function drawCone({ c, plane, colours }, scene, b) {
  const cone = scene.cone;
  if (!cone) return;
  // {w : y(w·x + b) ≥ 0} grows in proportion to b: until the answer for this b is here, the last one is scaled.
  const by = cone.b !== b && cone.b * b > 0 ? b / cone.b : 1;
  const pixels = (cone.polygon ?? []).map((/** @type {Pair} */ p) => plane.pixel(p[0] * by, p[1] * by));
  if (pixels.length >= 3) {
    outline(c, pixels);
    c.fillStyle = faint(colours.cone, colours.dark ? 0.34 : 0.5);
    c.fill();
    c.strokeStyle = faint(colours.cone, 0.9);
    c.lineWidth = 2;
    c.stroke();
  }
}

/** A word in the cone, or why there is none. @param {Kit} kit @param {Scene} scene @param {number} b @param {{left: number, top: number, width: number, height: number}} frame */
function captionCone({ c, plane, colours }, scene, b, frame) {
  if (scene.state.options?.intercept !== false || b !== 0) {
    label(c, `at b = ${number(b)}`, [frame.left + 8, frame.top + frame.height - 14], colours.quiet, colours.card, "left");
  }
  const cone = scene.cone;
  if (!cone || scene.stale || cone.b !== b) return;
  const seen = (cone.polygon ?? []).map((/** @type {Pair} */ p) => /** @type {Pair} */ (plane.pixel(p[0], p[1]).map((v, j) => (j ? clamp(v, frame.top, frame.height) : clamp(v, frame.left, frame.width)))));
  if (seen.length >= 3) {
    if (Math.abs(area(seen)) / 2 < 9000) return;
    const [x, y] = middle(seen);
    const w = scene.weights ? plane.pixel(scene.weights[0], scene.weights[1]) : [x, y + 99];
    label(c, "all points right", [x, Math.abs(x - w[0]) < 70 && Math.abs(y - w[1]) < 26 ? w[1] + 30 : y], colours.ink, colours.card, "center", FONT, frame);
    return;
  }
  if (!scene.answer?.usable) return;
  const never = scene.answer.verdict && scene.answer.verdict.status !== "separable";
  label(c, never ? "no w is right for all points" : "here no w is right for all points", [frame.left + frame.width / 2, frame.top + frame.height - 34], colours.quiet, colours.card, "center", FONT, frame);
}
const clamp = (/** @type {number} */ v, /** @type {number} */ from, /** @type {number} */ size) => Math.max(from, Math.min(from + size, v));

/** The path up to the moment; all but its last part is kept. @param {Kit} kit @param {Scene} scene @param {import("./canvas.js").Surface} surface */
function drawPath(kit, scene, surface) {
  const { steps, id } = pathOf(scene);
  if (!steps.length) return;
  const last = Math.min(scene.k, steps.length - 1);
  const kept = Math.floor(last / PATH_CHUNK) * PATH_CHUNK;
  const [part, colours] = [{ ...kit }, kit.colours];
  if (kept > 0) {
    surface.layer("path", `${id}|${kept}|${kit.plane.key}`, (inner) => { kit.plane.clip(inner); stretch({ ...kit, c: inner }, steps, 0, kept); });
  }
  stretch(part, steps, kept, last);
  if (last <= 80) {
    for (let i = 0; i <= last; i++) {
      kit.c.fillStyle = i === 0 ? colours.card : colours.path;
      kit.c.beginPath();
      kit.c.arc(...kit.plane.pixel(steps[i][0], steps[i][1]), i === 0 ? 4 : last > 30 ? 2 : 3, 0, 2 * Math.PI);
      kit.c.fill();
      if (i === 0) ring(kit.c, kit.plane.pixel(steps[0][0], steps[0][1]), 4, colours.path, 1.6);
    }
  }
}

/** @param {Kit} kit @param {number[][]} steps @param {number} from @param {number} to */
function stretch({ c, plane, colours }, steps, from, to) {
  if (to <= from) return;
  c.beginPath();
  for (let i = from; i <= to; i++) {
    const [x, y] = plane.pixel(steps[i][0], steps[i][1]);
    if (i === from) c.moveTo(x, y);
    else c.lineTo(x, y);
  }
  c.strokeStyle = faint(colours.path, steps.length > 300 ? 0.45 : 0.75);
  c.lineWidth = steps.length > 300 ? 1 : 1.5;
  c.stroke();
}

/** The last update as an arrow, and w. @param {Kit} kit @param {Scene} scene @param {number[]} now  weights as they are drawn */
function drawWeights({ c, plane, colours }, scene, now) {
  const at = plane.pixel(now[0], now[1]);
  const before = scene.previous;
  if (before && !scene.hand) {
    const from = plane.pixel(before[0], before[1]);
    arrow(c, from, at, colours.accent, 2.8);
    const sign = scene.row >= 0 ? signs(scene)[scene.state.points[scene.row]?.[2]] : 0;
    const long = Math.hypot(at[0] - from[0], at[1] - from[1]);
    if (sign && long > 36) {
      const [mx, my] = [(from[0] + at[0]) / 2, (from[1] + at[1]) / 2];
      label(c, sign > 0 ? "+x" : "−x", [mx + ((at[1] - from[1]) / long) * 15, my - ((at[0] - from[0]) / long) * 15], colours.accent, colours.card, "center", FONT.replace("12px", "italic 600 14px"), plane.frame);
    }
  }
  dot(c, at, 6, colours.ink, colours.card);
  if (scene.hand) ring(c, at, 10, colours.accent, 2.2);
  if (inside(plane.window, now)) label(c, "w", [at[0] + 14, at[1] - 13], colours.ink, colours.card, "center", FONT.replace("12px", "italic 700 15px"), plane.frame);
}

/** @typedef {{window: import("./geometry.js").Window, size: number, values: ArrayLike<number>, max: number, b: number}} Risk */
/** @typedef {[number, number, number, number]} Piece  from (x, y) to (x, y), in cells of the grid */

/**
 * The pieces of the level line of a grid, in units of cells. Each cell is cut into the two triangles of its
 * rising diagonal, so there are no ambiguous saddles.
 * @param {ArrayLike<number>} values  row by row @param {number} size  columns and rows @param {number} level
 * @returns {Piece[]}
 */
function isoline(values, size, level) {
  const pieces = /** @type {Piece[]} */ ([]);
  const cut = (/** @type {number[]} */ p, /** @type {number[]} */ q, /** @type {number[]} */ r) => {
    const ends = [];
    for (const [s, t] of [[p, q], [q, r], [r, p]]) {
      if (s[2] < level === t[2] < level) continue;
      const u = (level - s[2]) / (t[2] - s[2]);
      ends.push(s[0] + u * (t[0] - s[0]), s[1] + u * (t[1] - s[1]));
    }
    if (ends.length === 4) pieces.push(/** @type {Piece} */ (ends));
  };
  for (let j = 0; j + 1 < size; j++) {
    for (let i = 0; i + 1 < size; i++) {
      const at = j * size + i;
      const [a, b, c, d] = [values[at], values[at + 1], values[at + size], values[at + size + 1]];
      if (Math.min(a, b, c, d) >= level || Math.max(a, b, c, d) < level) continue;
      const corners = [[i, j, a], [i + 1, j, b], [i, j + 1, c], [i + 1, j + 1, d]];
      cut(corners[0], corners[1], corners[3]);
      cut(corners[0], corners[3], corners[2]);
    }
  }
  return pieces;
}

/** Levels of a risk that grows like a cone: round numbers, closer together at the bottom. @param {number} max @param {number} [count] */
function levels(max, count = 9) {
  if (!(max > 0) || !Number.isFinite(max)) return [];
  const found = new Set();
  for (let j = 1; j < count; j++) {
    const raw = max * (j / count) ** 1.7;
    const unit = 10 ** Math.floor(Math.log10(raw));
    found.add(Number(([1, 1.5, 2, 3, 4, 5, 6, 8, 10].reduce((best, m) => (Math.abs(m * unit - raw) < Math.abs(best - raw) ? m * unit : best), unit)).toPrecision(6)));
  }
  return /** @type {number[]} */ ([...found]);
}

/**
 * Draw a risk grid.
 * @param {CanvasRenderingContext2D} c @param {Risk} risk @param {import("./canvas.js").Plane} plane @param {import("./marks.js").Colours} colours
 */
function drawRisk(c, risk, plane, colours) {
  const { size, values, window, max } = risk;
  if (!(max > 0) || values.length !== size * size) return;
  const [left, bottom] = plane.pixel(window[0], window[2]);
  const [right, top] = plane.pixel(window[1], window[3]);
  const [dx, dy] = [(right - left) / (size - 1), (top - bottom) / (size - 1)];
  c.imageSmoothingEnabled = true;
  c.imageSmoothingQuality = "high";
  c.drawImage(tint(risk, colours), left - dx / 2, top + dy / 2, dx * size, -dy * size); // a value is the middle of its pixel
  c.strokeStyle = faint(colours.accent, 0.7);
  c.lineWidth = 1.1;
  for (const level of levels(max)) {
    c.beginPath();
    for (const [x, y, u, v] of isoline(values, size, level)) {
      c.moveTo(left + x * dx, bottom + y * dy);
      c.lineTo(left + u * dx, bottom + v * dy);
    }
    c.stroke();
  }
}

/** The grid as a small picture: nothing at zero, deeper with the root of the risk. @param {Risk} risk @param {import("./marks.js").Colours} colours */
function tint({ size, values, max }, colours) {
  const made = document.createElement("canvas");
  made.width = made.height = size;
  const inner = /** @type {CanvasRenderingContext2D} */ (made.getContext("2d"));
  const image = inner.createImageData(size, size);
  const [r, g, b] = parts(colours.accent);
  const deep = colours.dark ? 110 : 72;
  for (let j = 0; j < size; j++) {
    for (let i = 0; i < size; i++) {
      const at = 4 * ((size - 1 - j) * size + i); // pictures start at the top
      image.data.set([r, g, b, Math.round(deep * Math.sqrt(Math.max(0, values[j * size + i]) / max))], at);
    }
  }
  inner.putImageData(image, 0, 0);
  return made;
}
