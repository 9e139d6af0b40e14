// What Python says about itself when the page opens. Until then nothing is limited, and no algorithm known.

/** How much Python takes. */
export const LIMITS = { points: Infinity, classes: Infinity, updates: Infinity, epochs: Infinity, seed: Infinity };

/** Each by its name, in the order of the list. @type {Map<string, {name: string, title: string, brief: string, sentence: string, options: string[]}>} */
export const ALGORITHMS = new Map();

/** @param {{limits: any, algorithms: any[]}} hello */
export function learnFacts({ limits, algorithms }) {
  Object.assign(LIMITS, limits);
  for (const algorithm of algorithms) ALGORITHMS.set(algorithm.name, algorithm);
}
