"""
Ten digits, ten machines, ten certificates
==========================================

Images of handwritten digits, 8 × 8 grey values, and one machine per digit against the
other nine. The weights of a machine are an image too: where ink speaks for the digit,
and where against it. Each machine has its own margin, support vectors and
certificate.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import train_test_split

import maxmargin as mm

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.3, random_state=0, stratify=y
)
model = mm.SoftMarginSVC(C=0.01).fit(X_train, y_train)

# %%
# The ten planes. Orange: ink here speaks for the digit; violet: against it.

largest = np.abs(model.coef_).max()
fig, axes = plt.subplots(2, 5, figsize=(11, 5.4), layout="constrained")
for ax, (digit, machine) in zip(axes.flat, model.machines_.items(), strict=True):
    weights = machine.coef_.reshape(8, 8)
    image = ax.imshow(weights, cmap="PuOr_r", vmin=-largest, vmax=largest)
    ax.set(xticks=[], yticks=[])
    ax.set_title(f"{digit}", fontsize=15)
    ax.set_xlabel(f"{len(machine.support_)} support vectors")
fig.colorbar(image, ax=axes, shrink=0.7, label="weight")
plt.show()

# %%
# The certificates as a table. The gap says how far each machine can be from the
# optimum of its problem.

print("digit  support  with slack  margin 1/‖w‖  relative gap  passes")
for digit, machine in model.machines_.items():
    found = machine.certificate_
    counts = f"{len(machine.support_):7d}{len(machine.bound_support_):11d}"
    gap = f"{abs(found.relative_gap):15.0e}{found.n_passes:8d}"
    print(f"{digit:4d} {counts}{machine.margin_:14.3f}{gap}")

# %%
# Which digits are taken for which, on the images that were kept aside?

fig, ax = plt.subplots(figsize=(6, 5.2), layout="constrained")
guess = model.predict(X_test)
look = {"cmap": "Blues", "colorbar": False, "ax": ax}
ConfusionMatrixDisplay.from_predictions(y_test, guess, **look)
ax.set_title(f"{np.count_nonzero(guess != y_test)} of {len(y_test)} new images misread")
plt.show()

# %%
# The same with the largest margin for each pair of digits, 45 machines that need no
# C. All pairs are separable.

pairs = mm.HardMarginSVC(multi_class="ovo").fit(X_train, y_train)
print(f"one against all, soft: {model.score(X_test, y_test):.3f} right")
print(f"one against one, hard: {pairs.score(X_test, y_test):.3f} right")
margins = sorted((machine.margin_, pair) for pair, machine in pairs.machines_.items())
for what, (margin, pair) in (("hardest", margins[0]), ("easiest", margins[-1])):
    print(f"The {what} pair is {pair[0]} and {pair[1]}, with margin {margin:.2f}.")
