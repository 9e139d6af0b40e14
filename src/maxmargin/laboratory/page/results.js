// What is true of the data and of the weights shown: verdict, errors, bound; margin, multipliers, KKT.
import { count, element, first, number, say, share, tuple } from "./text.js";
import { heading, pairs, term } from "./tips.js";

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
function createSpark(canvas, seek) {
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
    drawChart(context, chart, box.width, box.height, getComputedStyle(canvas));
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

/** Lines over the places of a run, with their ends along both axes. @param {CanvasRenderingContext2D} context @param {any} chart @param {number} width @param {number} height @param {CSSStyleDeclaration} style */
function drawChart(context, chart, width, height, style) {
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
  for (const line of chart.lines) strokeLine(context, line, colour(line.colour), x, y, { width, log: chart.log });
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
 *  @param {(v: number) => number} y @param {{width: number, log?: boolean}} chart */
function strokeLine(context, line, colour, x, y, { width, log }) {
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 1.5;
  context.setLineDash(line.dashed ? [4, 3] : []);
  const drawable = (/** @type {number|null} */ v) => v !== null && Number.isFinite(v) && (!log || v > 0);
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

/** @param {string} name @param {Object<string, string>} attributes */
const chartCanvas = (name, attributes) => /** @type {HTMLCanvasElement} */ (element("canvas", { class: "mm-spark", "data-name": name, role: "img", ...attributes }));

/** A table with the names of its columns. @param {string} name @param {string[]} columns @param {HTMLElement} body @param {...HTMLElement} caption */
const tableOf = (name, columns, body, ...caption) => element("table", { class: "mm-table", "data-name": name }, ...caption,
  element("thead", {}, element("tr", {}, ...columns.map((column) => element("th", { scope: "col" }, column)))), body);

const STATUS = {
  separable: ["Separable", "good", "✓"],
  touching: ["Touching", "warn", "≈"],
  overlapping: ["Overlapping", "bad", "✕"],
};

const BOUND = /** @type {const} */ (["Their bound R²/γ²", "The largest norm of a point over the widest margin, squared: no order of the points leads to more updates."]);

/** @param {HTMLElement} root */
function createVerdict(root) {
  const badge = element("span", { class: "mm-badge", "data-name": "verdict" });
  const sentence = element("p", { "data-name": "verdict-sentence", role: "status", "aria-live": "polite" });
  const proof = element("p", { class: "mm-quiet", "data-name": "fingerprint" });
  const title = heading("Is there a line between them?", "Decided in exact arithmetic, with a proof: never a guess. With two features the plane is a line.", "verdict");
  root.append(element("section", { class: "mm-card" }, title, badge, sentence, proof));
  let drawn = /** @type {any} */ (null);
  return (/** @type {any} */ scene) => {
    const verdict = scene.answer && scene.answer.verdict;
    const live = scene.playing ? "off" : "polite";
    if (sentence.getAttribute("aria-live") !== live) sentence.setAttribute("aria-live", live);
    badge.classList.toggle("mm-stale", Boolean(scene.stale));
    if (verdict === drawn) return;
    drawn = verdict;
    const [word, kind, sign] = STATUS[verdict && verdict.status] ?? ["Not yet a question", "quiet", "·"];
    badge.dataset.kind = kind;
    badge.textContent = `${sign} ${word}`;
    say(sentence, verdict ? verdict.sentence : (scene.answer && scene.answer.why) || "");
    say(proof, verdict && verdict.fingerprint ? `Proven exactly. Fingerprint ${verdict.fingerprint.slice(0, 12)}…` : "");
  };
}

/** Errors now, the best so far, mistakes against their bound. @param {HTMLElement} root @param {any} actions */
function createNumbers(root, actions) {
  const list = pairs([
    ["e-in", "Training errors now", "How many training points the weights shown put on the wrong side (E_in)."],
    ["validation", "Validation errors now", "The same on points that were held out."],
    ["best", "Pocket’s best so far", "The fewest training errors of any weights visited up to this moment."],
    ["risk", "Risk R(w)", "The sum of −y·f(x) over the misclassified points: what gradient descent lowers."],
    ["weights", "Weights shown", "The normal w of the line (in more dimensions: of the plane), and its bias b."],
    ["final", "The model’s errors", "Of the weights the algorithm returns at the end."],
    ["mistakes", "Updates so far", "Every update answers a mistake (in the batch algorithm: one update for all of them)."],
    ["bound", ...BOUND],
  ]);
  const bar = element("div", { class: "mm-bar", role: "img" }, element("span"));
  const canvas = chartCanvas("errors-chart", {});
  const legend = element("p", { class: "mm-legend" });
  const section = element("section", { class: "mm-card" },
    heading("How well does it do?", "Counted on every point, at the moment shown.", "errors"), list.list, bar, canvas, legend);
  root.append(section);
  const spark = createSpark(canvas, (place) => actions.seek && actions.seek(place));
  return (/** @type {any} */ scene) => {
    const { answer, k } = scene;
    section.hidden = !answer || !answer.usable;
    if (section.hidden) return;
    const run = scene.hand ? null : answer.run;
    const now = scene.hand ? scene.judged : null;
    const several = answer.machines.length > 1;
    const held = answer.judged ? answer.judged.validation_n : 0;
    list.set("e-in", now ? share(now.errors, now.n) : run ? share(run.errors[k], watched(answer)) : null);
    list.set("validation", !held ? null
      : now ? share(now.validation_errors, now.validation_n)
        : run && run.validation ? share(run.validation[k], run.validation_n ?? held)
          : several ? null : share(answer.judged.validation_errors, held));
    list.set("best", run ? share(run.best[k], watched(answer)) : null);
    list.set("risk", now ? number(now.risk) : run ? number(run.risk[k]) : null);
    const done = run ? k + (scene.continued || 0) : 0;
    list.set("mistakes", run ? count(done) : null);
    const classical = answer.bound && answer.bound.holds !== false && !scene.continued && !scene.state.start?.some(Boolean); // what the theorem asks for
    const bounded = run && classical && scene.state.algorithm !== "batch";
    list.set("bound", run && scene.state.algorithm !== "batch"
      ? (bounded ? whole(answer.bound.bound) : answer.bound ? "holds only for δ = 0 and a start at zero" : "none: not separable") : null);
    list.name("bound", BOUND[0], answer.bound ? `${BOUND[1]} Here R = ${number(answer.bound.R)} and γ = ${number(answer.bound.gamma)}.` : BOUND[1]);
    bar.hidden = !bounded;
    if (bounded) fill(bar, done, answer.bound.bound);
    list.set("weights", scene.weights ? tuple(scene.state.options.intercept ? scene.weights : scene.weights.slice(0, 2)) : null);
    const judged = answer.judged;
    list.set("final", judged ? share(judged.errors, judged.n) : null);
    canvas.hidden = legend.hidden = !run || scene.K === 0;
    if (!canvas.hidden) chart(spark, legend, canvas, scene, run);
  };
}

/** How many points the watched machine was trained on. @param {any} answer */
const watched = (answer) => answer.run.n ?? answer.trained;

/** Updates are whole: a bound of 221.8 allows 221. @param {number} bound */
const whole = (bound) => (bound < 1e7 ? count(Math.floor(bound)) : number(bound));

/** @param {HTMLElement} bar @param {number} done @param {number} bound */
function fill(bar, done, bound) {
  const width = `${Math.max(0.5, Math.min(100, (100 * done) / bound)).toFixed(2)}%`;
  const inner = /** @type {HTMLElement} */ (bar.firstElementChild);
  if (inner.style.width !== width) inner.style.width = width;
  bar.setAttribute("aria-label", `${done} of at most ${whole(bound)} updates`);
}

/** @param {any} spark @param {HTMLElement} legend @param {HTMLElement} canvas @param {any} scene @param {any} run */
function chart(spark, legend, canvas, scene, run) {
  const lines = [{ name: "errors", values: run.errors, colour: "--accent" }, { name: "best so far", values: run.best, colour: "--good" }];
  if (run.validation) lines.push({ name: "validation", values: run.validation, colour: "--quiet", dashed: true });
  spark.draw({ lines, at: scene.k, label: "updates" });
  canvas.setAttribute("aria-label", `Training errors after each of ${scene.K} updates; now ${run.errors[scene.k]}.`);
  legendOf(legend, lines);
}

/** @param {HTMLElement} legend @param {any[]} lines */
function legendOf(legend, lines) {
  const text = lines.map((line) => line.name).join("|");
  if (legend.dataset.text === text) return;
  legend.dataset.text = text;
  legend.replaceChildren(...lines.map((line) => {
    const key = element("span", { class: `mm-key${line.dashed ? " mm-dashed" : ""}` });
    key.style.setProperty("--key", `var(${line.colour})`);
    return element("span", {}, key, line.name);
  }));
}

const ROUNDING = 1e-9; // of the primal value: gaps that are all smaller have no course to draw

/** Margin, values, the KKT table and the multipliers. @param {HTMLElement} root @param {any} actions */
function createMachine(root, actions) {
  const list = pairs([
    ["margin", "Margin γ = 1/‖w‖", "Distance from the plane to the nearest point."],
    ["slab", "Slab 2/‖w‖", "Width of the street between the two classes."],
    ["primal", "Primal value", "½‖w‖², and C times the slack for the soft margin: what is made small."],
    ["dual", "Dual value", "A lower bound on every primal value. Where both meet, the optimum is proven."],
    ["gap", "Gap", "Primal minus dual: how far the machine can be from the optimum, at most."],
    ["relative-gap", "Relative gap", "The gap divided by the primal value."],
    ["passes", "Passes over the data", "How often the solver read all points."],
  ]);
  const canvas = chartCanvas("gap-chart", { "aria-label": "Gap against passes" });
  const refused = element("p", { class: "mm-refused", "data-name": "refused" });
  const card = element("section", { class: "mm-card" }, heading("The certificate", "Numbers that prove the machine optimal.", "certificate"), refused, list.list, canvas);
  const kkt = element("tbody");
  const table = tableOf("kkt", ["", "condition", "off by"], kkt, element("caption", {}, "Conditions of Karush, Kuhn and Tucker"));
  const conditions = element("section", { class: "mm-card" }, heading("Is it optimal?", "All of them hold exactly at the optimum, and only there.", "optimal"), table);
  const body = element("tbody");
  const support = element("section", { class: "mm-card" }, heading("Support vectors", "Points with α > 0: they alone hold the line.", "support"),
    tableOf("support", ["point", "α", "ξ", "y·f(x)"], body));
  root.append(card, conditions, support);
  const spark = createSpark(canvas);
  let drawn = /** @type {any} */ (null);
  return (/** @type {any} */ scene) => {
    const machine = scene.answer && scene.answer.usable && !scene.hand ? scene.answer.machine : null;
    const solved = Boolean(machine && !machine.refused);
    card.hidden = !machine;
    conditions.hidden = support.hidden = list.list.hidden = !solved;
    refused.hidden = !machine || solved;
    if (machine === drawn) return highlight(body, scene.hover);
    canvas.hidden = true;
    if (!machine || !solved) {
      if (machine) say(refused, machine.refused);
      drawn = machine;
      return undefined;
    }
    const soft = scene.state.algorithm === "soft";
    list.name("margin", soft ? "Half the street 1/‖w‖" : "Margin γ = 1/‖w‖", soft ? "Half the width of the street; points may stand inside it." : "Distance from the line (in more dimensions: the plane) to the nearest point.");
    for (const [name, value] of [["margin", machine.margin], ["slab", machine.slab], ["primal", machine.primal], ["dual", machine.dual],
      ["gap", machine.gap], ["relative-gap", machine.relative_gap], ["passes", machine.passes]]) list.set(name, number(value, 6));
    kkt.replaceChildren(...machine.kkt.map(conditionRow));
    body.replaceChildren(...supportRows(machine, actions));
    highlight(body, scene.hover);
    const gaps = (machine.progress || []).map((/** @type {number[]} */ p) => p[1] - p[2]);
    canvas.hidden = gaps.length < 2 || !gaps.some((/** @type {number} */ gap) => gap > ROUNDING * machine.primal);
    if (!canvas.hidden) spark.draw({ lines: [{ name: "gap", values: gaps, colour: "--accent" }], at: null, log: true, label: "gap against passes" });
    drawn = machine;
    return undefined;
  };
}

/** A formula in plain text with its indices set low: "α_i ≥ 0". @param {string} formula */
function lowered(formula) {
  return formula.split(/_(\w)/).map((part, place) => (place % 2 ? element("sub", {}, part) : part));
}

/** @param {any} row one condition @param {number} place */
function conditionRow(row, place) {
  const tick = element("td", { class: row.holds ? "mm-yes" : "mm-no" }, row.holds ? "✓" : "✕");
  tick.setAttribute("aria-label", row.holds ? "holds" : "does not hold");
  return element("tr", { title: row.meaning },
    tick, element("td", {}, term(row.name, `kkt-${place}`), element("br"), element("span", { class: "mm-math" }, ...lowered(row.formula))),
    element("td", { title: `allowed: ${number(row.tolerance, 2)}` }, number(row.residual, 2)));
}

/** The heaviest fifty. @param {any} machine @param {any} actions */
function supportRows(machine, actions) {
  const rows = [...machine.support].sort((a, b) => machine.alpha[b] - machine.alpha[a]).slice(0, 50);
  return rows.map((i) => {
    const line = element("tr", { "data-row": String(i), title: machine.kind[i] },
      element("th", { scope: "row" }, String(i + 1)), ...[machine.alpha[i], machine.xi[i], machine.values[i]].map((v) => element("td", {}, number(v))));
    line.addEventListener("pointerenter", () => actions.hover(i));
    line.addEventListener("pointerleave", () => actions.hover(-1));
    return line;
  });
}

/** @param {HTMLElement} body @param {number} hover */
function highlight(body, hover) {
  for (const line of body.children) line.classList.toggle("mm-lit", Number(/** @type {HTMLElement} */ (line).dataset.row) === hover);
}

/** The machines of three to five classes. @param {HTMLElement} root @param {any} actions */
function createMachines(root, actions) {
  const body = element("tbody");
  const section = element("section", { class: "mm-card" }, heading("The machines", "Several classes: one line per class or per pair; choose one to watch.", "machines"),
    tableOf("machines", ["machine", "errors", ""], body));
  const last = /** @type {HTMLElement} */ (section.querySelector("thead th:last-child"));
  root.append(section);
  let drawn = /** @type {any} */ (null);
  return (/** @type {any} */ scene) => {
    const answer = scene.answer;
    section.hidden = !answer || !answer.usable || answer.machines.length < 2;
    if (section.hidden || drawn === answer) return;
    drawn = answer;
    const margins = answer.machines.filter((/** @type {any} */ m) => (m.margin ?? null) !== null).length;
    say(last, margins === answer.machines.length ? "margin" : margins ? "margin or updates" : "updates");
    body.replaceChildren(...answer.machines.map((/** @type {any} */ machine, /** @type {number} */ i) => {
      const name = element("button", { class: "mm-link", type: "button", "data-name": `watch-${i}`, "aria-pressed": String(i === answer.watch) }, machine.label);
      name.addEventListener("click", () => actions.watch && actions.watch(i));
      return element("tr", { class: i === answer.watch ? "mm-lit" : "", title: first(machine.stop || "") }, element("th", { scope: "row" }, name),
        element("td", {}, number(machine.errors)), element("td", {}, number(machine.margin ?? machine.mistakes)));
    }));
  };
}

/**
 * The right rail. @param {HTMLElement} root @param {any} actions  hover(row), seek(place), watch(machine)
 * @returns {{draw: (scene: any) => void}}
 */
export function createTruth(root, actions) {
  root.classList.add("mm-truth");
  root.replaceChildren();
  const parts = [createVerdict(root), createNumbers(root, actions), createMachine(root, actions), createMachines(root, actions)];
  return { draw: (scene) => parts.forEach((part) => part(scene)) };
}
