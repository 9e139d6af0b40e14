// What the controls do: presets, tables, validation, classes, start, clearing.
import { openTableDialog } from "./dialog.js";
import { DROPPED } from "./link.js";
import { heldOut, nextLabel, toCsv } from "./points.js";
import { saveText } from "./share.js";
import { spoken } from "./store.js";
import { openPointTable } from "./table.js";

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
