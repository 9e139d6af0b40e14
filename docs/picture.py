"""Make ``docs/picture.svg``, the picture of the README: ``python docs/picture.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

TO = Path(__file__).with_name("picture.svg")


def clouds(seed: int, apart: float) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds of 35 points, two decimals each."""
    rng = np.random.default_rng(seed)
    y = np.repeat(["left", "right"], 35)
    centres = np.where(y == "right", apart, -apart)[:, None] * np.array([1.0, 0.8])
    return np.round(rng.normal(size=(70, 2)) + centres + np.array([2.0, 1.0]), 2), y


def main(to: Path = TO) -> None:
    """Draw three answers that the library gives."""
    plt.rcParams["svg.hashsalt"] = "maxmargin"  # the same bytes each time
    figure, axes = plt.subplots(1, 3, figsize=(12.6, 4.5), layout="constrained")
    X, y = clouds(48, 1.6)
    run = mm.Perceptron(order="shuffled", random_state=0).fit(X, y)
    hard = mm.HardMarginSVC().fit(X, y)
    mm.plots.XSpaceDisplay.from_estimator(run, X, y, ax=axes[0])
    mm.plots.XSpaceDisplay.from_estimator(hard, X, y, ax=axes[1])
    Z, t = clouds(5, 0.9)
    verdict = mm.separability(Z, t)
    assert verdict.witness is not None
    mm.plots.SeparabilityDisplay.from_verdict(verdict, Z, t, ax=axes[2])
    titles = [
        f"Perceptron: {run.n_mistakes_} mistakes, then none",
        f"Hard margin: {hard.margin_:.4f}, and no plane has more",
        f"No plane: {len(verdict.witness.rows)} rows prove it",
    ]
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title, fontsize=13)
        ax.set(xlabel="", ylabel="", xticks=[], yticks=[], aspect="auto")
        for key in (ax.get_legend(), *figure.legends):
            if key is not None:
                key.remove()
    figure.savefig(to, metadata={"Date": None})


if __name__ == "__main__":
    main()
