// The lab as a whole: `mount` puts it into an element; the default export is the widget of notebooks.
import { createArithmetic } from "./arithmetic.js";
import { createAlgorithmControls, createDataControls, createDoing } from "./controls.js";
import { createToast, openHelp } from "./dialogs.js";
import { createKeys, listenOutside } from "./input.js";
import { createLink, overWidget } from "./link.js";
import { readColours } from "./marks.js";
import { createTruth } from "./results.js";
import { inWords, words } from "./scene.js";
import { createSession } from "./session.js";
import { createShare, followAddress, fromHash } from "./share.js";
import { complete, learnFacts, sealed } from "./state.js";
import { element, number, say } from "./text.js";
import { createTimeline } from "./timeline.js";
import { createTips, learnTips } from "./tips.js";
import { createViews, guarded } from "./views.js";
import { button } from "./widgets.js";

const THEME_KEY = "maxmargin-theme";

/** What was chosen last time. */
function remembered() {
  try {
    return localStorage.getItem(THEME_KEY);
  } catch {
    return null; // a private window
  }
}

/**
 * @param {HTMLElement} root  of the lab @param {HTMLElement} header
 * @param {{page: boolean, share: HTMLElement, help: () => void, changed: () => void}} lab  changed: the colours are others
 */
function createHeader(root, header, { page, share, help, changed }) {
  const media = matchMedia("(prefers-color-scheme: dark)");
  let theme = page ? remembered() : null; // null: as the system has it
  const isDark = () => (theme ? theme === "dark" : media.matches);
  const turn = button({ name: "theme", label: "Theme", sign: "theme", bare: true, press: () => {
    const next = isDark() ? "light" : "dark";
    theme = (next === "dark") === media.matches ? null : next;
    if (page) try { if (theme) localStorage.setItem(THEME_KEY, theme); else localStorage.removeItem(THEME_KEY); } catch { /* a private window */ }
    dress();
  } });
  function dress() {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    turn.setAttribute("aria-label", isDark() ? "Dark: change to light" : "Light: change to dark");
    changed();
  }
  const status = element("span", { class: "mm-status", role: "status", "data-name": "status" });
  header.append(element("h1", {}, element("span", { class: "mm-mark", "aria-hidden": "true" }), "maxmargin ", element("span", {}, "lab")), status,
    element("span", { class: "mm-gap" }), share, turn, button({ name: "help", label: "Help", press: help }));
  media.addEventListener("change", dress);
  dress();
  return { status, destroy: () => media.removeEventListener("change", dress) };
}

const WAIT_MS = 250; // only where it came to rest

/**
 * @param {HTMLElement} root
 * @returns {{draw: (scene: any, sentence: string) => void}}  sentence: of the step that is shown
 */
function createLive(root) {
  const region = element("p", { class: "mm-hidden", role: "status", "aria-live": "polite", "data-name": "live" });
  root.append(region);
  let last = /** @type {any} */ ({ selected: -1, answer: null, k: 0, final: false, playing: false });
  /** @type {any} */ let timer = null;
  /** @param {string} text */
  function tell(text) {
    clearTimeout(timer);
    timer = setTimeout(() => say(region, text), WAIT_MS);
  }
  return {
    draw(scene, sentence) {
      const { selected, answer, k, final, playing } = scene;
      const point = scene.state.points[selected];
      const stepped = !playing && (last.playing || (last.answer === answer && (k !== last.k || final !== last.final)));
      if (playing) clearTimeout(timer);
      else if (selected !== last.selected && point) tell(`Selected: ${words(scene, selected, number).join(", ")}.`);
      else if (stepped || (final !== last.final && last.answer)) tell(sentence);
      last = { selected, answer, k, final, playing };
    },
  };
}

/** What the page opens with: few points, a narrow street, some twenty mistakes. */
const FIRST_EXAMPLE = { name: "separable", n: 24, margin: 0.25, seed: 3 };
const SAVED_MS = 400;
let labs = 0;

/** The frame that everything is put into. @param {HTMLElement} root @param {boolean} page */
function skeleton(root, page) {
  const part = (/** @type {string} */ tag, /** @type {string} */ name, label = "") => element(tag, { class: name, ...(label ? { "aria-label": label } : {}) });
  const made = {
    header: part("header", "mm-header"), banner: element("p", { class: "mm-banner", role: "status", "data-name": "banner", hidden: "" }),
    rail: part("aside", "mm-rail", "Data and algorithm"), views: part("div", "mm-views"), time: part("section", "mm-timeline", "Time"),
    arithmetic: part("section", "mm-step", "The step in numbers"), truth: part("aside", "mm-side", "What is true"),
  };
  const frame = element("div", { class: "mm-frame" }, made.header, made.rail, element("div", { class: "mm-middle" }, made.views, made.time, made.arithmetic), made.truth);
  const starting = element("p", { class: "mm-starting", role: "status", "data-name": "starting" }, "Starting Python…");
  frame.inert = true; // until Python is there
  root.classList.add("mm-lab");
  root.classList.toggle("mm-page", page);
  root.tabIndex = -1;
  root.replaceChildren(frame, starting, made.banner);
  return { ...made, frame, starting };
}

/**
 * @param {HTMLElement} root @param {import("./link.js").Link} link
 * @param {{page?: boolean, state?: any, saved?: (state: any) => void}} [options]  page: the whole window is the lab's, and the
 * address holds the state; saved: called with the state when it has changed
 */
export function mount(root, link, { page = false, state: given = null, saved } = {}) {
  const parts = skeleton(root, page);
  const toast = createToast(root);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const told = /** @type {Set<string>} */ (new Set());
  /** @type {any} */ let hello = null;
  /** @type {any} */ let colours = null;
  /** @type {string[]} views to fit when the answer to their data is drawn */ let fitNext = [];
  let fitSince = 0; // the change that this answer must know of
  let opening = Infinity; // the change by which a link was opened, until it is answered
  /** @type {any} */ let timer = null;
  let [dirty, ended, ready, frames] = [true, false, false, 0];
  const refresh = () => { dirty = true; };
  const fitLater = (/** @type {string[]} */ which) => { [fitNext, fitSince] = [which, session.version()]; };
  const look = () => ({ colours: (colours ??= readColours(root)), dark: colours.dark, reduced: calm.matches });
  const session = createSession(link, complete(given), { refresh, look, complain: (words) => (opening < Infinity && !/second/.test(words) ? refuse() : toast(words, true)) });
  const { store, player, pointer, actions } = session;
  const address = page ? followAddress(() => sealed(store.get()), (state) => (isState(state) ? openLink(state) : toast("This link could not be read: the page stays as it was.", true))) : null;
  const help = () => openHelp(root, hello);
  const doing = createDoing(root, session, link, { toast, fitLater });
  const lab = {
    ...doing, store, player, pointer, actions, refresh, help, toast, link, edit: session.edit, leaveHand: session.leaveHand, watch: actions.watch, notebook: !page,
    fit() { views.fit(session.scene(), ["x"]); views.forget("x"); },
    setCut(/** @type {number|null} */ value) {
      session.weightViews.cut = value;
      store.set({ view: { ...store.get().view, cut: value } }, "view");
    },
    nudge: () => niceStep((views.x.window()[1] - views.x.window()[0]) / 100),
    address: () => /** @type {any} */ (address).link(), canvases: () => views.canvases(), redraw: () => draw(), time: () => (player.atEnd() ? null : player.k()),
  };
  const share = createShare(root, lab);
  const header = createHeader(root, parts.header, { page, share: share.node, help, changed: () => { colours = null; refresh(); } });
  const data = createDataControls(parts.rail, { ...lab, openCsv: () => doing.openCsv() });
  const algorithm = createAlgorithmControls(parts.rail, lab);
  const views = createViews(parts.views, actions, lab);
  const timeline = createTimeline(parts.time, lab);
  const arithmetic = createArithmetic(parts.arithmetic);
  const truth = createTruth(parts.truth, actions);
  const live = createLive(root);
  const tips = createTips(root, `mm-lab-${labs++}`);
  const keys = createKeys(page ? document : root, root, lab);
  const outside = listenOutside(root, { page, openCsv: doing.openCsv });
  let drawn = { state: /** @type {any} */ (null), answer: /** @type {any} */ (null) };

  const safely = (/** @type {string} */ name, /** @type {() => void} */ act) => guarded(name, act, told);
  function draw() {
    const [now, state, answer] = [session.scene(), store.get(), session.answer()];
    if (drawn.state !== state || drawn.answer !== answer) {
      safely("data", () => data.draw(state));
      safely("algorithm", () => algorithm.draw(state, answer));
    }
    if (session.answeredTo() >= opening && answer) opening = Infinity;
    if (fitNext.length && now.answer && session.answeredTo() >= fitSince) {
      views.fit(now, fitNext);
      fitNext = [];
    }
    drawn = { state, answer };
    views.draw(now);
    safely("time", () => timeline.draw(now));
    safely("arithmetic", () => arithmetic.draw(inWords(now)));
    safely("truth", () => truth.draw(now));
    safely("words", () => live.draw(now, arithmetic.words()));
    frames += 1;
  }
  function frame() {
    if (ended) return;
    requestAnimationFrame(frame);
    player.frame(performance.now());
    if ((!dirty && !player.playing()) || !ready) return;
    dirty = false;
    draw();
  }
  /** @param {import("./state.js").State} state */
  function restore(state) {
    session.weightViews.cut = Number.isFinite(state.view.cut) ? state.view.cut : null;
    session.restore(state);
    fitLater(views.restore(state.view.windows));
  }
  /** @param {any} state  of a link */
  function openLink(state) {
    opening = session.version() + 1;
    restore(complete(state));
  }
  const example = () => doing.usePreset({ ...data.usual(FIRST_EXAMPLE.name), ...FIRST_EXAMPLE });
  /** A link that says nothing, or what the engine does not take. */
  async function refuse() {
    opening = Infinity;
    await example();
    store.forget();
    toast("This link could not be read; here is an example instead.", true);
  }

  link.watch((open) => {
    parts.banner.hidden = open || !hello;
    say(parts.banner, open ? "" : "The connection to Python is lost. Your points are safe here; trying again…");
    refresh();
  });
  store.subscribe((state, kind, before) => {
    if (kind === "history" && state.view.preset !== before.view.preset) fitLater(["x", "w", "3d", "section"]);
    if (!ready) return;
    if (address) address.touch();
    clearTimeout(timer);
    if (saved) timer = setTimeout(() => saved(sealed(store.get())), SAVED_MS);
  });

  async function begin() {
    const linked = page ? await fromHash(location.hash) : null;
    requestAnimationFrame(frame);
    try {
      const [greeting, presets] = await Promise.all([link.ask("hello"), link.ask("presets")]);
      hello = greeting;
      learnFacts(hello);
      learnTips(root, hello.glossary);
      data.fill(presets.presets);
    } catch (error) {
      toast(/** @type {Error} */ (error).message, true);
    }
    const first = linked ?? (given?.points ? given : hello?.start);
    const broken = linked !== null && !isState(linked);
    if (linked && !broken) openLink(linked);
    else if (first && !broken) restore(complete(first));
    else if (broken) await refuse();
    else await example();
    ready = true;
    parts.frame.inert = false;
    parts.starting.hidden = true;
    store.forget();
    refresh();
  }
  begin();

  const handle = {
    state: () => sealed(store.get()), scene: () => session.scene(), answer: () => session.answer(), pending: () => link.pending(),
    get stats() { return { ...link.stats, frames }; },
    view: (/** @type {string} */ name) => views.view(name), ready: () => ready,
    destroy() {
      ended = true;
      clearTimeout(timer);
      tips.hide();
      for (const part of [keys, outside, header, views, session, address]) part?.destroy();
      link.close();
      root.replaceChildren();
    },
  };
  if (page) /** @type {any} */ (window).__lab = handle;
  return handle;
}

/** Whether something from a link can be a state at all. @param {any} thing */
const isState = (thing) => Boolean(thing) && typeof thing === "object" && Array.isArray(thing.points);

/** 1, 2 or 5 times a power of ten, not above. @param {number} size */
function niceStep(size) {
  const unit = 10 ** Math.floor(Math.log10(size));
  return unit * (size >= 5 * unit ? 5 : size >= 2 * unit ? 2 : 1);
}

export default {
  /** A notebook's cell. @param {{model: any, el: HTMLElement}} widget */
  render({ model, el }) {
    const root = element("div");
    el.append(root);
    const lab = mount(root, createLink(overWidget(model)), { state: model.get("state"), saved: (state) => {
      model.set("state", state);
      model.save_changes();
    } });
    return () => lab.destroy();
  },
};
