// A canvas that is sharp on every screen and keeps layers that did not change; and a window of a plane on it, with grid and axes.
import { cutLine, ticks } from "./geometry.js";
import { faint, FONT, label, segment, watchColours } from "./marks.js";
import { number } from "./text.js";

/** @typedef {import("./geometry.js").Pair} Pair */
/** @typedef {import("./geometry.js").Window} Window */

/** While a picture is saved: pixels per CSS pixel, whatever the screen has; 0 otherwise. */
export const printing = { ratio: 0 };

/**
 * @typedef {Object} Surface
 * @property {CanvasRenderingContext2D} context  in CSS pixels
 * @property {number} width @property {number} height  CSS pixels
 * @property {{left: number, top: number, width: number, height: number}} frame  the part inside the axes
 * @property {() => import("./marks.js").Colours} colours
 * @property {() => boolean} begin  measure and clear; false while the canvas cannot be seen
 * @property {(name: string, key: string, paint: (context: CanvasRenderingContext2D) => void) => void} layer
 * @property {() => void} request  paint in the next frame
 * @property {() => void} ring  the focus ring, drawn last
 * @property {(event: {clientX: number, clientY: number}) => [number, number]} locate  place of an event on the canvas
 * @property {() => void} destroy
 */

/**
 * @param {HTMLCanvasElement} canvas
 * @param {() => void} paint  called when the size, the theme or the focus has changed, and after `request`
 * @param {{left: number, top: number, right: number, bottom: number}} margins
 * @returns {Surface}
 */
export function createSurface(canvas, paint, margins) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const layers = /** @type {Map<string, {key: string, canvas: HTMLCanvasElement}>} */ (new Map());
  let [ratio, frameId, focused] = [1, 0, false];
  const request = () => {
    if (frameId) return;
    frameId = requestAnimationFrame(() => { frameId = 0; paint(); });
  };
  const theme = watchColours(canvas, request);
  const observer = new ResizeObserver(request);
  observer.observe(canvas);
  const focus = () => { focused = canvas.matches(":focus-visible"); request(); };
  const blur = () => { focused = false; request(); };
  canvas.addEventListener("focus", focus);
  canvas.addEventListener("blur", blur);
  if (!canvas.hasAttribute("tabindex")) canvas.tabIndex = 0;
  if (!canvas.hasAttribute("role")) canvas.setAttribute("role", "img");

  const surface = {
    context, width: 0, height: 0, frame: { left: 0, top: 0, width: 0, height: 0 }, colours: theme.now, request,

    begin() {
      const [width, height] = [canvas.clientWidth, canvas.clientHeight];
      if (width < 40 || height < 40) return false;
      ratio = printing.ratio || Math.min(3, devicePixelRatio || 1);
      const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
      [surface.width, surface.height] = [width, height];
      surface.frame = {
        left: margins.left, top: margins.top,
        width: width - margins.left - margins.right, height: height - margins.top - margins.bottom,
      };
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      context.lineJoin = context.lineCap = "round";
      return true;
    },

    /** Draw a layer; paint it anew only when its key, the size or the theme is another. */
    layer(/** @type {string} */ name, /** @type {string} */ key, /** @type {(c: CanvasRenderingContext2D) => void} */ fill) {
      const full = `${key}|${canvas.width}×${canvas.height}|${theme.now().key}`;
      let held = layers.get(name);
      if (!held) layers.set(name, (held = { key: "", canvas: document.createElement("canvas") }));
      if (held.key !== full) {
        held.key = full;
        [held.canvas.width, held.canvas.height] = [canvas.width, canvas.height]; // this clears it too
        const inner = /** @type {CanvasRenderingContext2D} */ (held.canvas.getContext("2d"));
        inner.setTransform(ratio, 0, 0, ratio, 0, 0);
        inner.lineJoin = inner.lineCap = "round";
        fill(inner);
      }
      context.drawImage(held.canvas, 0, 0, surface.width, surface.height);
    },

    ring() {
      if (!focused || printing.ratio) return;
      context.strokeStyle = theme.now().accent;
      context.lineWidth = 2.5;
      context.beginPath();
      context.roundRect(1.5, 1.5, surface.width - 3, surface.height - 3, 6);
      context.stroke();
    },

    locate(/** @type {{clientX: number, clientY: number}} */ event) {
      const box = canvas.getBoundingClientRect();
      return /** @type {[number, number]} */ ([event.clientX - box.left - canvas.clientLeft, event.clientY - box.top - canvas.clientTop]);
    },

    destroy() {
      cancelAnimationFrame(frameId);
      observer.disconnect();
      theme.destroy();
      canvas.removeEventListener("focus", focus);
      canvas.removeEventListener("blur", blur);
      layers.clear();
    },
  };
  return surface;
}

const GLIDE_MS = 260;
const MAX_UNIT_RATIO = 40; // a window that asks for units more different than this has them; else they are drawn equal
export const MARGINS = { left: 42, top: 10, right: 10, bottom: 28 };

/** A window of the plane on a surface: what of the plane is seen, and where its places are. */
export class Plane {
  /** @param {Surface} surface @param {Window} first @param {boolean} [alike]  whether both axes have equal units */
  constructor(surface, first, alike = true) {
    this.surface = surface;
    this.alike = alike;
    /** The window that is on the screen. */
    this.window = first;
    /** The window that was asked for, whose units may differ. */
    this.wanted = first;
    /** Whether a person has moved this window: it is not fitted by itself then. */
    this.touched = false;
    this.glide = /** @type {{from: Window, to: Window, start: number} | null} */ (null);
  }

  get key() { return this.window.join(); }

  /** The part of the canvas inside the axes. */
  get frame() { return this.surface.frame; }

  /** The window with equal units, unless it asks for very different ones. @param {Window} w @returns {Window} */
  equal(w) {
    const { width, height } = this.frame;
    if (!this.alike || !(width > 0) || !(height > 0)) return w;
    const [ux, uy] = [(w[1] - w[0]) / width, (w[3] - w[2]) / height];
    if (ux / uy > MAX_UNIT_RATIO || uy / ux > MAX_UNIT_RATIO) return w;
    const unit = Math.max(ux, uy);
    const [mx, my] = [(w[0] + w[1]) / 2, (w[2] + w[3]) / 2];
    return [mx - (unit * width) / 2, mx + (unit * width) / 2, my - (unit * height) / 2, my + (unit * height) / 2];
  }

  /** Bring the window up to now; call it once before drawing. */
  settle() {
    if (this.glide) {
      const { from, to, start } = this.glide;
      const t = Math.min(1, (performance.now() - start) / GLIDE_MS);
      const eased = 1 - (1 - t) ** 3;
      this.wanted = /** @type {Window} */ (from.map((v, i) => v + eased * (to[i] - v)));
      if (t < 1) this.surface.request();
      else [this.wanted, this.glide] = [to, null]; // exactly there
    }
    this.window = this.equal(this.wanted);
  }

  /** Where the window is or is gliding to. @returns {Window} */
  target() { return this.equal(this.glide ? this.glide.to : this.wanted); }

  /** @param {Window} w @param {boolean} [gently] @param {boolean} [kept]  as if a person had chosen it */
  set(w, gently = false, kept = false) {
    if (!w.every(Number.isFinite) || !(w[1] > w[0]) || !(w[3] > w[2])) return;
    this.touched = kept;
    this.glide = gently ? { from: this.wanted, to: w, start: performance.now() } : null;
    if (!gently) { this.wanted = w; this.window = this.equal(w); }
    this.surface.request();
  }

  /** A person has moved the window. @param {Window} w */
  move(w) {
    this.glide = null;
    this.touched = true;
    this.wanted = this.window = w;
    this.surface.request();
  }

  /** @param {number} dx @param {number} dy  pixels */
  pan(dx, dy) {
    const [w, f] = [this.window, this.frame];
    const [ux, uy] = [(w[1] - w[0]) / f.width, (w[3] - w[2]) / f.height];
    this.move([w[0] - dx * ux, w[1] - dx * ux, w[2] + dy * uy, w[3] + dy * uy]);
  }

  /** @param {number} by  above 1 shows more @param {Pair} at  the pixel that stays */
  zoom(by, at) {
    const [x, y] = this.value(at);
    const w = this.window;
    const wide = Math.abs(w[1] - w[0]) * by;
    const large = 1 + Math.max(Math.abs(x), Math.abs(y));
    if (wide > 1e9 || wide < 1e-7 * large) return;
    this.move([x + (w[0] - x) * by, x + (w[1] - x) * by, y + (w[2] - y) * by, y + (w[3] - y) * by]);
  }

  /** Pixel of a place. @param {number} x @param {number} y @returns {Pair} */
  pixel(x, y) {
    const [w, f] = [this.window, this.frame];
    return [
      f.left + ((x - w[0]) / (w[1] - w[0])) * f.width,
      f.top + ((w[3] - y) / (w[3] - w[2])) * f.height,
    ];
  }

  /** Place of a pixel. @param {Pair} at @returns {Pair} */
  value([px, py]) {
    const [w, f] = [this.window, this.frame];
    return [
      w[0] + ((px - f.left) / f.width) * (w[1] - w[0]),
      w[3] - ((py - f.top) / f.height) * (w[3] - w[2]),
    ];
  }

  /** The nearest pixel inside the axes. @param {Pair} at @returns {Pair} */
  clamped([px, py]) {
    const f = this.frame;
    return [Math.max(f.left, Math.min(f.left + f.width, px)), Math.max(f.top, Math.min(f.top + f.height, py))];
  }

  /** A place rounded to a thousandth of the view, so that its text stays short. @param {Pair} at @returns {Pair} */
  rounded(at) {
    const w = this.window;
    const unit = 10 ** Math.floor(Math.log10(Math.max(w[1] - w[0], w[3] - w[2])) - 2.5);
    const digits = Math.max(0, -Math.round(Math.log10(unit)));
    return /** @type {Pair} */ (this.value(at).map((v) => Number((Math.round(v / unit) * unit).toFixed(Math.min(15, digits))) + 0));
  }

  /** Paths stay inside the axes until `context.restore()`. @param {CanvasRenderingContext2D} context */
  clip(context) {
    const f = this.frame;
    context.save();
    context.beginPath();
    context.rect(f.left, f.top, f.width, f.height);
    context.clip();
  }
}

/** @typedef {{c: CanvasRenderingContext2D, plane: Plane, colours: import("./marks.js").Colours}} Kit  what every part needs */

/** The line w·x + b = shift. @param {Kit} kit @param {number[]} w @param {number} [shift] @returns {boolean}  whether it can be seen */
export function drawLine({ c, plane }, w, shift = 0) {
  const ends = cutLine(w[0], w[1], w[2] - shift, plane.window);
  if (ends) segment(c, plane.pixel(...ends[0]), plane.pixel(...ends[1]));
  return Boolean(ends);
}

/** Grid, axes through the origin and ticks. @param {Kit} kit */
export function drawAxes({ c, plane, colours }) {
  const f = plane.frame;
  const [left, right, low, high] = plane.window;
  c.fillStyle = colours.card;
  c.fillRect(f.left, f.top, f.width, f.height);
  c.font = FONT;
  c.lineWidth = 1;
  const line = (/** @type {Pair} */ p, /** @type {Pair} */ q, /** @type {boolean} */ strong) => {
    c.strokeStyle = strong ? faint(colours.quiet, 0.55) : faint(colours.line, 0.6);
    segment(c, p, q);
  };
  c.fillStyle = colours.quiet;
  c.textBaseline = "top";
  c.textAlign = "center";
  for (const v of ticks(left, right, f.width / 70)) {
    const x = Math.round(plane.pixel(v, 0)[0]) + 0.5;
    line([x, f.top], [x, f.top + f.height], v === 0);
    if (x < f.left + f.width - 8) c.fillText(number(v, 6), x, f.top + f.height + 6);
  }
  c.textBaseline = "middle";
  c.textAlign = "right";
  for (const v of ticks(low, high, f.height / 56)) {
    const y = Math.round(plane.pixel(0, v)[1]) + 0.5;
    line([f.left, y], [f.left + f.width, y], v === 0);
    c.fillText(number(v, 6), f.left - 6, y, f.left - 8); // long ones are set narrower
  }
  c.strokeStyle = colours.line;
  c.strokeRect(f.left + 0.5, f.top + 0.5, f.width - 1, f.height - 1);
}

/** Names of the axes, over everything. @param {Kit} kit @param {string[]} names */
export function drawAxisNames({ c, plane, colours }, names) {
  const f = plane.frame;
  const font = FONT.replace("12px", "italic 14px");
  label(c, names[0], [f.left + f.width - 8, f.top + f.height - 13], colours.ink, colours.card, "right", font);
  label(c, names[1], [f.left + 8, f.top + 13], colours.ink, colours.card, "left", font);
}

/** A cross at the origin. @param {Kit} kit */
export function drawOrigin({ c, plane, colours }) {
  const [x, y] = plane.pixel(0, 0);
  c.strokeStyle = colours.ink;
  c.lineWidth = 1.6;
  segment(c, [x - 6, y], [x + 6, y]);
  segment(c, [x, y - 6], [x, y + 6]);
}
