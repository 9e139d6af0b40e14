// A canvas that is sharp on every screen, keeps layers that did not change, and paints at most once per frame.
import { watchColours } from "./colours.js";

/** While a picture is saved: pixels per CSS pixel, whatever the screen has; 0 otherwise. */
export const printing = { ratio: 0 };

/**
 * @typedef {Object} Surface
 * @property {CanvasRenderingContext2D} context  in CSS pixels
 * @property {number} width @property {number} height  CSS pixels
 * @property {{left: number, top: number, width: number, height: number}} frame  the part inside the axes
 * @property {() => import("./colours.js").Colours} colours
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
