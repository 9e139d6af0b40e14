// What w-space is made of: a line for each training point, the cone where all are right, the path of the weights.
import { faint } from "./colours.js";
import { area, cutLine, fingerprint, inside, middle } from "./geometry.js";
import { arrow, FONT, label, outline, ring, segment } from "./marks.js";
import { path, signs, value } from "./reading.js";
import { number } from "./text.js";

/** @typedef {import("./reading.js").Scene} Scene */
/** @typedef {import("./xparts.js").Kit} Kit */
/** @typedef {import("./geometry.js").Pair} Pair */

export const MANY = 400; // lines beyond which only some are drawn while they move
const CHUNK = 250; // updates of the path that are drawn into its kept layer together

/** Whether a point is a line here: trained, and the watched machine's business. @param {number[]} p @param {number[]} sign */
export const counts = (p, sign) => !p[3] && sign[p[2]] !== 0;

/** The line w·x + b = 0 of each training point, with normals to its good side when there are few. @param {Kit} kit @param {Scene} scene @param {number} b @param {number} stride */
export function drawLines({ c, plane, colours }, scene, b, stride) {
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
export function lightLine(kit, scene, row, b, width) {
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
export function drawCone({ c, plane, colours }, scene, b) {
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
export function captionCone({ c, plane, colours }, scene, b, frame) {
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

const KNOWN = /** @type {WeakMap<object, {steps: number[][], id: number}>} */ (new WeakMap());

/** The path of an answer with a number to know it by. @param {Scene} scene */
export function pathOf(scene) {
  const run = scene.answer?.run;
  if (!run || scene.hand) return { steps: [], id: 0 };
  const key = run.updates; // the same object for as long as the run is the same
  const known = KNOWN.get(key);
  if (known) return known;
  const steps = path(scene);
  const made = { steps, id: fingerprint(steps) };
  KNOWN.set(key, made);
  return made;
}

/** The path up to the moment; all but its last part is kept. @param {Kit} kit @param {Scene} scene @param {import("./surface.js").Surface} surface */
export function drawPath(kit, scene, surface) {
  const { steps, id } = pathOf(scene);
  if (!steps.length) return;
  const last = Math.min(scene.k, steps.length - 1);
  const kept = Math.floor(last / CHUNK) * CHUNK;
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
export function drawWeights({ c, plane, colours }, scene, now) {
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
  c.fillStyle = colours.ink;
  c.strokeStyle = colours.card;
  c.lineWidth = 3;
  c.beginPath();
  c.arc(at[0], at[1], 6, 0, 2 * Math.PI);
  c.stroke();
  c.fill();
  if (scene.hand) ring(c, at, 10, colours.accent, 2.2);
  if (inside(plane.window, now)) label(c, "w", [at[0] + 14, at[1] - 13], colours.ink, colours.card, "center", FONT.replace("12px", "italic 700 15px"), plane.frame);
}
