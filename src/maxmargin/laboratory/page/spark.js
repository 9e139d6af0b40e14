// A small line chart: errors against updates with the moment marked, or values against passes.
import { number } from "./text.js";

/**
 * @typedef {Object} Line
 * @property {(number|null)[]} values  one per place on the x axis
 * @property {string} colour  name of a CSS variable, "--c0"
 * @property {string} name
 * @property {boolean} [dashed]
 */

/**
 * @param {HTMLCanvasElement} canvas
 * @param {(place: number) => void} [seek]  called when a person clicks or drags on a place
 * @returns {{draw: (chart: {lines: Line[], at: number|null, log?: boolean, label: string}) => void, destroy: () => void}}
 */
export function createSpark(canvas, seek) {
  let chart = /** @type {any} */ (null);
  let drawn = /** @type {any[]} */ ([]);
  const observer = new ResizeObserver(() => paint());
  observer.observe(canvas);
  if (seek) {
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); go(event); });
    canvas.addEventListener("pointermove", (event) => { if (event.buttons & 1) go(event); });
  }

  /** @param {PointerEvent} event */
  function go(event) {
    const last = chart ? chart.lines[0].values.length - 1 : 0;
    const box = canvas.getBoundingClientRect();
    const place = Math.round(((event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT)) * last);
    if (last > 0) seek(Math.max(0, Math.min(last, place)));
  }

  function paint() {
    if (!chart) return;
    const box = canvas.getBoundingClientRect();
    if (!box.width) return;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, box.width, box.height);
    draw(context, box.width, box.height);
  }

  /** @param {CanvasRenderingContext2D} context @param {number} width @param {number} height */
  function draw(context, width, height) {
    const style = getComputedStyle(canvas);
    const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim() || "currentColor";
    const scale = chart.log ? Math.log10 : (/** @type {number} */ v) => v;
    const seen = chart.lines.flatMap((/** @type {Line} */ l) => l.values)
      .filter((/** @type {any} */ v) => v !== null && Number.isFinite(v) && (!chart.log || v > 0)).map(scale);
    const places = Math.max(...chart.lines.map((/** @type {Line} */ l) => l.values.length)) - 1;
    let [low, high] = seen.length ? [Math.min(...seen), Math.max(...seen)] : [0, 1];
    if (!chart.log) low = Math.min(0, low);
    if (high === low) high = low + 1;
    const x = (/** @type {number} */ i) => LEFT + (places ? i / places : 0.5) * (width - LEFT - RIGHT);
    const y = (/** @type {number} */ v) => TOP + (1 - (scale(v) - low) / (high - low)) * (height - TOP - BOTTOM);
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = colour("--quiet");
    context.strokeStyle = colour("--line");
    context.beginPath();
    context.moveTo(LEFT, height - BOTTOM + 0.5);
    context.lineTo(width - RIGHT, height - BOTTOM + 0.5);
    context.stroke();
    context.textAlign = "right";
    context.fillText(chart.log ? number(10 ** high, 1) : number(high, 3), LEFT - 4, TOP + 8);
    context.fillText(chart.log ? number(10 ** low, 1) : number(low, 3), LEFT - 4, height - BOTTOM);
    context.fillText(String(places), width - RIGHT, height - 2);
    context.textAlign = "left";
    context.fillText("0", LEFT, height - 2);
    context.textAlign = "center";
    context.fillText(chart.label, (LEFT + width - RIGHT) / 2, height - 2);
    for (const line of chart.lines) stroke(context, line, colour(line.colour), x, y, width);
    if (chart.at !== null && places > 0) {
      context.setLineDash([]);
      context.strokeStyle = colour("--ink");
      context.beginPath();
      context.moveTo(x(chart.at), TOP);
      context.lineTo(x(chart.at), height - BOTTOM);
      context.stroke();
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {Line} line @param {string} colour @param {(i: number) => number} x
   *  @param {(v: number) => number} y @param {number} width */
  function stroke(context, line, colour, x, y, width) {
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = 1.5;
    context.setLineDash(line.dashed ? [4, 3] : []);
    const drawable = (/** @type {number|null} */ v) => v !== null && Number.isFinite(v) && (!chart.log || v > 0);
    const stride = Math.max(1, Math.floor(line.values.length / (2 * width)));
    context.beginPath();
    let pen = false;
    for (let i = 0; i < line.values.length; i += stride) {
      const value = line.values[i];
      if (!drawable(value)) { pen = false; continue; }
      if (pen) context.lineTo(x(i), y(/** @type {number} */ (value)));
      else context.moveTo(x(i), y(/** @type {number} */ (value)));
      pen = true;
    }
    context.stroke();
    context.setLineDash([]);
    context.lineWidth = 1;
    if (line.values.length > 30) return;
    line.values.forEach((value, i) => {
      if (!drawable(value)) return;
      context.beginPath();
      context.arc(x(i), y(/** @type {number} */ (value)), 2, 0, 7);
      context.fill();
    });
  }

  return {
    draw(next) {
      chart = next;
      const key = [next.at, next.label, ...next.lines.map((line) => line.values)];
      if (key.length === drawn.length && key.every((part, i) => part === drawn[i])) return;
      drawn = key;
      paint();
    },
    destroy: () => observer.disconnect(),
  };
}

const [LEFT, RIGHT, TOP, BOTTOM] = [34, 8, 4, 16];
