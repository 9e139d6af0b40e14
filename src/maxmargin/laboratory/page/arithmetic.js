// The step in hand as a formula with its numbers, in MathML: what a teacher writes on the board.
import { first, number } from "./text.js";

const MATHML = "http://www.w3.org/1998/Math/MathML";

/** @param {string} tag @param {...(Node|string)} children */
function m(tag, ...children) {
  const made = document.createElementNS(MATHML, tag);
  made.append(...children);
  return made;
}
const mi = (/** @type {string} */ name) => m("mi", name);
const mo = (/** @type {string} */ sign) => m("mo", sign);
const mn = (/** @type {number} */ value) => m("mn", number(value));
const sub = (/** @type {string} */ name, /** @type {string} */ index) => m("msub", mi(name), mi(index));
const signed = (/** @type {number} */ y) => m("mrow", mo("("), m("mn", y > 0 ? "+1" : "−1"), mo(")"));

/** A column of numbers; its parentheses are drawn by the style sheet, since few fonts can stretch them. @param {(number|Node)[]} values */
function column(values) {
  const rows = values.map((v) => m("mtr", m("mtd", typeof v === "number" ? mn(v) : v)));
  const table = m("mtable", ...rows);
  table.setAttribute("class", "mm-column");
  return table;
}

/** @param {Node[]} parts */
function block(parts) {
  const math = m("math", m("mrow", ...parts));
  math.setAttribute("display", "inline");
  return math;
}

/**
 * The weights as they are shown: with the bias only when it is learned.
 * @param {number[]} weights @param {boolean} biased
 */
const shown = (weights, biased) => (biased ? weights : weights.slice(0, 2));

/** +1 or −1 for the watched machine, 0 for a point that does not take part. @param {any} scene @param {number} row */
function sideOf(scene, row) {
  const machine = scene.answer.machines[scene.answer.watch];
  const kind = scene.state.points[row][2];
  return machine.positive.includes(kind) ? 1 : machine.negative.includes(kind) ? -1 : 0;
}

/** @param {any} scene @returns {[Node[], string]} formula and sentence of an online update */
function online(scene) {
  const { state, answer, k, previous, weights } = scene;
  const { row, margin, step } = answer.run.updates;
  const [i, biased] = [row[k - 1], state.options.intercept];
  const [x1, x2] = state.points[i];
  const y = sideOf(scene, i);
  const rate = state.algorithm === "perceptron" ? state.options.rate : 1;
  const eta = rate === 1 ? [] : [mn(rate), mo("·")];
  const padded = biased ? [x1, x2, 1] : [x1, x2];
  const head = m("mrow", mi("w"), ...(biased ? [mo(","), mi("b")] : []));
  const formula = [
    mo("("), head, mo(")"), mo("←"), column(shown(previous, biased)), mo("+"), ...eta, signed(y),
    column(padded), mo("="), column(shown(weights, biased)),
  ];
  const delta = state.algorithm === "perceptron" ? state.options.threshold : 0;
  let sentence = `Look ${step[k - 1]}: point ${i + 1} has y·f(x) = ${number(margin[k - 1])} ≤ ${number(delta)}: a mistake, so w turns towards y·x.`;
  if (state.algorithm === "pocket") {
    const { best } = answer.run;
    sentence += best[k] < best[k - 1]
      ? ` ${best[k]} errors are the fewest so far: into the pocket.`
      : ` The pocket keeps its ${best[k]} errors.`;
  }
  return [formula, sentence];
}

/** @param {any} scene @returns {[Node[], string]} */
function batch(scene) {
  const { state, answer, k, previous, weights } = scene;
  const biased = state.options.intercept;
  const exact = state.options.step === "exact";
  const { errors, risk } = answer.run;
  const sum = m("munder", mo("∑"), m("mrow", mi("i"), mo("∈"), mi("M")));
  const formula = [
    mo("("), mi("w"), ...(biased ? [mo(","), mi("b")] : []), mo(")"), mo("←"), column(shown(previous, biased)), mo("+"),
    ...(exact ? [column(shown(weights.map((/** @type {number} */ v, /** @type {number} */ j) => v - previous[j]), biased))] : [mn(state.options.step), mo("·"), sum, sub("y", "i"), sub("x", "i")]),
    mo("="), column(shown(weights, biased)),
  ];
  const how = exact ? "the exact line search adds ε·s, to the lowest point along s" : "all misclassified points pull at once";
  const sentence = `Step ${k}: ${errors[k - 1]} misclassified (M), ${how}: risk R ${number(risk[k - 1])} → ${number(risk[k])}, then ${errors[k]} misclassified.`;
  return [formula, sentence];
}

/** w as the sum over its support vectors. @param {any} scene @param {number} many  terms that have room @returns {[Node[], string]} */
function expansion(scene, many) {
  const { state, answer } = scene;
  const { machine } = answer;
  const rows = [...machine.support].sort((a, b) => machine.alpha[b] - machine.alpha[a]);
  const few = rows.slice(0, many);
  const terms = few.flatMap((i, place) => [
    ...(place ? [mo("+")] : []), mn(machine.alpha[i]), signed(sideOf(scene, i)), column(state.points[i].slice(0, 2)),
  ]);
  const more = rows.length > few.length ? [mo("+"), mo("…")] : [];
  const formula = [mi("w"), mo("="), column(machine.weights.slice(0, 2)), mo("="), m("munder", mo("∑"), mi("i")), sub("α", "i"), sub("y", "i"), sub("x", "i"),
    ...(few.length ? [mo("="), ...terms, ...more] : [])];
  const sentence = `w is a sum over ${rows.length} support vector${rows.length === 1 ? "" : "s"}; every other point could be taken away and nothing would change.`;
  return [formula, sentence];
}

/** @param {any} scene @param {number} [many]  terms of a sum that have room @returns {[Node[], string]} */
function wording(scene, many = 2) {
  const { answer, state } = scene;
  if (!answer || !answer.usable) return [[], answer ? answer.why : ""];
  if (scene.hand) return [byHand(scene), "These weights were set by hand. Press Escape, or step, to go back to the algorithm."];
  if (answer.machine && answer.machine.refused) return [[], answer.machine.refused];
  if (answer.machine) return expansion(scene, many);
  if (!answer.run) return [[], ""];
  if (scene.k === 0) {
    const start = shown(scene.weights, state.options.intercept);
    const idle = scene.K === 0 ? "No update is needed: no point is on the wrong side." : "The start, before the first update.";
    return [[mo("("), mi("w"), ...(state.options.intercept ? [mo(","), mi("b")] : []), mo(")"), mo("="), column(start)], idle];
  }
  const [formula, sentence] = state.algorithm === "batch" ? batch(scene) : online(scene);
  return [formula, scene.k === scene.K && answer.run.stop ? `${sentence} ${first(answer.run.stop)}` : sentence];
}

/** @param {any} scene */
function byHand(scene) {
  const biased = scene.state.options.intercept;
  return [mo("("), mi("w"), ...(biased ? [mo(","), mi("b")] : []), mo(")"), mo("="), column(shown(scene.weights, biased))];
}

/**
 * @param {HTMLElement} root
 * @returns {{draw: (scene: any) => void, words: () => string}}
 */
export function createArithmetic(root) {
  root.classList.add("mm-arithmetic");
  const formula = document.createElement("div");
  formula.className = "mm-formula";
  formula.dataset.name = "formula";
  const sentence = document.createElement("p");
  sentence.className = "mm-sentence";
  sentence.dataset.name = "step-sentence";
  root.replaceChildren(formula, sentence);
  let drawn = /** @type {any[]} */ ([]);
  return {
    draw(scene) {
      const wide = root.clientWidth;
      const key = [wide, scene.answer, scene.k, scene.hand, scene.stale, ...(scene.hand ? scene.weights : [])];
      if (key.length === drawn.length && key.every((part, i) => part === drawn[i])) return;
      drawn = key;
      if (scene.stale && scene.answer && scene.state.points.length !== scene.answer.n) return; // rows have moved on
      for (let many = 2; many >= 0; many--) { // fewer terms where there is little room
        const [parts, words] = wording(scene, many);
        formula.replaceChildren(...(parts.length ? [block(parts)] : []));
        sentence.textContent = words;
        if (!scene.answer?.machine || formula.scrollWidth <= formula.clientWidth + 1) break;
      }
    },
    words: () => sentence.textContent ?? "",
  };
}
