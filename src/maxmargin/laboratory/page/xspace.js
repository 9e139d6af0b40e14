// x-space: points, the boundary of the weights of this moment, and what a hand can do to the points.
import { faint } from "./colours.js";
import { around, corners, fingerprint, identity, inside } from "./geometry.js";
import { listen } from "./gestures.js";
import { card, FONT, label, radius, ring, shape } from "./marks.js";
import { createPlane, MARGINS } from "./plane.js";
import { classes, drawn, machineOf, words } from "./reading.js";
import { createSurface } from "./surface.js";
import { number, tuple } from "./text.js";
import { drawVerdict, drawWitness } from "./verdict.js";
import { drawBoundary, drawPoints, drawSides, drawSlab, drawSupport, drawUpdate, drawWrong, wrongRows } from "./xparts.js";

/** @typedef {import("./reading.js").Scene} Scene */
/** @typedef {import("./geometry.js").Window} Window */
/** @typedef {import("./geometry.js").Pair} Pair */
/**
 * @typedef {Object} PointActions
 * @property {(x: number, y: number, kind: number) => void} add
 * @property {(row: number, x: number, y: number, phase: "start" | "drag" | "end") => void} move
 * @property {(row: number) => void} remove @property {(row: number) => void} flip
 * @property {(row: number) => void} hover @property {(row: number) => void} select  −1: none
 * @property {() => void} [undo]  takes back the point that the first of two clicks has added
 * @property {(name: string, window: Window) => void} [looked]  a person has moved the window
 */

const NEAR = 12; // pixels

/** @param {HTMLCanvasElement} canvas @param {PointActions} actions */
export function createXSpace(canvas, actions) {
  const surface = createSurface(canvas, () => scene && paint(), MARGINS);
  const plane = createPlane(surface, [-5, 5, -5, 5]);
  let scene = /** @type {Scene | null} */ (null);
  let seen = -1; // fingerprint of the points that the window was checked for
  let held = /** @type {{row: number, by: Pair, started: boolean} | null} */ (null);
  let added = false; // whether the last tap added a point
  let pointer = /** @type {Pair | null} */ (null);

  /** The point nearest to a pixel, −1 if none is near. @param {Pair} at */
  function nearest(at) {
    let [best, row] = [NEAR * NEAR, -1];
    const points = scene ? scene.state.points : [];
    for (let i = points.length - 1; i >= 0; i--) {
      const [x, y] = plane.pixel(points[i][0], points[i][1]);
      const far = (x - at[0]) ** 2 + (y - at[1]) ** 2;
      if (far < best) [best, row] = [far, i];
    }
    return row;
  }

  /** @param {number} row */
  function hover(row) {
    if (scene && scene.hover !== row) actions.hover(row);
  }

  function cursor(/** @type {number} */ row, /** @type {boolean} */ panning) {
    const tool = scene?.tool ?? "point";
    canvas.style.cursor = panning ? "move" : held ? "grabbing" : row < 0 ? (tool === "point" ? "crosshair" : "default") : tool === "point" ? "grab" : "pointer";
  }

  const within = (/** @type {Pair} */ at) => {
    const f = surface.frame;
    return at[0] >= f.left && at[0] <= f.left + f.width && at[1] >= f.top && at[1] <= f.top + f.height;
  };

  const gestures = listen(canvas, {
    locate: surface.locate,
    grab(at) {
      const row = scene && scene.tool === "point" ? nearest(at) : -1;
      if (row < 0 || !scene) return false;
      const [x, y] = plane.pixel(scene.state.points[row][0], scene.state.points[row][1]);
      held = { row, by: [x - at[0], y - at[1]], started: false };
      cursor(row, false);
      return true;
    },
    drag(at) {
      if (!held || !scene?.state.points[held.row]) return;
      const f = surface.frame;
      const to = plane.rounded([
        Math.max(f.left, Math.min(f.left + f.width, at[0] + held.by[0])),
        Math.max(f.top, Math.min(f.top + f.height, at[1] + held.by[1])),
      ]);
      if (!held.started) {
        held.started = true;
        actions.select(held.row);
        actions.move(held.row, scene.state.points[held.row][0], scene.state.points[held.row][1], "start");
      }
      actions.move(held.row, to[0], to[1], "drag");
    },
    drop(at, moved) {
      const last = held;
      held = null;
      const p = last && scene?.state.points[last.row];
      if (last?.started && p) actions.move(last.row, p[0], p[1], "end");
      cursor(nearest(at), false);
      if (moved) surface.request();
    },
    tap(at) {
      added = false;
      if (!scene || !within(at)) return;
      const row = nearest(at);
      if (row >= 0) return scene.tool === "erase" ? actions.remove(row) : scene.tool === "flip" ? actions.flip(row) : actions.select(row);
      if (scene.tool !== "point") return actions.select(-1);
      const [x, y] = plane.rounded(at);
      added = true;
      actions.add(x, y, scene.brush);
    },
    twice(at, event) {
      const row = scene ? nearest(at) : -1;
      if (scene && added) { // the first of the two clicks was not meant to add a point
        added = false;
        if (actions.undo) actions.undo();
        else actions.remove(scene.state.points.length - 1);
      } else if (row >= 0) return this.tap?.(at, event);
      if (scene) fit(scene);
      tell();
    },
    second(at, event) {
      const row = nearest(at);
      if (row < 0) return;
      if (event.altKey) actions.remove(row);
      else actions.flip(row);
    },
    pan(dx, dy) { plane.pan(dx, dy); cursor(-1, true); tell(); },
    zoom(by, at) { plane.zoom(by, at); tell(); },
    hover(at, event) {
      pointer = at;
      const row = at ? nearest(at) : -1;
      hover(row);
      cursor(row, event.shiftKey);
    },
  });

  const tell = () => actions.looked?.("x", plane.target());

  /** All points in view; the origin too where it is near or all boundaries go through it. @param {Scene} now @returns {Window} */
  function whole(now) {
    const points = now.state.points;
    const bare = around(points, 0);
    if (!bare) return [-5, 5, -5, 5];
    const span = Math.max(bare[1] - bare[0], bare[3] - bare[2]);
    const alone = points.length === 1;
    const near = now.state.options?.intercept === false || inside([bare[0] - span * 0.3, bare[1] + span * 0.3, bare[2] - span * 0.3, bare[3] + span * 0.3], [0, 0]);
    return /** @type {Window} */ (around(near || alone ? [...points, [0, 0]] : points, 0.14));
  }

  /** Show everything. @param {Scene} now @param {boolean} [gently] */
  function fit(now, gently = !now.reduced) {
    seen = fingerprint(now.state.points);
    plane.set(whole(now), gently);
  }

  function paint() {
    const now = /** @type {Scene} */ (scene);
    if (!surface.begin()) return;
    const points = now.state.points;
    const print = fingerprint(points);
    if (seen === -1) plane.set(whole(now));
    else if (print !== seen && !plane.touched && !gestures.busy() && points.some((/** @type {number[]} */ p) => !inside(plane.target(), p))) fit(now);
    seen = print;
    plane.settle();
    const c = surface.context;
    const colours = surface.colours();
    const kit = { c, plane, colours };
    surface.layer("axes", plane.key, plane.axes);
    plane.clip(c);
    const box = corners(plane.window);
    const gliding = { ...now, weights: drawn(now) };
    if (now.layers?.regions !== false) drawSides(kit, gliding, box);
    drawSlab(kit, now, box);
    if (now.layers?.verdict) drawVerdict(kit, now);
    const free = held && held.started ? held.row : -1; // the point in hand moves: it is not in the kept layer
    const key = `${plane.key}|${fingerprint(points, free)}|${free}`;
    const others = (/** @type {number} */ i) => i !== free;
    const machine = machineOf(now);
    if (machine) {
      surface.layer("support", `${identity(machine)}|${now.weights}|${key}`, (inner) => { plane.clip(inner); drawSupport({ c: inner, plane, colours }, now, others); });
      if (free >= 0) drawSupport(kit, now, (i) => i === free);
    }
    surface.layer("points", key, (inner) => { plane.clip(inner); drawPoints({ c: inner, plane, colours }, now, others); });
    if (free >= 0) drawPoints(kit, now, (i) => i === free);
    drawWrong(kit, now, wrongRows(now));
    if (now.layers?.verdict) drawWitness(kit, now);
    drawBoundary(kit, gliding);
    if (!now.hand && now.row >= 0 && now.k > 0) drawUpdate(kit, now);
    const r = radius(points.length);
    if (points[now.selected]) ring(c, plane.pixel(points[now.selected][0], points[now.selected][1]), r + 5, colours.accent, 2);
    if (points[now.hover]) ring(c, plane.pixel(points[now.hover][0], points[now.hover][1]), r + 4, colours.ink, 2);
    c.restore();
    if (!points.length) invite();
    plane.names(c, now.state.names);
    legend(now);
    if (points[now.hover] && !held) card(c, words(now, now.hover, number), plane.pixel(points[now.hover][0], points[now.hover][1]), surface.frame, colours);
    surface.ring();
  }

  /** What to do with an empty board. */
  function invite() {
    const f = surface.frame;
    const colours = surface.colours();
    label(surface.context, "Click to add points of both classes", [f.left + f.width / 2, f.top + f.height * 0.42], colours.quiet, colours.card, "center", FONT.replace("12px", "15px"), f);
  }

  /** Shapes and names of the classes, top right. @param {Scene} now */
  function legend(now) {
    const c = surface.context;
    const colours = surface.colours();
    const right = surface.frame.left + surface.frame.width - 8;
    c.font = FONT;
    const names = now.state.labels.map((/** @type {string} */ n) => (n.length > 16 ? `${n.slice(0, 15)}…` : n));
    const wide = Math.max(...names.map((/** @type {string} */ n) => c.measureText(n).width));
    c.fillStyle = faint(colours.card, 0.7);
    c.fillRect(right - wide - 22, surface.frame.top + 4, wide + 28, 17 * names.length + 5);
    names.forEach((/** @type {string} */ name, /** @type {number} */ i) => {
      const y = surface.frame.top + 15 + 17 * i;
      label(c, name, [right - wide, y], colours.quiet, colours.card, "left");
      c.beginPath();
      shape(c, i, right - wide - 12, y, 4.5);
      c.fillStyle = colours.classes[i];
      c.fill();
    });
    if (!now.state.points.some((/** @type {number[]} */ p) => p[3])) return;
    label(c, "hollow: validation", [right, surface.frame.top + 15 + 17 * names.length], colours.quiet, colours.card, "right");
  }

  return {
    /** @param {Scene} now */
    draw(now) { scene = now; paint(); },
    destroy() { gestures.destroy(); surface.destroy(); },
    /** @returns {Window} */
    window: () => plane.target(),
    /** @param {Window} w */
    setWindow(w) { seen = seen === -1 ? 0 : seen; plane.set(w, false, true); },
    fit,
    /** The place of a pixel of the canvas. @param {number} px @param {number} py */
    at: (px, py) => plane.value([px, py]),
    /** The pixel of a place. @param {number} x @param {number} y */
    pixel: (x, y) => plane.pixel(x, y),
    pointer: () => pointer,
    describe,
  };
}

/** The picture in words, for those who do not see it. @param {Scene} scene */
export function describe(scene) {
  const { points, labels } = scene.state;
  if (!points.length) return "x-space: no points yet. Click to add points of both classes.";
  const held = points.filter((/** @type {number[]} */ p) => p[3]).length;
  const counts = labels.map((/** @type {string} */ name, /** @type {number} */ c) => `${points.filter((/** @type {number[]} */ p) => p[2] === c).length} of ${name}`).join(", ");
  const said = [`x-space with ${points.length} points: ${counts}${held ? `, ${held} of them for validation` : ""}.`];
  const w = scene.weights;
  if (w && (w[0] || w[1])) {
    const wrong = wrongRows(scene).length;
    said.push(`The boundary has w = ${tuple([w[0], w[1]])} and b = ${number(w[2])}; ${wrong === 0 ? "no point is" : wrong === 1 ? "one point is" : `${wrong} points are`} on the wrong side.`);
  }
  if (scene.selected >= 0 && points[scene.selected]) said.push(`Selected: ${words(scene, scene.selected, number).join(", ")}.`);
  if (classes(scene) === 2 && scene.answer?.verdict?.sentence) said.push(scene.answer.verdict.sentence);
  return said.join(" ");
}
