// Words of the right rail that explain themselves: terms, headings, and lists of names and values.
import { element, say } from "./text.js";

/** Words that explain themselves: on hover, on focus and on a tap. @param {string} words @param {string} name */
export const term = (words, name) => element("button", { class: "mm-term", type: "button", "data-name": `about-${name}` }, words);

/** A heading that a screen reader can jump to. @param {string} title @param {string} tip @param {string} name */
export const heading = (title, tip, name) => element("h3", { title: tip }, term(title, name));

/**
 * A list of name and value. @param {[string, string, string][]} rows  data-name, words, tooltip
 * @returns {{list: HTMLElement, set: (name: string, text: string|null) => void, name: (name: string, words: string, tip: string) => void}}
 */
export function pairs(rows) {
  const list = element("dl", { class: "mm-pairs" });
  const cells = new Map(rows.map(([name, words, tip]) => {
    const value = element("dd", { "data-name": name });
    const pair = element("div", { title: tip }, element("dt", {}, term(words, name)), value);
    list.append(pair);
    return [name, [pair, value]];
  }));
  return {
    list,
    set(name, text) {
      const [pair, value] = /** @type {HTMLElement[]} */ (cells.get(name));
      pair.hidden = text === null;
      if (text !== null) say(value, text);
    },
    name(name, words, tip) {
      const [pair] = /** @type {HTMLElement[]} */ (cells.get(name));
      if (pair.dataset.tip === undefined) pair.title = tip; // not while it is shown
      say(/** @type {HTMLElement} */ (pair.querySelector("button")), words);
    },
  };
}
