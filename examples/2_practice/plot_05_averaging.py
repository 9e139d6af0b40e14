"""
The averaged perceptron
=======================

The weights of the perceptron after its last update owe much to the last few points.
The mean of all weights on the way does not, and it costs nothing more (Freund and
Schapire 1999). On overlapping classes it is steadier and better.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import maxmargin as mm

X, y = load_digits(return_X_y=True)
y = np.where(y % 2 == 0, "even", "odd")
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.4, random_state=0, stratify=y
)

# %%
# Even and odd digits, ten runs in different orders. After each of fifteen epochs the
# error on new images, of the last weights and of their mean.

epochs, seeds = 15, 10
errors = np.empty((2, seeds, epochs))
for seed in range(seeds):
    for kind, average in enumerate((False, True)):
        model = mm.Perceptron(average=average)
        order = np.random.default_rng(seed)
        for epoch in range(epochs):
            rows = order.permutation(len(X_train))
            model.partial_fit(X_train[rows], y_train[rows], classes=["even", "odd"])
            errors[kind, seed, epoch] = 1 - model.score(X_test, y_test)

# %%
# Thin lines are single runs, thick lines their means.

fig, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
looks = (("last weights", "#D55E00", "s"), ("averaged weights", "#0072B2", "o"))
for runs, (name, colour, marker) in zip(errors, looks, strict=True):
    epoch = np.arange(1, epochs + 1)
    ax.plot(epoch, runs.T, color=colour, lw=0.6, alpha=0.45)
    look = {"color": colour, "marker": marker, "lw": 2.4, "label": name}
    ax.plot(epoch, runs.mean(axis=0), **look)
ax.set(xlabel="epoch", ylabel="share of new images misread", ylim=(0, None))
ax.set_title("Even or odd: ten runs of the perceptron")
ax.grid(alpha=0.25)
ax.legend(frameon=False)
plt.show()

# %%
# After the last epoch:

for runs, (name, *_) in zip(errors, looks, strict=True):
    last = runs[:, -1]
    span = f"from {last.min():.3f} to {last.max():.3f}"
    print(f"{name:>16}: error {last.mean():.3f} on average, {span}")
