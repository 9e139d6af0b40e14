// x-space: points, the boundary of the weights of this moment, and what a hand can do to the points.
import { drawLine } from "./canvas.js";
import { around, corners, cutLine, cutPolygon, fingerprint, identity, inside } from "./geometry.js";
import { arrow, faint, FONT, label, outline, radius, ring, segment, shape } from "./marks.js";
import { createPlaneView } from "./plane_view.js";
import { predictor, regions } from "./regions.js";
import { classes, drawn, machineOf, signs, value, words } from "./scene.js";
import { number, tuple } from "./text.js";
import { drawVerdict, drawWitness } from "./verdict.js";

/** @typedef {import("./geometry.js").Pair} Pair */
/** @typedef {import("./canvas.js").Plane} Plane */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./geometry.js").Window} Window */

/**
 * @typedef {Object} PointActions
 * @property {(x: number, y: number, kind: number) => void} add
 * @property {(row: number, x: number, y: number, phase: "start" | "drag" | "end") => void} move
 * @property {(row: number) => void} remove @property {(row: number) => void} flip
 * @property {(row: number) => void} hover @property {(row: number) => void} select  −1: none
 * @property {() => void} [undo]  takes back the point that the first of two clicks has added
 * @property {(name: string, window: Window) => void} [looked]  a person has moved the window
 */

const NEAR_PIXELS = 12; // from a point, that is still at it

/** @param {HTMLCanvasElement} canvas @param {PointActions} actions */
export function createXSpace(canvas, actions) {
  let held = /** @type {Held | null} */ (null);
  let view = /** @type {PlaneView | null} */ (null);
  /** @param {number} row @param {boolean} panning */
  function cursor(row, panning) {
    const tool = view?.scene?.tool ?? "point";
    return panning ? "move" : held ? "grabbing" : row < 0 ? (tool === "point" ? "crosshair" : "default") : tool === "point" ? "grab" : "pointer";
  }
  return createPlaneView(canvas, actions, {
    name: "x", whole, nearest, cursor, describe,
    axes: (scene) => scene.state.names,
    subject: (scene) => fingerprint(scene.state.points),
    lost: (scene, { plane }, changed) => changed && scene.state.points.some((/** @type {number[]} */ p) => !inside(plane.target(), p, 0.002)), // rounding may take a point over the rim
    draw: (scene, view, kit) => drawXSpace(scene, view, kit, held && held.started ? held.row : -1),
    drawOver(scene, { surface }, kit) {
      if (!scene.state.points.length) drawInvitation(kit, surface.frame);
      drawLegend(kit, scene, surface.frame);
    },
    cardAt: (scene, { plane }) => (held ? null : plane.pixel(scene.state.points[scene.hover][0], scene.state.points[scene.hover][1])),
    gestures(made) {
      view = made;
      const hold = (/** @type {Held | null} */ next, /** @type {number} */ row) => { held = next; canvas.style.cursor = cursor(row, false); };
      return { ...dragGestures(made, actions, () => held, hold), ...clickGestures(made, actions) };
    },
  });
}

/** @typedef {import("./plane_view.js").PlaneView} PlaneView */
/** @typedef {{row: number, by: Pair, started: boolean}} Held  the point in hand, and where it was taken hold of */

/** The point nearest to a pixel, −1 if none is near. @param {Scene} scene @param {PlaneView} view @param {Pair} at */
function nearest(scene, { plane }, at) {
  let [best, row] = [NEAR_PIXELS * NEAR_PIXELS, -1];
  const { points } = scene.state;
  for (let i = points.length - 1; i >= 0; i--) {
    const [x, y] = plane.pixel(points[i][0], points[i][1]);
    const far = (x - at[0]) ** 2 + (y - at[1]) ** 2;
    if (far < best) [best, row] = [far, i];
  }
  return row;
}

/** All points in view; the origin too where it is near or all boundaries go through it. @param {Scene} scene @returns {Window} */
function whole({ state }) {
  const { points } = state;
  const bare = around(points, 0);
  if (!bare) return [-5, 5, -5, 5];
  const span = Math.max(bare[1] - bare[0], bare[3] - bare[2]);
  const near = state.options?.intercept === false || inside([bare[0] - span * 0.3, bare[1] + span * 0.3, bare[2] - span * 0.3, bare[3] + span * 0.3], [0, 0]);
  return /** @type {Window} */ (around(near || points.length === 1 ? [...points, [0, 0]] : points, 0.14));
}

/**
 * Points are taken in hand and moved.
 * @param {PlaneView} view @param {PointActions} actions @param {() => Held | null} held
 * @param {(next: Held | null, row: number) => void} hold  take a point in hand, or none; row: the one under the pointer
 */
function dragGestures(view, actions, held, hold) {
  const { plane, surface } = view;
  return {
    grab(/** @type {Pair} */ at) {
      const { scene } = view;
      const row = scene && scene.tool === "point" ? nearest(scene, view, at) : -1;
      if (row < 0 || !scene) return false;
      const [x, y] = plane.pixel(scene.state.points[row][0], scene.state.points[row][1]);
      hold({ row, by: [x - at[0], y - at[1]], started: false }, row);
      return true;
    },
    drag(/** @type {Pair} */ at) {
      const now = held();
      const point = now && view.scene?.state.points[now.row];
      if (!now || !point) return;
      if (!now.started) {
        now.started = true;
        actions.select(now.row);
        actions.move(now.row, point[0], point[1], "start");
      }
      const [x, y] = plane.rounded(plane.clamped([at[0] + now.by[0], at[1] + now.by[1]]));
      actions.move(now.row, x, y, "drag");
    },
    drop(/** @type {Pair} */ at, /** @type {boolean} */ moved) {
      const last = held();
      const point = last && view.scene?.state.points[last.row];
      hold(null, view.scene ? nearest(view.scene, view, at) : -1);
      if (last?.started && point) actions.move(last.row, point[0], point[1], "end");
      if (moved) surface.request();
    },
  };
}

/** Points are added, removed, flipped and selected. @param {PlaneView} view @param {PointActions} actions */
function clickGestures(view, actions) {
  let added = false; // whether the last tap added a point
  const within = (/** @type {Pair} */ at) => view.plane.clamped(at).every((v, j) => v === at[j]);
  return {
    tap(/** @type {Pair} */ at) {
      const { scene } = view;
      added = false;
      if (!scene || !within(at)) return;
      const row = nearest(scene, view, at);
      if (row >= 0) return scene.tool === "erase" ? actions.remove(row) : scene.tool === "flip" ? actions.flip(row) : actions.select(row);
      if (scene.tool !== "point") return actions.select(-1);
      const [x, y] = view.plane.rounded(at);
      added = true;
      actions.add(x, y, scene.brush);
    },
    twice(/** @type {Pair} */ at) {
      const { scene } = view;
      if (!scene) return undefined;
      const row = nearest(scene, view, at);
      if (added) { // the first of the two clicks was not meant to add a point
        added = false;
        if (actions.undo) actions.undo();
        else actions.remove(scene.state.points.length - 1);
      } else if (row >= 0) return this.tap(at);
      view.fit(scene);
      view.tell();
      return undefined;
    },
    second(/** @type {Pair} */ at, /** @type {PointerEvent} */ event) {
      const row = view.scene ? nearest(view.scene, view, at) : -1;
      if (row < 0) return;
      if (event.altKey) actions.remove(row);
      else actions.flip(row);
    },
  };
}

/** All that is inside the axes. @param {Scene} now @param {PlaneView} view @param {Kit} kit @param {number} free  the point in hand, −1 if there is none */
function drawXSpace(now, { surface, plane }, kit, free) {
  const { c, colours } = kit;
  const { points } = now.state;
  const box = corners(plane.window);
  const gliding = { ...now, weights: drawn(now) };
  if (now.layers?.regions !== false) drawSides(kit, gliding, box);
  drawSlab(kit, now, box);
  if (now.layers?.verdict) drawVerdict(kit, now);
  const key = `${plane.key}|${fingerprint(points, free)}|${free}`; // the point in hand moves: it is not in the kept layers
  const others = (/** @type {number} */ i) => i !== free;
  const machine = machineOf(now);
  if (machine) {
    surface.layer("support", `${identity(machine)}|${now.weights}|${key}`, (inner) => { plane.clip(inner); drawSupport({ ...kit, c: inner }, now, others); });
    if (free >= 0) drawSupport(kit, now, (i) => i === free);
  }
  surface.layer("points", key, (inner) => { plane.clip(inner); drawPoints({ ...kit, c: inner }, now, others); });
  if (free >= 0) drawPoints(kit, now, (i) => i === free);
  drawWrong(kit, now, wrongRows(now));
  if (now.layers?.verdict) drawWitness(kit, now);
  drawBoundary(kit, gliding);
  if (!now.hand && now.row >= 0 && now.k > 0) drawUpdate(kit, now);
  const r = radius(points.length);
  if (points[now.selected]) ring(c, plane.pixel(points[now.selected][0], points[now.selected][1]), r + 5, colours.accent, 2);
  if (points[now.hover]) ring(c, plane.pixel(points[now.hover][0], points[now.hover][1]), r + 4, colours.ink, 2);
}

/** What to do with an empty board. @param {Kit} kit @param {import("./marks.js").Box} frame */
function drawInvitation({ c, colours }, frame) {
  label(c, "Click to add points of both classes", [frame.left + frame.width / 2, frame.top + frame.height * 0.42], colours.quiet, colours.card, "center", FONT.replace("12px", "15px"), frame);
}

/** Shapes and names of the classes, top right. @param {Kit} kit @param {Scene} scene @param {import("./marks.js").Box} frame */
function drawLegend({ c, colours }, { state }, frame) {
  const right = frame.left + frame.width - 8;
  c.font = FONT;
  const names = state.labels.map((/** @type {string} */ n) => (n.length > 16 ? `${n.slice(0, 15)}…` : n));
  const wide = Math.max(...names.map((/** @type {string} */ n) => c.measureText(n).width));
  c.fillStyle = faint(colours.card, 0.7);
  c.fillRect(right - wide - 22, frame.top + 4, wide + 28, 17 * names.length + 5);
  names.forEach((/** @type {string} */ name, /** @type {number} */ i) => {
    const y = frame.top + 15 + 17 * i;
    label(c, name, [right - wide, y], colours.quiet, colours.card, "left");
    c.beginPath();
    shape(c, i, right - wide - 12, y, 4.5);
    c.fillStyle = colours.classes[i];
    c.fill();
  });
  if (state.points.some((/** @type {number[]} */ p) => p[3])) label(c, "hollow: validation", [right, frame.top + 15 + 17 * names.length], colours.quiet, colours.card, "right");
}

/** The picture in words, for those who do not see it. @param {Scene} scene */
function describe(scene) {
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

/** @typedef {import("./canvas.js").Kit} Kit */

/** Points by class: training filled, validation hollow. @param {Kit} kit @param {Scene} scene @param {(row: number) => boolean} wanted */
function drawPoints({ c, plane, colours }, scene, wanted) {
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
function drawSides({ c, plane, colours }, scene, box) {
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
function drawBoundary(kit, scene) {
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
function drawSlab(kit, scene, box) {
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
function drawSupport({ c, plane, colours }, scene, wanted) {
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
function wrongRows(scene) {
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
function drawWrong({ c, plane, colours }, scene, rows) {
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
function drawUpdate({ c, plane, colours }, scene) {
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
