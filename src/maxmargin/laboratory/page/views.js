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
 * The views of the weights, each made when it is first shown.
 * @param {Map<string, HTMLCanvasElement>} canvases @param {any} actions @param {import("./state.js").Store} store @param {Set<string>} told
 */
function createWeightViews(canvases, actions, store, told) {
  /** @type {Map<string, any>} */ const made = new Map();
  /** @type {any} */ let timer = 0;
  let drawnAt = -Infinity;
  /** @param {string} key */
  function view(key) {
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
  /** The view that is open, as things stand now. @param {() => Scene} scene @param {(now: Scene) => string} tabOf */
  function draw(scene, tabOf) {
    clearTimeout(timer);
    timer = 0;
    drawnAt = performance.now();
    const key = tabOf(scene());
    const shown = view(key);
    if (shown) guarded(key, () => shown.draw(scene()), told);
  }
  return {
    made, view,
    /** Draw now; or soon, while a hand moves points: that leaves time to think. @param {() => Scene} scene @param {(now: Scene) => string} tabOf */
    draw(scene, tabOf) {
      const wait = scene().stale ? PACE_MS - (performance.now() - drawnAt) : 0;
      if (wait <= 0) draw(scene, tabOf);
      else if (!timer) timer = setTimeout(() => draw(scene, tabOf), wait);
    },
    destroy() {
      clearTimeout(timer);
      for (const view of made.values()) view.destroy();
    },
  };
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
  const weights = createWeightViews(canvases, actions, store, told);
  /** @type {Scene|null} */ let scene = null;
  let spoken = "";
  /** @type {any} */ let timer = null;

  /** Which tab is open: without a bias there is no third direction. @param {Scene} now */
  const tabOf = (now) => (now.state.options.intercept && canvases.has(now.state.view.tab) ? now.state.view.tab : "w");
  function fitWeights() {
    if (!scene) return;
    weights.view(tabOf(scene))?.fit(scene);
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
      const view = weights.made.get(key);
      if (view) canvases.get(key)?.setAttribute("aria-label", view.describe(scene));
    }, told);
  }

  return {
    x,
    canvases: () => ({ x: xCanvas, w: /** @type {HTMLCanvasElement} */ (canvases.get(scene ? tabOf(scene) : "w")) }),
    view: (/** @type {string} */ key) => (key === "x" ? x : weights.made.get(key)),
    /** @param {Scene} now */
    draw(now) {
      scene = now;
      drawBars(now, tabOf(now));
      guarded("x-space", () => x.draw(now), told);
      weights.draw(() => /** @type {Scene} */ (scene), tabOf);
      if (!timer) timer = setTimeout(describe, 400);
    },
    /** Show everything again. @param {Scene} now @param {string[]} which */
    fit(now, which) {
      for (const key of which) {
        const view = this.view(key);
        if (view) guarded(key, () => view.fit(now), told);
      }
    },
    forget,
    /** Look where a link looked; names of the views that are to be fitted instead. @param {Object<string, any>} windows */
    restore(windows) {
      const all = new Map(/** @type {[string, any][]} */ ([["x", x], ...weights.made]));
      for (const [key, view] of all) if (windows[key]) guarded(key, () => view.setWindow?.(windows[key]), told);
      return [...all.keys()].filter((key) => !windows[key]);
    },
    destroy() {
      clearTimeout(timer);
      x.destroy();
      weights.destroy();
    },
  };
}

/** @typedef {ReturnType<typeof createViews>} Views */
