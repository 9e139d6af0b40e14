"""
When to stop
============

On overlapping classes the perceptron does not stop by itself. A stopping rule has to
say when: a budget, no progress on the training rows, or no progress on rows that were
kept aside. The run says which rule ended it, and why.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import maxmargin as mm

X, y = load_digits(return_X_y=True)
y = np.where(y % 2 == 0, "even", "odd")
X_train, X_val, y_train, y_val = train_test_split(
    X, y, test_size=0.3, random_state=1, stratify=y
)

# %%
# Even and odd digits, an averaged perceptron, and three rules. Rules combine: ``|``
# stops at the first of them, ``&`` when all agree.

budget = mm.stopping.MaxEpochs(40)
rules = {
    "a budget of 40 epochs": budget,
    "training error stalls": mm.stopping.TrainingErrorStalls(patience=5) | budget,
    "validation error stalls": mm.stopping.ValidationErrorStalls(patience=5) | budget,
}
models = {}
for name, rule in rules.items():
    model = mm.Perceptron(
        order="shuffled", average=True, random_state=0, max_iter=None, stop=rule
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)  # the first rule is a budget
        models[name] = model.fit(X_train, y_train, X_val=X_val, y_val=y_val)
    print(f"{name}: {model.stop_reason_}")

# %%
# All three are the same run, ended earlier or later: the longest of them, and where
# the other rules stop.

longest, *others = models
display = mm.plots.ErrorDisplay.from_estimator(models[longest])
ax = display.ax_
looks = (("#009E73", "-."), ("#5B4FA2", ":"))
for name, (colour, way) in zip(others, looks, strict=True):
    epoch = models[name].n_iter_
    words = f"stopped after epoch {epoch}:\n{name}"
    ax.axvline(epoch, color=colour, ls=way, lw=2, label=words)
ax.set_ylim(0, 0.12)
ax.set_title("Even or odd digits: three moments to stop")
ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
plt.show()

# %%
# What the longer runs bought.

for name, model in models.items():
    error = 1 - model.score(X_val, y_val)
    print(f"{model.n_iter_:3d} epochs, validation error {error:.3f} ({name})")
