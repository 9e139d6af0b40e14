"""
The online perceptron, step by step
===================================

The perceptron looks at one point at a time. It changes w only when the point is on
the wrong side or on the line: w ← w + y x. In x-space the line turns. In w-space w
moves by the vector of the point, towards the right side of that point's line.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

X = np.array([[3, -4], [-1, 4], [-3, 2], [-4, 1]], dtype=float)
y = np.array([1, 1, -1, -1])
model = mm.Perceptron(fit_intercept=False, record=True).fit(X, y)
print(model.stop_reason_)

# %%
# Each update as a pair of pictures, x-space above and w-space below. Squares are of
# the class +1, circles of the class −1. The ring marks the point that was wrong
# before the update; the thin arrows below are the way that w has come.

run = model.trace_
size = 2.75 * len(run), 5.6
fig, axes = plt.subplots(2, len(run), figsize=size, layout="constrained")
for k in range(len(run)):
    done = run[: k + 1]
    row, w = done[-1].row, done[-1].weights
    mm.plots.both_spaces(done, X, y, ax=axes[:, k])
    axes[0, k].plot(*X[row], "o", ms=15, mfc="none", mec="black", mew=1.6)
    axes[0, k].set(xlabel="x₁", ylabel="x₂", title=f"update {k + 1}, by row {row}")
    axes[1, k].set_title(f"w = ({w[0]:g}, {w[1]:g})")
    for ax in axes[:, k]:
        ax.get_legend().remove()
        ax.set_anchor("C")
plt.show()

# %%
# The same in numbers. The update makes y (w·x) larger by ‖x‖² for the point in hand,
# which need not be enough to make it positive, and may cost other points their place.

print("update  row  y (w·x) before  after   rows wrong after the update")
for k, update in enumerate(run, start=1):
    w = update.weights[:2]
    after = y[update.row] * (X[update.row] @ w)
    wrong = np.flatnonzero(y * (X @ w) <= 0).tolist()
    print(f"{k:4d}{update.row:6d}{update.margin:12g}{after:12g}      {wrong}")
