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
 * @typedef {Object} Run  what changes while a lab is there
 * @property {any} hello  what Python says about itself @property {any} colours
 * @property {string[]} fitNext  views to fit when the answer to their data is drawn
 * @property {number} fitSince  the change that this answer must know of
 * @property {number} opening  the change by which a link was opened, until it is answered
 * @property {boolean} dirty  something is to be drawn @property {boolean} ready @property {boolean} ended @property {number} frames
 * @property {{state: any, answer: any}} drawn  of the rail, the last time @property {any} timer  until the state is saved
 */

/**
 * @param {HTMLElement} root @param {import("./link.js").Link} link
 * @param {{page?: boolean, state?: any, saved?: (state: any) => void}} [options]  page: the whole window is the lab's, and the
 * address holds the state; saved: called with the state when it has changed
 */
export function mount(root, link, { page = false, state: given = null, saved } = {}) {
  const lab = assemble(root, link, page, given);
  const { parts, store, player, session, run, address, views } = lab;
  link.watch((open) => {
    parts.banner.hidden = open || !run.hello;
    say(parts.banner, open ? "" : "The connection to Python is lost. Your points are safe here; trying again…");
    lab.refresh();
  });
  store.subscribe((state, kind, before) => {
    if (kind === "history" && state.view.preset !== before.view.preset) lab.fitLater(["x", "w", "3d", "section"]);
    if (!run.ready) return;
    if (address) address.touch();
    clearTimeout(run.timer);
    if (saved) run.timer = setTimeout(() => saved(sealed(store.get())), SAVED_MS);
  });
  const frame = () => {
    if (run.ended) return;
    requestAnimationFrame(frame);
    player.frame(performance.now());
    if ((!run.dirty && !player.playing()) || !run.ready) return;
    run.dirty = false;
    draw(lab);
  };
  begin(lab, given, frame);

  const handle = {
    state: () => sealed(store.get()), scene: () => session.scene(), answer: () => session.answer(), pending: () => link.pending(),
    get stats() { return { ...link.stats, frames: run.frames }; },
    view: (/** @type {string} */ name) => views.view(name), ready: () => run.ready,
    destroy() {
      run.ended = true;
      clearTimeout(run.timer);
      lab.tips.hide();
      for (const part of [lab.keys, lab.outside, lab.header, views, session, address]) part?.destroy();
      link.close();
      root.replaceChildren();
    },
  };
  if (page) /** @type {any} */ (window).__lab = handle;
  return handle;
}

/**
 * Make all parts of a lab and tell them of each other.
 * @param {HTMLElement} root @param {import("./link.js").Link} link @param {boolean} page @param {any} given  the state to begin with
 */
function assemble(root, link, page, given) {
  const parts = skeleton(root, page);
  const toast = createToast(root);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  /** @type {Run} */
  const run = { hello: null, colours: null, fitNext: [], fitSince: 0, opening: Infinity, dirty: true, ready: false, ended: false, frames: 0, drawn: { state: null, answer: null }, timer: null };
  const refresh = () => { run.dirty = true; };
  const look = () => ({ colours: (run.colours ??= readColours(root)), dark: run.colours.dark, reduced: calm.matches });
  const session = createSession(link, complete(given), { refresh, look, complain: (words) => (run.opening < Infinity && !/second/.test(words) ? refuse(lab) : toast(words, true)) });
  const { store, player, pointer, actions } = session;
  const fitLater = (/** @type {string[]} */ which) => { [run.fitNext, run.fitSince] = [which, session.version()]; };
  const address = page ? followAddress(() => sealed(store.get()), (state) => (isState(state) ? openLink(lab, state) : toast("This link could not be read: the page stays as it was.", true))) : null;
  const doing = createDoing(root, session, link, { toast, fitLater });
  const tools = {
    ...doing, store, player, pointer, actions, refresh, toast, link, edit: session.edit, leaveHand: session.leaveHand, watch: actions.watch, notebook: !page,
    help: () => openHelp(root, run.hello),
    fit() { views.fit(session.scene(), ["x"]); views.forget("x"); },
    setCut(/** @type {number|null} */ value) {
      session.weightViews.cut = value;
      store.set({ view: { ...store.get().view, cut: value } }, "view");
    },
    nudge: () => niceStep((views.x.window()[1] - views.x.window()[0]) / 100),
    address: () => /** @type {any} */ (address).link(), canvases: () => views.canvases(), redraw: () => draw(lab), time: () => (player.atEnd() ? null : player.k()),
  };
  const share = createShare(root, tools);
  const header = createHeader(root, parts.header, { page, share: share.node, help: tools.help, changed: () => { run.colours = null; refresh(); } });
  const data = createDataControls(parts.rail, { ...tools, openCsv: () => doing.openCsv() });
  const algorithm = createAlgorithmControls(parts.rail, tools);
  const views = createViews(parts.views, actions, tools);
  const lab = {
    root, page, link, parts, toast, session, store, player, run, address, doing, header, data, algorithm, views, refresh, fitLater,
    timeline: createTimeline(parts.time, tools), arithmetic: createArithmetic(parts.arithmetic), truth: createTruth(parts.truth, actions),
    live: createLive(root), tips: createTips(root, `mm-lab-${labs++}`), keys: createKeys(page ? document : root, root, tools),
    outside: listenOutside(root, { page, openCsv: doing.openCsv }), told: /** @type {Set<string>} */ (new Set()),
  };
  return lab;
}

/** @typedef {ReturnType<typeof assemble>} Lab */

/** Draw everything as it is now; what fails leaves the rest alive. @param {Lab} lab */
function draw({ session, store, run, told, views, data, algorithm, timeline, arithmetic, truth, live }) {
  const [now, state, answer] = [session.scene(), store.get(), session.answer()];
  const safely = (/** @type {string} */ name, /** @type {() => void} */ act) => guarded(name, act, told);
  if (run.drawn.state !== state || run.drawn.answer !== answer) {
    safely("data", () => data.draw(state));
    safely("algorithm", () => algorithm.draw(state, answer));
  }
  if (session.answeredTo() >= run.opening && answer) run.opening = Infinity;
  if (run.fitNext.length && now.answer && session.answeredTo() >= run.fitSince) {
    views.fit(now, run.fitNext);
    run.fitNext = [];
  }
  run.drawn = { state, answer };
  views.draw(now);
  safely("time", () => timeline.draw(now));
  safely("arithmetic", () => arithmetic.draw(inWords(now)));
  safely("truth", () => truth.draw(now));
  safely("words", () => live.draw(now, arithmetic.words()));
  run.frames += 1;
}

/** @param {Lab} lab @param {import("./state.js").State} state */
function restore({ session, views, fitLater }, state) {
  session.weightViews.cut = Number.isFinite(state.view.cut) ? state.view.cut : null;
  session.restore(state);
  fitLater(views.restore(state.view.windows));
}

/** @param {Lab} lab @param {any} state  of a link */
function openLink(lab, state) {
  lab.run.opening = lab.session.version() + 1;
  restore(lab, complete(state));
}

/** Open with the first example. @param {Lab} lab */
const openExample = ({ doing, data }) => doing.usePreset({ ...data.usual(FIRST_EXAMPLE.name), ...FIRST_EXAMPLE });

/** A link says nothing, or what the engine does not take. @param {Lab} lab */
async function refuse(lab) {
  lab.run.opening = Infinity;
  await openExample(lab);
  lab.store.forget();
  lab.toast("This link could not be read; here is an example instead.", true);
}

/** Ask Python who it is, and open what is given: a link, a state, or an example. @param {Lab} lab @param {any} given @param {() => void} frame  draws, again and again */
async function begin(lab, given, frame) {
  const { root, page, link, run, parts, data } = lab;
  const linked = page ? await fromHash(location.hash) : null;
  requestAnimationFrame(frame);
  try {
    const [greeting, presets] = await Promise.all([link.ask("hello"), link.ask("presets")]);
    run.hello = greeting;
    learnFacts(greeting);
    learnTips(root, greeting.glossary);
    data.fill(presets.presets);
  } catch (error) {
    lab.toast(/** @type {Error} */ (error).message, true);
  }
  const first = linked ?? (given?.points ? given : run.hello?.start);
  const broken = linked !== null && !isState(linked);
  if (linked && !broken) openLink(lab, linked);
  else if (first && !broken) restore(lab, complete(first));
  else if (broken) await refuse(lab);
  else await openExample(lab);
  run.ready = true;
  parts.frame.inert = false;
  parts.starting.hidden = true;
  lab.store.forget();
  lab.refresh();
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
