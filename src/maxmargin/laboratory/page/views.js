// The two pictures side by side: the data, and the space of weights in three ways.
import { createTools } from "./controls.js";
import { createSection, cutAt, cutRange } from "./section.js";
import { element } from "./text.js";
import { TIPS } from "./tips.js";
import { createWSpace } from "./w_space.js";
import { createSpace3D } from "./w_space_3d.js";
import { button, segments, showIf, slider, tick } from "./widgets.js";
import { createXSpace } from "./x_space.js";

/** @typedef {import("./scene.js").Scene} Scene */

const PACE_MS = 80; // between two pictures of the weights while their data moves

const WEIGHTS = /** @type {[string, string, any][]} */ ([["w", "w-space", createWSpace], ["3d", "3-D", createSpace3D], ["section", "Section", createSection]]);

let viewsMade = 0; // labs on this page, for ids

/**
 * Draw a part of the page; if that fails say so once, and keep the rest alive.
 * @param {string} name @param {() => void} draw @param {Set<string>} told
 */
export function guarded(name, draw, told) {
  try {
    draw();
  } catch (error) {
    if (!told.has(name)) console.error(`This part of the page could not be drawn: ${name}.`, error);
    told.add(name);
  }
}

/** @param {Object<string, string>} attributes @returns {HTMLCanvasElement} */
const canvasOf = (attributes) => /** @type {HTMLCanvasElement} */ (element("canvas", { class: "mm-canvas", tabindex: "0", role: "application", ...attributes }));

/**
 * The frames of both pictures, with their bars.
 * @param {HTMLElement} root @param {any} lab @param {{look: (part: any) => void, fitWeights: () => void}} does
 */
function layOut(root, lab, { look, fitWeights }) {
  const number = viewsMade++;
  const layer = (/** @type {string} */ name, /** @type {string} */ label) => tick({ name: `layer-${name}`, label, change: (on) => look({ layers: { ...lab.store.get().view.layers, [name]: on } }) });
  const layers = { verdict: layer("verdict", "Proof"), regions: layer("regions", "Regions"), risk: layer("risk", "Risk") };
  const showAll = (/** @type {string} */ name, /** @type {() => void} */ press) => button({ name, label: "Show all", sign: "fit", bare: true, press });
  const gap = () => element("span", { class: "mm-gap" });

  const xCanvas = canvasOf({ "data-name": "x-canvas", "aria-label": "x-space" });
  const toolbar = element("div", { class: "mm-bar-top", role: "toolbar", "aria-label": "Points" });
  const tools = createTools(toolbar, lab);
  const left = element("section", { class: "mm-view", "aria-label": "x-space: the data" }, toolbar, xCanvas,
    element("div", { class: "mm-bar-foot" }, element("strong", { title: "The space of the data: every point is a row." }, "x-space"), gap(), layers.verdict.node, layers.regions.node, showAll("fit-x", () => lab.fit())));

  const canvases = new Map(WEIGHTS.map(([key, label]) => [key, canvasOf({ "data-name": `${key}-canvas`, id: `mm-${number}-${key}`, "aria-label": label })]));
  const tabs = segments({ name: "tab", label: "Which picture of the weights", tabs: true, options: WEIGHTS.map(([key, label]) => [key, label]), change: (tab) => look({ tab }) });
  for (const [key, tab] of tabs.buttons) tab.setAttribute("aria-controls", `mm-${number}-${key}`);
  const w1 = slider({ name: "section-w1", label: "w₁ =", min: -1, max: 1, step: 0.001, input: (value) => lab.setCut(value) });
  const hint = element("span", { class: "mm-words mm-hint" });
  const right = element("section", { class: "mm-view", "aria-label": "w-space: the weights" },
    element("div", { class: "mm-bar-top" }, tabs.node), ...canvases.values(),
    element("div", { class: "mm-bar-foot" }, hint, gap(), w1.node, layers.risk.node, showAll("fit-w", fitWeights)));
  root.append(left, right);

  /** Show the tab, the layers and the words that belong to a scene. @param {Scene} now @param {string} tab */
  function draw(now, tab) {
    tools.draw(lab.store.get());
    tabs.set(tab);
    for (const [key, button_] of tabs.buttons) {
      button_.disabled = key !== "w" && !now.state.options.intercept;
      button_.title = button_.disabled ? "Without a bias there are only two weights: w-space shows them all." : TIPS[`tab-${key}`];
      showIf(/** @type {HTMLElement} */ (canvases.get(key)), key === tab);
    }
    layers.verdict.set(now.layers.verdict);
    layers.regions.set(now.layers.regions);
    layers.risk.set(now.layers.risk);
    showIf(layers.risk.node, tab === "w");
    showIf(w1.node, tab === "section");
    if (tab === "section") {
      const [low, high] = cutRange(now);
      if (!w1.busy()) w1.limits(low, high, (high - low) / 1000);
      w1.set(Number(cutAt(now).toPrecision(4)));
    }
    const said = now.hand ? "Set by hand: Escape to go back." : now.answer && !now.answer.usable ? "Add points of both classes first."
      : tab === "w" ? "Click to set w by hand." : tab === "3d" ? "Drag to turn, wheel to zoom." : "";
    if (hint.textContent !== said) hint.textContent = said;
  }
  return { xCanvas, canvases, draw };
}

/**
 * @param {HTMLElement} root @param {any} actions  what the views may ask for
 * @param {any} lab  store, pointer, refresh, addClass, removeClass, clear, fit, setCut (w₁ of the section)
 */
export function createViews(root, actions, lab) {
  const { store } = lab;
  const told = /** @type {Set<string>} */ (new Set());
  const look = (/** @type {any} */ part) => store.set({ view: { ...store.get().view, ...part } }, "view");
  const { xCanvas, canvases, draw: drawBars } = layOut(root, lab, { look, fitWeights: () => fitWeights() });
  const x = createXSpace(xCanvas, actions);
  /** @type {Map<string, any>} made when first shown */ const made = new Map();
  /** @type {Scene|null} */ let scene = null;
  let spoken = "";
  /** @type {any} */ let timer = null;
  /** @type {any} */ let late = 0;
  let drawnAt = -Infinity;

  /** Which tab is open: without a bias there is no third direction. @param {Scene} now */
  const tabOf = (now) => (now.state.options.intercept && canvases.has(now.state.view.tab) ? now.state.view.tab : "w");
  /** @param {string} key */
  function weightView(key) {
    if (!made.has(key)) {
      const create = /** @type {any} */ (WEIGHTS.find((entry) => entry[0] === key))[2];
      guarded(key, () => {
        const view = create(canvases.get(key), actions);
        made.set(key, view);
        const kept = store.get().view.windows[key];
        if (kept && view.setWindow) view.setWindow(kept);
      }, told);
    }
    return made.get(key);
  }
  function fitWeights() {
    if (!scene) return;
    weightView(tabOf(scene))?.fit(scene);
    forget(tabOf(scene));
  }
  /** @param {string} key */
  function forget(key) {
    const windows = { ...store.get().view.windows };
    delete windows[key];
    look({ windows });
  }
  /** Words for screen readers, a moment after things have come to rest. */
  function describe() {
    timer = null;
    if (!scene) return;
    guarded("description", () => {
      const words = x.describe(/** @type {Scene} */ (scene));
      if (words !== spoken) xCanvas.setAttribute("aria-label", spoken = words);
      const key = tabOf(/** @type {Scene} */ (scene));
      const view = made.get(key);
      if (view && view.describe) canvases.get(key)?.setAttribute("aria-label", view.describe(scene));
    }, told);
  }

  /** The view of the weights, as things stand now. */
  function drawWeights() {
    clearTimeout(late);
    late = 0;
    drawnAt = performance.now();
    const key = tabOf(/** @type {Scene} */ (scene));
    const view = weightView(key);
    if (view) guarded(key, () => view.draw(/** @type {Scene} */ (scene)), told);
  }

  return {
    x, xCanvas,
    canvases: () => ({ x: xCanvas, w: /** @type {HTMLCanvasElement} */ (canvases.get(scene ? tabOf(scene) : "w")) }),
    view: (/** @type {string} */ key) => (key === "x" ? x : made.get(key)),
    /** @param {Scene} now */
    draw(now) {
      scene = now;
      drawBars(now, tabOf(now));
      guarded("x-space", () => x.draw(now), told);
      const wait = now.stale ? PACE_MS - (performance.now() - drawnAt) : 0; // a hand is moving points: leave time to think
      if (wait <= 0) drawWeights();
      else if (!late) late = setTimeout(drawWeights, wait);
      if (!timer) timer = setTimeout(describe, 400);
    },
    /** Show everything again. @param {Scene} now @param {string[]} which */
    fit(now, which) {
      for (const key of which) {
        const view = key === "x" ? x : made.get(key);
        if (view) guarded(key, () => view.fit(now), told);
      }
    },
    fitWeights, forget,
    /** Look where a link looked; names of the views that are to be fitted instead. @param {Object<string, any>} windows */
    restore(windows) {
      const all = new Map(/** @type {[string, any][]} */ ([["x", x], ...made]));
      for (const [key, view] of all) if (windows[key]) guarded(key, () => view.setWindow?.(windows[key]), told);
      return [...all.keys()].filter((key) => !windows[key]);
    },
    destroy() {
      clearTimeout(timer);
      clearTimeout(late);
      x.destroy();
      for (const view of made.values()) view.destroy();
    },
  };
}

/** @typedef {ReturnType<typeof createViews>} Views */
