// w-space: weights are points, training points are lines. Click to set w by hand.
import { drawRisk } from "./contours.js";
import { around, fingerprint, grown, identity, inside } from "./geometry.js";
import { listen } from "./gestures.js";
import { card, segment } from "./marks.js";
import { createPlane, MARGINS } from "./plane.js";
import { drawn, NOTHING, signs, watched, words } from "./reading.js";
import { createSurface } from "./surface.js";
import { number, tuple } from "./text.js";
import { latest } from "./throttle.js";
import { captionCone, counts, drawCone, drawLines, drawPath, drawWeights, lightLine, MANY, pathOf } from "./wparts.js";

/** @typedef {import("./reading.js").Scene} Scene */
/** @typedef {import("./geometry.js").Window} Window */
/** @typedef {import("./geometry.js").Pair} Pair */
/**
 * @typedef {Object} WeightActions
 * @property {(weights: number[], phase?: "start" | "drag" | "end") => void} setWeights
 * @property {(row: number) => void} hover
 * @property {(window: Window, b: number) => void} askCone @property {(window: Window, b: number) => void} askRisk
 * @property {(name: string, window: Window) => void} [looked]  a person has moved the window
 */

const NEAR = 7; // pixels
const STEP = 8; // pixels that an arrow key moves w

/** @param {HTMLCanvasElement} canvas @param {WeightActions} actions */
export function createWSpace(canvas, actions) {
  const surface = createSurface(canvas, () => scene && paint(), MARGINS);
  const plane = createPlane(surface, [-1, 1, -1, 1]);
  const askCone = latest((/** @type {Window} */ w, /** @type {number} */ b) => actions.askCone(w, b), 60);
  const askRisk = latest((/** @type {Window} */ w, /** @type {number} */ b) => actions.askRisk(w, b), 120);
  let scene = /** @type {Scene | null} */ (null);
  let fitted = /** @type {any} */ (undefined); // the answer that the window was checked for
  let pointer = /** @type {Pair | null} */ (null);

  const bias = (/** @type {Scene} */ now) => now.weights?.[2] ?? 0;

  /** The row whose line is nearest to a pixel, −1 if none is near. @param {Pair} at */
  function nearest(at) {
    if (!scene) return -1;
    const [points, sign, b, w] = [scene.state.points, signs(scene), bias(scene), plane.value(at)];
    const [ux, uy] = [(plane.window[1] - plane.window[0]) / surface.frame.width, (plane.window[3] - plane.window[2]) / surface.frame.height];
    let [best, row] = [NEAR, -1];
    for (let i = 0; i < points.length; i++) {
      if (!counts(points[i], sign)) continue;
      const [x, y] = points[i];
      const far = Math.abs(w[0] * x + w[1] * y + b) / Math.hypot(x * ux, y * uy);
      if (far < best) [best, row] = [far, i];
    }
    return row;
  }

  /** @param {Pair} at @param {"start" | "drag" | "end"} phase */
  function place(at, phase) {
    if (!scene) return;
    const f = surface.frame;
    const kept = /** @type {Pair} */ ([Math.max(f.left, Math.min(f.left + f.width, at[0])), Math.max(f.top, Math.min(f.top + f.height, at[1]))]);
    actions.setWeights([...plane.rounded(kept), bias(scene)], phase);
  }

  const tell = () => actions.looked?.("w", plane.target());
  let started = false;
  const gestures = listen(canvas, {
    locate: surface.locate,
    grab: () => { started = false; return true; },
    drag(at) {
      place(at, started ? "drag" : "start");
      started = true;
      canvas.style.cursor = "grabbing";
    },
    drop(at, moved) { if (moved && started) place(at, "end"); canvas.style.cursor = "crosshair"; },
    tap(at) { place(at, "end"); },
    twice() { if (scene) fit(scene); tell(); },
    pan(dx, dy) { plane.pan(dx, dy); tell(); },
    zoom(by, at) { plane.zoom(by, at); tell(); },
    arrow(dx, dy) {
      const w = scene?.weights;
      if (!w) return;
      const [x, y] = plane.pixel(w[0], w[1]);
      place([x + dx * STEP, y - dy * STEP], "end");
    },
    hover(at, event) {
      pointer = at;
      const row = at ? nearest(at) : -1;
      if (scene && scene.hover !== row) actions.hover(row);
      canvas.style.cursor = event.shiftKey ? "move" : "crosshair";
    },
  });

  /** What must be seen: the origin, the path, the weights. @param {Scene} now @returns {number[][]} */
  const marks = (now) => [[0, 0], ...pathOf(now).steps, ...(now.weights ? [now.weights] : [])];

  /** @param {Scene} now @returns {Window} */
  function whole(now) {
    const points = marks(now);
    const most = Math.max(...points.map((p) => Math.max(Math.abs(p[0]), Math.abs(p[1]))));
    if (!(most > 0)) {
      const reach = !now.state.points.length ? 1 : Math.max(1e-6, ...now.state.points.map((/** @type {number[]} */ p) => Math.max(Math.abs(p[0]), Math.abs(p[1])))) || 1;
      return [-reach, reach, -reach, reach];
    }
    const found = /** @type {Window} */ (around(points, 0.22));
    const half = Math.max(found[1] - found[0], found[3] - found[2]) / 2; // square: a cone needs room to the sides
    const [mx, my] = [(found[0] + found[1]) / 2, (found[2] + found[3]) / 2];
    return [mx - half, mx + half, my - half, my + half];
  }

  /** Show the path and the weights. @param {Scene} now @param {boolean} [gently] */
  function fit(now, gently = !now.reduced) {
    fitted = now.answer;
    plane.set(whole(now), gently);
  }

  /** Fit by itself only when w or its path has left the view, or fills next to nothing of it. @param {Scene} now */
  function keep(now) {
    if (fitted === undefined) { plane.set(whole(now)); fitted = now.answer; return; }
    if (plane.touched || gestures.busy()) return;
    const window = plane.target();
    const lost = now.weights && !inside(window, now.weights);
    if (now.answer === fitted && !lost) return;
    fitted = now.answer;
    const wanted = whole(now);
    if (lost || wanted[1] - wanted[0] < 0.22 * Math.min(window[1] - window[0], window[3] - window[2])) fit(now);
    else if (pathOf(now).steps.some((step) => !inside(window, step))) fit(now);
  }

  function paint() {
    const now = /** @type {Scene} */ (scene);
    if (!surface.begin()) return;
    keep(now);
    plane.settle();
    const [c, colours, b, sign] = [surface.context, surface.colours(), bias(now), signs(now)];
    const kit = { c, plane, colours };
    const points = now.state.points;
    const data = `${fingerprint(points)}|${sign.join("")}|${watched(now)}`;
    const window = plane.target();
    if (points.length) {
      askCone(`${data}|${b}|${window}`, grown(window, 2.5), b);
      if (now.layers?.risk) askRisk(`${data}|${b}|${window}`, grown(window, 1.15), b);
    }
    surface.layer("axes", plane.key, plane.axes);
    plane.clip(c);
    if (now.layers?.risk && now.risk) {
      surface.layer("risk", `${identity(now.risk)}|${plane.key}`, (inner) => { plane.clip(inner); drawRisk(inner, now.risk, plane, colours); });
    }
    drawCone(kit, now, b);
    const busy = points.length > MANY && (/** @type {any} */ (now).playing || gestures.busy()) && now.state.options?.intercept !== false;
    const stride = busy ? Math.ceil(points.length / 160) : 1; // lines that move are fewer
    surface.layer("lines", `${data}|${b}|${plane.key}|${stride}`, (inner) => { plane.clip(inner); drawLines({ c: inner, plane, colours }, now, b, stride); });
    c.strokeStyle = colours.ink; // the origin
    c.lineWidth = 1.6;
    const [ox, oy] = plane.pixel(0, 0);
    segment(c, [ox - 6, oy], [ox + 6, oy]);
    segment(c, [ox, oy - 6], [ox, oy + 6]);
    if (now.row >= 0 && now.row !== now.hover) lightLine(kit, now, now.row, b, 2.6);
    if (now.hover >= 0) lightLine(kit, now, now.hover, b, 3.6);
    if (now.selected >= 0 && now.selected !== now.hover) lightLine(kit, now, now.selected, b, 3);
    drawPath(kit, now, surface);
    if (now.weights) drawWeights(kit, now, drawn(now) ?? NOTHING);
    captionCone(kit, now, b, surface.frame);
    c.restore();
    plane.names(c, ["w₁", "w₂"]);
    if (now.hover >= 0 && points[now.hover] && pointer && !gestures.busy()) card(c, words(now, now.hover, number), pointer, surface.frame, colours);
    surface.ring();
  }

  return {
    /** @param {Scene} now */
    draw(now) { scene = now; paint(); },
    destroy() { askCone.stop(); askRisk.stop(); gestures.destroy(); surface.destroy(); },
    /** @returns {Window} */
    window: () => plane.target(),
    /** @param {Window} w */
    setWindow(w) { if (fitted === undefined) fitted = null; plane.set(w, false, true); },
    fit,
    /** @param {number} px @param {number} py */
    at: (px, py) => plane.value([px, py]),
    /** @param {number} x @param {number} y */
    pixel: (x, y) => plane.pixel(x, y),
    describe,
  };
}

/** The picture in words. @param {Scene} scene */
export function describe(scene) {
  const sign = signs(scene);
  const lines = scene.state.points.filter((/** @type {number[]} */ p) => counts(p, sign)).length;
  const w = scene.weights;
  const said = [`w-space with a line for each of ${lines} training points.`];
  if (w) said.push(`The weights are w = ${tuple([w[0], w[1]])}, b = ${number(w[2])}${scene.hand ? ", set by hand" : scene.K ? `, after ${scene.k} of ${scene.K} updates` : ""}.`);
  if (scene.cone && w && scene.cone.b === w[2]) said.push(scene.cone.polygon?.length ? "The weights that have all points right are shaded." : "At this b no w has all points right.");
  return said.join(" ");
}
