"""
The pocket algorithm
====================

When the classes overlap, the perceptron never comes to rest, and the weights at hand
when the time is up may be bad ones. The pocket algorithm makes the same updates and
keeps the weights with the fewest training errors so far. Versicolor and virginica,
two kinds of iris, overlap in their petals.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import maxmargin as mm

iris = load_iris()
X, y = iris.data[50:, 2:], iris.target_names[iris.target[50:]]

# %%
# A plain perceptron and a pocket, with the same order of points and the same budget
# of 300 updates.

budget = mm.stopping.MaxUpdates(300)
order = {"order": "shuffled", "random_state": 0}
plain = mm.Perceptron(max_iter=None, stop=budget, **order).fit(X, y)
pocket = mm.PocketPerceptron(300, **order).fit(X, y)
print(plain.stop_reason_)

# %%
# The two lines. Crosses mark the errors.

fig, axes = plt.subplots(2, 1, figsize=(8.5, 6.6), sharex=True, sharey=True)
models, names = (
    {"The last weights": plain, "The pocket": pocket},
    iris.feature_names[2:],
)
for ax, (title, model) in zip(axes, models.items(), strict=True):
    mm.plots.XSpaceDisplay.from_estimator(model, X, y, names=names, ax=ax)
    ax.set_title(f"{title}: {np.count_nonzero(model.predict(X) != y)} errors")
axes[0].set_xlabel("")
fig.set_layout_engine("constrained")
plt.show()

# %%
# The error of the running weights jumps up and down for as long as one waits; the
# pocket's only falls. The star is the result after polishing, by exact searches for
# the fewest errors along lines.

history = mm.plots.ErrorDisplay.from_estimator(pocket)
history.ax_.set_title("Running weights and pocket, epoch by epoch")
plt.show()

# %%
# How good is the result? Disjoint witnesses, sets of rows that no line has right,
# prove a bound from below.

print(mm.error_bounds(X, y))
