// A view of a plane on a canvas: what x-space, w-space and its section share. Each of them says what is drawn in it.
import { createSurface, drawAxes, drawAxisNames, MARGINS, Plane } from "./canvas.js";
import { listen } from "./input.js";
import { card } from "./marks.js";
import { words } from "./scene.js";
import { number } from "./text.js";

/** @typedef {import("./canvas.js").Kit} Kit */
/** @typedef {import("./geometry.js").Pair} Pair */
/** @typedef {import("./geometry.js").Window} Window */
/** @typedef {import("./scene.js").Scene} Scene */

/**
 * @typedef {Object} Picture  what a view shows
 * @property {string} name  of the view, "x", "w" or "section"
 * @property {(scene: Scene) => string[]} axes  their names
 * @property {boolean} [alike]  whether both axes have equal units; usually they have
 * @property {(scene: Scene) => Window} whole  the window in which everything is seen
 * @property {(scene: Scene) => any} subject  what the window is chosen for: points, or an answer
 * @property {(scene: Scene, view: PlaneView, changed: boolean) => boolean} lost  whether the window is to be chosen anew; changed: it is another subject
 * @property {(scene: Scene, view: PlaneView, kit: Kit) => void} draw  all that is inside the axes
 * @property {(scene: Scene, view: PlaneView, kit: Kit) => void} [drawOver]  what lies over the names of the axes
 * @property {(scene: Scene, view: PlaneView, at: Pair) => number} nearest  the row that is near a pixel, −1 if none is
 * @property {(view: PlaneView) => Object<string, any>} gestures  what a hand does, beside moving the window
 * @property {(scene: Scene, view: PlaneView) => Pair | null} [cardAt]  where the words on the row under the pointer stand; usually at the pointer
 * @property {(row: number, panning: boolean) => string} [cursor]
 * @property {(scene: Scene) => string} describe  the picture in words, for those who do not see it
 * @property {() => void} [stop]  at the end
 */

const ARROW_STEP = 8; // pixels that an arrow key moves weights

/** @param {HTMLCanvasElement} canvas @param {any} actions  hover, and looked when a person has moved the window @param {Picture} picture */
export function createPlaneView(canvas, actions, picture) {
  const surface = createSurface(canvas, () => view.scene && paint(view.scene), MARGINS);
  const plane = new Plane(surface, [-1, 1, -1, 1], picture.alike);
  const view = { canvas, surface, plane, fit, tell, scene: /** @type {Scene | null} */ (null), pointer: /** @type {Pair | null} */ (null), busy: () => gestures.busy() };
  let chosenFor = /** @type {any} */ (undefined); // the subject that the window was last checked for

  const own = picture.gestures(view);
  const gestures = listen(canvas, {
    locate: surface.locate,
    twice() { if (view.scene) fit(view.scene); tell(); },
    pan(dx, dy) { plane.pan(dx, dy); canvas.style.cursor = "move"; tell(); },
    zoom(by, at) { plane.zoom(by, at); tell(); },
    hover(at, event) {
      view.pointer = at;
      const row = at && view.scene ? picture.nearest(view.scene, view, at) : -1;
      if (view.scene && view.scene.hover !== row) actions.hover(row);
      canvas.style.cursor = picture.cursor ? picture.cursor(row, event.shiftKey) : event.shiftKey ? "move" : "crosshair";
    },
    ...own,
  });

  function tell() { actions.looked?.(picture.name, plane.target()); }

  /** Show everything. @param {Scene} now @param {boolean} [gently] */
  function fit(now, gently = !now.reduced) {
    chosenFor = picture.subject(now);
    plane.set(picture.whole(now), gently);
  }

  /** Choose the window by itself, unless a person has, or is at it. @param {Scene} now */
  function choose(now) {
    const subject = picture.subject(now);
    if (chosenFor === undefined) fit(now, false);
    else if (!plane.touched && !view.busy() && picture.lost(now, view, subject !== chosenFor)) fit(now);
    if (!plane.touched && !view.busy()) chosenFor = subject;
  }

  /** @param {Scene} now */
  function paint(now) {
    if (!surface.begin()) return;
    choose(now);
    plane.settle();
    const kit = { c: surface.context, plane, colours: surface.colours() };
    surface.layer("axes", plane.key, (inner) => drawAxes({ ...kit, c: inner }));
    plane.clip(kit.c);
    picture.draw(now, view, kit);
    kit.c.restore();
    drawAxisNames(kit, picture.axes(now));
    picture.drawOver?.(now, view, kit);
    const at = now.state.points[now.hover] && (picture.cardAt ? picture.cardAt(now, view) : view.busy() ? null : view.pointer);
    if (at) card(kit.c, words(now, now.hover, number), at, surface.frame, kit.colours);
    surface.ring();
  }

  return {
    /** @param {Scene} now */
    draw(now) { view.scene = now; paint(now); },
    destroy() { picture.stop?.(); gestures.destroy(); surface.destroy(); },
    /** @returns {Window} */
    window: () => plane.target(),
    /** @param {Window} w */
    setWindow(w) { chosenFor ??= null; plane.set(w, false, true); },
    fit,
    /** The place of a pixel of the canvas. @param {number} px @param {number} py */
    at: (px, py) => plane.value([px, py]),
    /** The pixel of a place. @param {number} x @param {number} y */
    pixel: (x, y) => plane.pixel(x, y),
    pointer: () => view.pointer,
    describe: picture.describe,
  };
}

/** @typedef {{canvas: HTMLCanvasElement, surface: import("./canvas.js").Surface, plane: import("./canvas.js").Plane, scene: Scene | null, pointer: Pair | null, busy: () => boolean, fit: (now: Scene, gently?: boolean) => void, tell: () => void}} PlaneView */

/**
 * Gestures that set the weights by hand.
 * @param {PlaneView} view @param {(at: Pair, phase: "start" | "drag" | "end") => void} place @param {(weights: number[]) => Pair} shown  the coordinates that are seen
 */
export function weightGestures(view, place, shown) {
  let started = false;
  return {
    grab: () => { started = false; return true; },
    drag(/** @type {Pair} */ at) {
      place(at, started ? "drag" : "start");
      started = true;
      view.canvas.style.cursor = "grabbing";
    },
    drop(/** @type {Pair} */ at, /** @type {boolean} */ moved) {
      if (moved && started) place(at, "end");
      view.canvas.style.cursor = "crosshair";
    },
    tap(/** @type {Pair} */ at) { place(at, "end"); },
    arrow(/** @type {number} */ dx, /** @type {number} */ dy) {
      const w = view.scene?.weights;
      if (!w) return;
      const [x, y] = view.plane.pixel(...shown(w));
      place([x + dx * ARROW_STEP, y - dy * ARROW_STEP], "end");
    },
  };
}
