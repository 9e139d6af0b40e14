// The left rail: which data, which algorithm, only the options that matter for it, and what its controls do.
import { openPointTable, openTableDialog } from "./dialogs.js";
import { DROPPED } from "./link.js";
import { saveText } from "./share.js";
import { ALGORITHMS, heldOut, LIMITS, nextLabel, spoken, toCsv } from "./state.js";
import { element, say } from "./text.js";
import { button, choice, group, numberField, segments, showIf, slider, tick } from "./widgets.js";

/** Sliders of made data and their words; Python says which matter, and their ranges. */
const SLIDERS = { n: "Points", noise: "Noise", balance: "Balance", margin: "Margin" };
const GROUPS = { lectures: "From the lectures", made: "Made to order" };

/**
 * @param {HTMLElement} root
 * @param {{store: import("./state.js").Store, usePreset: (preset: any, group: string) => void, holdOut: (share: number) => void,
 *          openCsv: () => void, saveCsv: () => void, openTable: () => void}} lab
 */
export function createDataControls(root, { store, usePreset, holdOut, openCsv, saveCsv, openTable }) {
  /** @type {any[]} */ let presets = [];
  let grasp = 0; // one grasp of a slider is one step back, however late its answers come
  const find = (/** @type {string} */ name) => presets.find((p) => p.name === name);
  const preset = choice({ name: "preset", label: "Example", change: (name) => usePreset({ ...usual(find(name)), name }, "") });
  const words = element("p", { class: "mm-words", "data-name": "preset-sentence" });
  const sliders = Object.entries(SLIDERS).map(([name, label]) => /** @type {const} */ ([name, slider({
    name: name === "margin" ? "data-margin" : name, label, ...(name === "n" ? { min: 1, max: 10, log: true, whole: true } : { min: 0, max: 1 }), step: 0.01,
    settle: () => { grasp += 1; }, input: (value) => usePreset({ ...store.get().view.preset, [name]: value }, `preset-${name}-${grasp}`),
  })]));
  const draw = button({ name: "draw", label: "Draw again", sign: "draw", bare: true, press: () => {
    const now = store.get().view.preset;
    usePreset({ ...now, seed: (now.seed ?? 0) + 1 }, "");
  } });
  const held = slider({ name: "split", label: "Validation", min: 0, max: 0.5, step: 0.05, digits: 2, settle: () => store.close(),
    input: (share) => holdOut(share) });
  const size = element("span", { class: "mm-words", "data-name": "count" });
  const section = group("Data", element("div", { class: "mm-with" }, preset.node, draw), words, ...sliders.map((s) => s[1].node), held.node,
    element("div", { class: "mm-row mm-thirds" },
      button({ name: "open-csv", label: "Your data…", press: openCsv }),
      button({ name: "save-csv", label: "Save CSV", press: saveCsv }),
      button({ name: "table", label: "Table", press: openTable })));
  section.querySelector("h2")?.append(size);
  root.append(section);

  return {
    /** @param {any[]} list  from Python: name, title, sentence, sliders */
    fill(list) {
      presets = list;
      preset.fill([["", "Your own points"], ...list.map((p) => /** @type {[string, string, string]} */ ([p.name, p.title, GROUPS[p.group] ?? p.group]))]);
      this.draw(store.get());
    },
    usual: (/** @type {string} */ name) => ({ ...usual(find(name)), name }),
    /** @param {import("./state.js").State} state */
    draw(state) {
      const chosen = state.view.preset;
      const known = chosen && find(chosen.name);
      preset.set(known ? chosen.name : "");
      const { about } = state.view;
      const sentence = !known ? "" : about?.edited ? "Example, changed by hand." : about?.sentence || known.sentence;
      say(words, sentence);
      showIf(words, Boolean(sentence));
      const ranges = known ? known.ranges : {};
      for (const [name, made] of sliders) {
        showIf(made.node, name in ranges);
        if (!(name in ranges)) continue;
        made.limits(ranges[name].min, ranges[name].max, ranges[name].step);
        made.set(chosen[name] ?? ranges[name].value);
      }
      showIf(draw, Object.keys(ranges).length > 0);
      if (!held.busy()) held.set(Number(heldOut(state.points).toFixed(2)));
      const out = state.points.filter((p) => p[3]).length;
      say(size, `${state.points.length} point${state.points.length === 1 ? "" : "s"}${out ? `, ${out} held out` : ""}${state.points.length >= LIMITS.points ? " (the most)" : ""}`);
    },
  };
}

/** Where the sliders of a preset begin. @param {any} preset */
function usual(preset) {
  const made = /** @type {any} */ ({ seed: 0 });
  for (const [name, range] of Object.entries(preset?.ranges ?? {})) made[name] = /** @type {any} */ (range).value;
  return made;
}

/**
 * @param {HTMLElement} root
 * @param {{store: import("./state.js").Store, edit: (part: any, kind: any, group?: string) => void, watch: (machine: number) => void}} lab
 */
export function createAlgorithmControls(root, { store, edit, watch }) {
  const option = (/** @type {any} */ part, /** @type {string} */ name = "") => edit({ options: { ...store.get().options, ...part } }, "model", name);
  const close = () => store.close();
  const algorithm = choice({ name: "algorithm", label: "Algorithm", change: (value) => edit({ algorithm: value }, "model") });
  const words = element("p", { class: "mm-words", "data-name": "algorithm-sentence" });
  const made = {
    C: slider({ name: "C", label: "C", min: 1e-4, max: 1e6, step: 0.05, log: true, settle: close, input: (C) => option({ C }, "C") }),
    threshold: slider({ name: "threshold", label: "δ", min: 0, max: 10, step: 0.1, settle: close, input: (threshold) => option({ threshold }, "threshold") }),
    rate: slider({ name: "rate", label: "η", min: 0.01, max: 100, step: 0.05, log: true, settle: close, input: (rate) => option({ rate }, "rate") }),
    order: choice({ name: "order", label: "Order", options: [["cyclic", "in turn"], ["shuffled", "shuffled"], ["random", "at random"]], change: (order) => option({ order }) }),
    kind: choice({ name: "step-kind", label: "Step", options: [["exact", "exact line search"], ["fixed", "fixed length"]], change: (kind) => option({ step: kind === "exact" ? "exact" : 0.1 }) }),
    step: slider({ name: "step-size", label: "ε", term: "step", min: 0.001, max: 10, step: 0.05, log: true, settle: close, input: (step) => option({ step }, "step") }),
    epochs: numberField({ name: "epochs", label: "Rounds at most", min: 1, max: () => LIMITS.epochs, change: (epochs) => option({ epochs }) }),
    updates: numberField({ name: "updates", label: "Updates at most", min: 1, max: () => LIMITS.updates, empty: "auto", change: (updates) => option({ updates }) }),
    seed: numberField({ name: "seed", label: "Seed", min: 0, max: () => LIMITS.seed, change: (seed) => option({ seed }) }),
    averaged: tick({ name: "averaged", label: "Average of all weights", change: (averaged) => option({ averaged }) }),
    polish: tick({ name: "polish", label: "Polish the pocket", change: (polish) => option({ polish }) }),
    intercept: tick({ name: "intercept", label: "Learn a bias b", change: (intercept) => edit({ options: { ...store.get().options, intercept }, start: null, past: 0 }, "model") }),
    scheme: choice({ name: "scheme", label: "Classes", options: [["ovr", "one against rest"], ["ovo", "each pair"]], change: (scheme) => edit({ options: { ...store.get().options, scheme }, watch: 0, start: null, past: 0 }, "model") }),
    watch: choice({ name: "watch", label: "Watch", change: (i) => watch(Number(i)) }),
  };
  root.append(group("Algorithm", algorithm.node, words, ...Object.values(made).map((part) => part.node)));

  return {
    /** @param {import("./state.js").State} state @param {any} answer */
    draw(state, answer) {
      const { options } = state;
      const { brief = "", sentence = "", options: matter = [] } = ALGORITHMS.get(state.algorithm) ?? {};
      const use = (/** @type {string} */ name) => matter.includes(name);
      algorithm.fill([...ALGORITHMS.values()].map(({ name, title }) => [name, title]));
      algorithm.set(state.algorithm);
      say(words, brief); // in a line or two; the tooltip says more
      if (words.title !== sentence) words.title = sentence;
      for (const name of /** @type {const} */ (["C", "threshold", "rate", "order", "averaged", "polish", "epochs", "updates", "intercept"])) showIf(made[name].node, use(name));
      showIf(made.kind.node, use("step"));
      showIf(made.step.node, use("step") && options.step !== "exact");
      showIf(made.seed.node, use("seed") && options.order !== "cyclic");
      showIf(made.scheme.node, use("scheme") && state.labels.length > 2);
      const machines = answer && answer.machines ? answer.machines : [];
      showIf(made.watch.node, machines.length > 1);
      made.watch.fill(machines.map((/** @type {any} */ machine, /** @type {number} */ i) => [String(i), machine.label]));
      made.watch.set(String(Math.min(state.watch, Math.max(0, machines.length - 1))));
      made.C.set(options.C);
      made.threshold.set(options.threshold);
      made.rate.set(options.rate);
      made.order.set(options.order);
      made.kind.set(options.step === "exact" ? "exact" : "fixed");
      if (options.step !== "exact") made.step.set(options.step);
      made.epochs.set(options.epochs);
      made.updates.set(options.updates ?? null);
      made.seed.set(options.seed);
      made.averaged.set(options.averaged);
      made.polish.set(options.polish);
      made.intercept.set(options.intercept);
      made.scheme.set(options.scheme);
    },
  };
}

/**
 * Above the data view: what a click does, and to which class.
 * @param {HTMLElement} root
 * @param {{store: import("./state.js").Store, pointer: any, redraw: () => void, addClass: () => void, removeClass: () => void, clear: () => void}} lab
 */
export function createTools(root, { store, pointer, redraw, addClass, removeClass, clear }) {
  const tools = segments({ name: "tool", label: "What a click does", bare: true, options: [["point", "Add and move", "point"], ["flip", "Flip the class", "flip"], ["erase", "Erase", "erase"]],
    change: (value) => { pointer.tool = value; redraw(); } });
  const brushes = element("div", { class: "mm-brushes", role: "group", "aria-label": "Class of new points" });
  const more = button({ name: "class-add", label: "+", press: addClass });
  more.setAttribute("aria-label", "Add a class");
  const fewer = button({ name: "class-remove", label: "−", press: removeClass });
  fewer.setAttribute("aria-label", "Remove the last class");
  const undo = button({ name: "undo", label: "Undo", sign: "undo", bare: true, press: () => store.undo() });
  const redo = button({ name: "redo", label: "Redo", sign: "redo", bare: true, press: () => store.redo() });
  const empty = button({ name: "clear", label: "Clear", sign: "clear", bare: true, press: clear });
  root.append(tools.node, brushes, element("div", { class: "mm-classes" }, more, fewer), element("span", { class: "mm-gap" }),
    undo, redo, empty);
  let key = "";
  return {
    /** @param {import("./state.js").State} state */
    draw(state) {
      tools.set(pointer.tool);
      undo.disabled = !store.canUndo();
      redo.disabled = !store.canRedo();
      empty.disabled = !state.points.length;
      more.disabled = state.labels.length >= LIMITS.classes;
      showIf(fewer, state.labels.length > 2);
      const now = `${state.labels.join("|")}#${pointer.brush}`;
      if (now === key) return;
      key = now;
      brushes.replaceChildren(...state.labels.map((label, kind) => {
        const made = button({ name: `brush-${kind}`, label, tip: `New points belong to the class ${label}.`, press: () => { pointer.brush = kind; pointer.tool = "point"; redraw(); } });
        made.classList.add("mm-brush", `mm-class${kind}`);
        made.setAttribute("aria-pressed", String(kind === pointer.brush));
        made.prepend(element("span", { class: "mm-shape", "aria-hidden": "true" }, "●■▲◆▼"[kind]));
        return made;
      }));
    },
  };
}

const NAMES = ["x₁", "x₂"];

/**
 * @param {HTMLElement} root @param {import("./session.js").Session} session @param {import("./link.js").Link} link
 * @param {{toast: (words: string, bad?: boolean) => void, fitLater: (views: string[]) => void}} shell
 */
export function createDoing(root, session, link, { toast, fitLater }) {
  const { store, pointer, edit } = session;
  /** Ask, and use the answer unless a newer question has been asked. @param {string} ask @param {any} body @param {(answer: any) => void} use */
  async function asked(ask, body, use) {
    try {
      const answer = await link.ask(ask, body);
      if (answer !== DROPPED) await use(answer);
    } catch (error) {
      toast(/** @type {Error} */ (error).message, true);
    }
  }
  /** Other points altogether. @param {any} data @param {any} preset @param {string} [group] */
  function useData(data, preset, group) {
    const about = preset ? { sentence: data.sentence ?? "", edited: false, share: data.share ?? 0 } : null;
    const view = { ...store.get().view, preset, about, windows: {}, cut: null };
    session.weightViews.cut = null;
    session.replace({ points: data.points, labels: data.labels, names: data.names ?? NAMES, view }, group);
    fitLater(["x", "w", "3d", "section"]);
  }
  const openCsv = (text = "") => openTableDialog(root, { link, text, use: (data) => useData(data, null) });

  return {
    openCsv,
    /** Data by name, with its sliders; no name: the points are one's own from now on. @param {any} preset @param {string} [group] */
    async usePreset(preset, group) {
      if (!preset || !preset.name) { store.set({ view: { ...store.get().view, preset: null, about: null } }, "view"); return; }
      const { view, points } = store.get();
      const same = view.preset?.name === preset.name; // drawn again: the same share is held out again
      const share = same ? view.about?.share || Number(heldOut(points).toFixed(2)) * Number(points.some((p) => p[3])) : 0;
      const lost = same && view.about?.edited;
      const use = (/** @type {any} */ answer) => {
        useData(answer, preset, group);
        if (lost) toast("Your changes were replaced. Undo brings them back.");
      };
      await asked("preset", preset, (answer) => {
        if (!share) return use(answer);
        return asked("split", { state: { points: answer.points, labels: answer.labels }, share }, ({ roles }) =>
          use({ ...answer, share, points: answer.points.map((/** @type {number[]} */ p, /** @type {number} */ row) => [p[0], p[1], p[2], roles[row]]) }));
      });
    },
    /** Keep a share of every class for validation. @param {number} share */
    async holdOut(share) {
      const many = store.get().points.length;
      await asked("split", { state: spoken(store.get()), share }, ({ roles }) => {
        const { points, view } = store.get();
        if (points.length === many) edit({ view: { ...view, about: view.about && { ...view.about, share } }, points: points.map(([x, y, kind], row) => [x, y, kind, roles[row]]) }, "flip", "split");
      });
    },
    saveCsv: () => saveText(toCsv(store.get()), "points.csv", "text/csv"),
    openTable: () => openPointTable(root, { store, edit, pointer }),
    startHere: () => session.startFrom(true),
    startZero: () => session.startFrom(false),
    addClass() {
      const { labels } = store.get();
      pointer.brush = labels.length;
      pointer.tool = "point";
      edit({ labels: [...labels, nextLabel(labels)] }, "data");
    },
    removeClass() {
      const { labels, points } = store.get();
      edit({ labels: labels.slice(0, -1), points: points.filter((p) => p[2] < labels.length - 1), watch: 0 }, "data");
    },
    clear() {
      pointer.tool = "point";
      session.replace({ points: [], names: NAMES, view: { ...store.get().view, preset: null, about: null } });
    },
  };
}
