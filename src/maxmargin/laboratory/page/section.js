// The cross-section of weight space at a given w₁: planes become lines in (w₂, b), the allowed region a polygon.
import { createPlane, createSurface, MARGINS } from "./canvas.js";
import { cutLine, distance, fingerprint, grown, identity, inside } from "./geometry.js";
import { listen } from "./input.js";
import { latest } from "./link.js";
import { card, faint, FONT, label, outline, ring, segment, star } from "./marks.js";
import { signs, watched, words } from "./scene.js";
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
  const surface = createSurface(canvas, () => scene && paint(), MARGINS);
  const plane = createPlane(surface, [-1, 1, -1, 1], false);
  const ask = latest((/** @type {number} */ w1, /** @type {Window} */ w) => actions.askSection(w1, w), 50);
  let scene = /** @type {Scene | null} */ (null);
  let fitted = /** @type {any} */ (undefined);
  let pointer = /** @type {Pair | null} */ (null);
  let started = false;

  /** @param {Pair} at */
  function nearest(at) {
    let [close, row] = [7, -1];
    for (const [i, a, c, d] of scene?.section?.lines ?? []) {
      const ends = cutLine(a, c, -d, plane.window);
      const far = ends ? distance(at, plane.pixel(...ends[0]), plane.pixel(...ends[1])) : Infinity;
      if (far < close) [close, row] = [far, i];
    }
    return row;
  }

  const place = (/** @type {Pair} */ at, /** @type {"start" | "drag" | "end"} */ phase) => {
    if (scene) actions.setWeights([cutAt(scene), ...plane.rounded(at)], phase);
  };
  const tell = () => actions.looked?.("section", plane.target());
  const gestures = listen(canvas, {
    locate: surface.locate,
    grab: () => { started = false; return true; },
    drag(at) { place(at, started ? "drag" : "start"); started = true; },
    drop(at, moved) { if (moved && started) place(at, "end"); },
    tap(at) { place(at, "end"); },
    twice() { if (scene) fit(scene); },
    pan(dx, dy) { plane.pan(dx, dy); tell(); },
    zoom(by, at) { plane.zoom(by, at); tell(); },
    arrow(dx, dy) {
      const w = scene?.weights;
      if (!w) return;
      const [x, y] = plane.pixel(w[1], w[2]);
      place([x + dx * 8, y - dy * 8], "end");
    },
    hover(at, event) {
      pointer = at;
      const row = at ? nearest(at) : -1;
      if (scene && scene.hover !== row) actions.hover(row);
      canvas.style.cursor = event.shiftKey ? "move" : "crosshair";
    },
  });

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

  /** @param {Scene} now @param {boolean} [gently] */
  function fit(now, gently = !now.reduced) {
    fitted = now.answer;
    plane.set(whole(now), gently);
  }

  /** @param {Scene} now */
  function keep(now) {
    if (fitted === undefined) { plane.set(whole(now)); fitted = now.answer; return; }
    if (plane.touched || gestures.busy()) return;
    const [window, wanted] = [plane.target(), whole(now)];
    const w = focus(now);
    const lost = w && !inside(window, [w[1], w[2]]);
    if (lost || (now.answer !== fitted && wanted[3] - wanted[2] < 0.25 * (window[3] - window[2]) && wanted[1] - wanted[0] < 0.25 * (window[1] - window[0]))) fit(now);
    fitted = now.answer;
  }

  function paint() {
    const now = /** @type {Scene} */ (scene);
    if (!surface.begin()) return;
    keep(now);
    plane.settle();
    const [c, colours, w1] = [surface.context, surface.colours(), cutAt(now)];
    const window = plane.target();
    const points = now.state.points;
    if (points.length) ask(`${fingerprint(points)}|${signs(now).join("")}|${watched(now)}|${w1}|${window}`, w1, grown(window, 2));
    surface.layer("axes", plane.key, plane.axes);
    plane.clip(c);
    const found = now.section;
    if (found?.region?.length >= 3) {
      outline(c, found.region.map((/** @type {Pair} */ p) => plane.pixel(p[0], p[1])));
      c.fillStyle = faint(colours.cone, colours.dark ? 0.3 : 0.42);
      c.fill();
    }
    const stride = now.playing ? Math.ceil((found?.lines?.length ?? 1) / 160) : 1; // lines that move are fewer
    surface.layer("lines", `${identity(found)}|${plane.key}|${stride}`, (inner) => { plane.clip(inner); lines({ ...now, hover: -1, row: -1, selected: -1 }, inner, (_, i) => i % stride === 0); });
    lines(now, c, (row) => row === now.hover || row === now.row || row === now.selected);
    c.strokeStyle = colours.ink; // the origin
    c.lineWidth = 1.6;
    const [ox, oy] = plane.pixel(0, 0);
    segment(c, [ox - 6, oy], [ox + 6, oy]);
    segment(c, [ox, oy - 6], [ox, oy + 6]);
    const optimum = found?.optimum ?? best(now);
    const same = optimum && now.weights && Math.hypot(...[0, 1].map((j) => plane.pixel(optimum[1], optimum[2])[j] - plane.pixel(now.weights[1], now.weights[2])[j])) < 12;
    mark(now.weights, w1, colours.ink, same ? "" : "(w₂, b)", false);
    mark(optimum, w1, colours.good, "widest margin", true);
    const { left, top, width, height } = surface.frame;
    label(c, `at w₁ = ${number(w1)}`, [left + 8, top + height - 14], colours.quiet, colours.card, "left");
    const lone = optimum && near(optimum, w1); // at its own w₁ the region may be the optimum alone
    if (found && !now.stale && found.w1 === w1 && !(found.region?.length >= 3) && points.length && !lone) {
      label(c, "no weights are allowed here", [left + width / 2, top + height - 34], colours.quiet, colours.card);
    }
    c.restore();
    plane.names(c, ["w₂", "b"]);
    if (pointer && now.hover >= 0 && points[now.hover] && !gestures.busy()) card(c, words(now, now.hover, number), pointer, surface.frame, colours);
    surface.ring();
  }

  /** The lines of some rows; those that are lit stand out. @param {Scene} now @param {CanvasRenderingContext2D} c @param {(row: number, i: number) => boolean} wanted */
  function lines(now, c, wanted) {
    const [all, points, colours] = [now.section?.lines ?? [], now.state.points, surface.colours()];
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

  /** Weights as a mark: solid in this section, hollow with their w₁ when elsewhere. @param {number[] | null | undefined} w @param {number} w1 @param {string} colour @param {string} name @param {boolean} proven */
  function mark(w, w1, colour, name, proven) {
    if (!w) return;
    const [c, colours] = [surface.context, surface.colours()];
    const at = plane.pixel(w[1], w[2]);
    const here = near(w, w1);
    if (proven && here) star(c, at, colour, colours.card);
    else {
      c.beginPath();
      c.arc(at[0], at[1], 6, 0, 2 * Math.PI);
      c.strokeStyle = colours.card;
      c.lineWidth = 4;
      c.stroke();
      c.fillStyle = here ? colour : colours.card;
      c.fill();
      if (!here) ring(c, at, 5, colour, 1.8);
    }
    const text = here || !name ? name : `${name} at w₁ = ${number(w[0])}`;
    const right = at[0] > surface.frame.left + surface.frame.width * 0.6;
    label(c, text, [at[0] + (right ? -13 : 13), at[1] + (proven ? -13 : 15)], colour, colours.card, right ? "right" : "left", FONT, surface.frame);
  }

  return {
    /** @param {Scene} now */
    draw(now) { scene = now; paint(); },
    destroy() { ask.stop(); gestures.destroy(); surface.destroy(); },
    /** @returns {Window} */
    window: () => plane.target(),
    /** @param {Window} w */
    setWindow(w) { fitted ??= null; plane.set(w, false, true); },
    fit,
    /** @param {number} px @param {number} py */
    at: (px, py) => plane.value([px, py]),
    describe,
  };
}

/** The picture in words. @param {Scene} scene */
export function describe(scene) {
  const found = scene.section;
  const said = [`Cross-section of weight space at w₁ = ${number(cutAt(scene))} with the axes w₂ and b.`];
  if (found) said.push(found.region?.length ? `${found.lines.length} lines bound the shaded region of allowed weights.` : "No weights are allowed in this section.");
  return said.join(" ");
}
