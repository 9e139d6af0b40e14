// The cross-section of weight space at a given w₁: planes become lines in (w₂, b), the allowed region a polygon.
import { drawOrigin } from "./canvas.js";
import { cutLine, distance, fingerprint, grown, identity, inside } from "./geometry.js";
import { latest } from "./link.js";
import { dot, faint, FONT, label, outline, ring, segment, star } from "./marks.js";
import { createPlaneView, weightGestures } from "./plane_view.js";
import { signs, watched } from "./scene.js";
import { number } from "./text.js";

/** @typedef {import("./geometry.js").Pair} Pair */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./geometry.js").Window} Window */

/**
 * @typedef {Object} SectionActions
 * @property {(w1: number, window: Window) => void} askSection
 * @property {(weights: number[], phase?: "start" | "drag" | "end") => void} setWeights
 * @property {(row: number) => void} hover
 * @property {(name: string, window: Window) => void} [looked]
 */

const NEAR_PIXELS = 7; // from a line, that is still at it

/** The w₁ that is cut at: the slider's, else that of the widest margin, else that of the weights. @param {Scene} scene @returns {number} */
export const cutAt = (scene) => scene.cut ?? best(scene)?.[0] ?? scene.weights?.[0] ?? 0;

/** Lowest and highest w₁ a slider should offer. @param {Scene} scene @returns {[number, number]} */
export function cutRange(scene) {
  const seen = [0, ...(scene.weights ? [scene.weights[0]] : []), ...(best(scene) ? [best(scene)[0]] : []), ...(scene.cut != null ? [scene.cut] : [])];
  const reach = Math.max(...seen.map(Math.abs), ...[best(scene), scene.weights].map((w) => (w ? Math.hypot(w[0], w[1]) : 0))) || 1;
  return [-1.5 * reach, 1.5 * reach];
}

/** Whether weights lie in a section, as far as one can see. @param {number[]} w @param {number} w1 */
const near = (w, w1) => Math.abs(w[0] - w1) <= 0.004 * (Math.abs(w[0]) + Math.abs(w1) + Math.abs(w[1]));

/** The optimum of the hard margin, if the data has one. @param {Scene} scene @returns {any} */
const best = (scene) => (scene.answer?.verdict?.status === "separable" ? scene.answer.verdict.plane : null);

/** @param {HTMLCanvasElement} canvas @param {SectionActions} actions */
export function createSection(canvas, actions) {
  const ask = latest((/** @type {number} */ w1, /** @type {Window} */ w) => actions.askSection(w1, w), 50);
  return createPlaneView(canvas, actions, {
    name: "section", alike: false, whole, lost, nearest, describe,
    axes: () => ["w₂", "b"],
    subject: (scene) => scene.answer,
    gestures: (view) => weightGestures(view, (at, phase) => {
      if (view.scene) actions.setWeights([cutAt(view.scene), ...view.plane.rounded(view.plane.clamped(at))], phase);
    }, (w) => [w[1], w[2]]),
    draw(now, view, kit) {
      const [{ points }, w1, window] = [now.state, cutAt(now), view.plane.target()];
      if (points.length) ask(`${fingerprint(points)}|${signs(now).join("")}|${watched(now)}|${w1}|${window}`, w1, grown(window, 2));
      drawSection(now, view, kit, w1);
    },
    stop: () => ask.stop(),
  });
}

/** @typedef {import("./canvas.js").Kit} Kit */
/** @typedef {import("./plane_view.js").PlaneView} PlaneView */

/** The row whose line is nearest to a pixel, −1 if none is near. @param {Scene} scene @param {PlaneView} view @param {Pair} at */
function nearest(scene, { plane }, at) {
  let [close, row] = [NEAR_PIXELS, -1];
  for (const [i, a, c, d] of scene.section?.lines ?? []) {
    const ends = cutLine(a, c, -d, plane.window);
    const far = ends ? distance(at, plane.pixel(...ends[0]), plane.pixel(...ends[1])) : Infinity;
    if (far < close) [close, row] = [far, i];
  }
  return row;
}

/** What the section is about: the optimum, or the weights where there is none. @param {Scene} now @returns {any} */
const focus = (now) => best(now) ?? now.weights;

/** The origin and the focus, with room around them. @param {Scene} now @returns {Window} */
function whole(now) {
  const w = focus(now);
  if (!w) return [-1, 1, -1, 1];
  const size = Math.hypot(w[0], w[1]) || Math.abs(w[2]) || 1;
  const axis = (/** @type {number} */ v, /** @type {number} */ least) => {
    const half = 1.05 * (Math.abs(v) > least * 0.3 ? Math.abs(v) : least);
    return [v / 2 - half, v / 2 + half];
  };
  return /** @type {Window} */ ([...axis(w[1], size), ...axis(w[2], size)]);
}

/** Whether the focus has left the view, or needs next to nothing of it. @param {Scene} now @param {PlaneView} view @param {boolean} changed */
function lost(now, { plane }, changed) {
  const [window, wanted, w] = [plane.target(), whole(now), focus(now)];
  if (w && !inside(window, [w[1], w[2]])) return true;
  return changed && wanted[3] - wanted[2] < 0.25 * (window[3] - window[2]) && wanted[1] - wanted[0] < 0.25 * (window[1] - window[0]);
}

/** All that is inside the axes. @param {Scene} now @param {PlaneView} view @param {Kit} kit @param {number} w1 */
function drawSection(now, { surface, plane }, kit, w1) {
  const { c, colours } = kit;
  const found = now.section;
  const allowed = found?.region?.length >= 3;
  if (allowed) {
    outline(c, found.region.map((/** @type {Pair} */ p) => plane.pixel(p[0], p[1])));
    c.fillStyle = faint(colours.cone, colours.dark ? 0.3 : 0.42);
    c.fill();
  }
  const stride = now.playing ? Math.ceil((found?.lines?.length ?? 1) / 160) : 1; // lines that move are fewer
  surface.layer("lines", `${identity(found)}|${plane.key}|${stride}`, (inner) => { plane.clip(inner); drawLines({ ...kit, c: inner }, { ...now, hover: -1, row: -1, selected: -1 }, (_, i) => i % stride === 0); });
  drawLines(kit, now, (row) => row === now.hover || row === now.row || row === now.selected);
  drawOrigin(kit);
  const optimum = found?.optimum ?? best(now);
  const same = optimum && now.weights && Math.hypot(...[0, 1].map((j) => plane.pixel(optimum[1], optimum[2])[j] - plane.pixel(now.weights[1], now.weights[2])[j])) < 12;
  drawMark(kit, now.weights, w1, colours.ink, same ? "" : "(w₂, b)", false);
  drawMark(kit, optimum, w1, colours.good, "widest margin", true);
  const { left, top, width, height } = surface.frame;
  label(c, `at w₁ = ${number(w1)}`, [left + 8, top + height - 14], colours.quiet, colours.card, "left");
  const lone = optimum && near(optimum, w1); // at its own w₁ the region may be the optimum alone
  if (found && !now.stale && found.w1 === w1 && !allowed && now.state.points.length && !lone) {
    label(c, "no weights are allowed here", [left + width / 2, top + height - 34], colours.quiet, colours.card);
  }
}

/** The lines of some rows; those that are lit stand out. @param {Kit} kit @param {Scene} now @param {(row: number, i: number) => boolean} wanted */
function drawLines({ c, plane, colours }, now, wanted) {
  const [all, points] = [now.section?.lines ?? [], now.state.points];
  const many = all.length > 60;
  for (const [i, [row, a, b, d]] of all.entries()) {
    const ends = points[row] && wanted(row, i) && cutLine(a, b, -d, plane.window);
    if (!ends) continue;
    const lit = row === now.hover || row === now.row || row === now.selected;
    c.strokeStyle = faint(colours.classes[points[row][2]], many && !lit ? Math.max(0.08, 20 / all.length) : 1);
    c.lineWidth = lit ? 3.6 : many ? 0.8 : 2;
    segment(c, plane.pixel(...ends[0]), plane.pixel(...ends[1]));
  }
}

/** Weights as a mark: solid in this section, hollow with their w₁ when elsewhere. @param {Kit} kit @param {number[] | null | undefined} w @param {number} w1 @param {string} colour @param {string} name @param {boolean} proven */
function drawMark({ c, plane, colours }, w, w1, colour, name, proven) {
  if (!w) return;
  const at = plane.pixel(w[1], w[2]);
  const here = near(w, w1);
  if (proven && here) star(c, at, colour, colours.card);
  else {
    dot(c, at, 6, here ? colour : colours.card, colours.card, 4);
    if (!here) ring(c, at, 5, colour, 1.8);
  }
  const text = here || !name ? name : `${name} at w₁ = ${number(w[0])}`;
  const right = at[0] > plane.frame.left + plane.frame.width * 0.6;
  label(c, text, [at[0] + (right ? -13 : 13), at[1] + (proven ? -13 : 15)], colour, colours.card, right ? "right" : "left", FONT, plane.frame);
}

/** The picture in words. @param {Scene} scene */
function describe(scene) {
  const found = scene.section;
  const said = [`Cross-section of weight space at w₁ = ${number(cutAt(scene))} with the axes w₂ and b.`];
  if (found) said.push(found.region?.length ? `${found.lines.length} lines bound the shaded region of allowed weights.` : "No weights are allowed in this section.");
  return said.join(" ");
}
