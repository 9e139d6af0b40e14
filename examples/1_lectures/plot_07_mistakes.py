"""
Mistakes against R²/γ²
======================

On separable data the perceptron makes at most R²/γ² mistakes from a zero start,
whatever the order of the rows and however many there are. R is the length of the
longest padded row, γ the largest margin of the padded rows. Sixty random data sets
show how far below the bound the runs stay.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

# %%
# Data whose largest margin is known before any solver has run: six values of it, ten
# data sets each, and on each data set the rows in three different orders.

wanted = np.repeat([1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125], 10)
bounds, mistakes = [], []
for k, margin in enumerate(wanted):
    X, y, _ = mm.datasets.make_separable(300, 4, margin, random_state=k)
    bounds.append(mm.mistake_bound(X, y).bound)
    runs = [
        mm.Perceptron(order="shuffled", random_state=seed, max_iter=None)
        for seed in range(3)
    ]
    mistakes.append([run.fit(X, y).n_mistakes_ for run in runs])
bounds, mistakes = np.array(bounds), np.array(mistakes)

# %%
# Each data set is a bar, from the fewest to the most mistakes of its three runs. No
# run is above the line.

MARGINS = np.unique(wanted)[::-1]
COLOURS = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, len(MARGINS)))
fig, ax = plt.subplots(figsize=(7.5, 5), layout="constrained")
for margin, colour, marker in zip(MARGINS, COLOURS, "os^Dv*", strict=True):
    mine = wanted == margin
    low, high, middle = (f(mistakes[mine], axis=1) for f in (np.min, np.max, np.median))
    bars = [middle - low, high - middle]
    look = {"fmt": marker, "color": colour, "ms": 6, "lw": 1.2, "label": f"{margin:g}"}
    ax.errorbar(bounds[mine], middle, bars, **look)
reach = np.array([bounds.min() / 2, bounds.max() * 2])
ax.plot(reach, reach, color="black", lw=1.6)
top = bounds.max()
ax.annotate("mistakes = R²/γ²", (top / 3, top / 2.6), ha="right", fontsize=11)
ax.set(xscale="log", yscale="log", xlim=reach)
ax.set(xlabel="bound R²/γ²", ylabel="mistakes of the perceptron")
ax.set_title("Sixty separable data sets, three orders each: all below the bound")
ax.grid(alpha=0.25)
ax.legend(title="margin in x-space", frameon=False, loc="lower right")
plt.show()

# %%
# The bound is for the worst case, and these runs stay far below it. If the margin is
# halved, it allows four times as many mistakes; the mistakes themselves grow more
# slowly.

assert np.all(mistakes <= bounds[:, None])
share = mistakes / bounds[:, None]
print(
    f"{mistakes.size} runs made {share.min():.2%} to {share.max():.1%} of their bounds."
)
slope = np.polyfit(np.log(bounds), np.log(mistakes.mean(axis=1)), 1)[0]
print(f"Over these data sets mistakes grow like the bound to the power {slope:.2f}.")
