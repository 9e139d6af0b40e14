"""
Separable, touching, overlapping
================================

Whether a plane separates two classes has three answers, and each has a short proof.
Separable: a plane, and bounds on the largest margin. Overlapping: a few rows of both
classes whose weighted means are the same point. Touching, in between: a plane with no
row on the wrong side, and such rows on the plane.
"""

import matplotlib.pyplot as plt

import maxmargin as mm

# %%
# Three small data sets, one of each kind. Statisticians call them complete,
# quasi-complete and no separation. On the left rings mark the nearest rows. In the
# other two the star is the common point, and the marks with a black edge are the rows
# of the witness, with an area in proportion to their weights.

names = ("more-marks", "touching", "slack")
fig, axes = plt.subplots(1, 3, figsize=(13, 4.6))
verdicts = {}
for ax, name in zip(axes, names, strict=True):
    data = mm.datasets.load(name)
    verdict = verdicts[name] = mm.separability(data.X, data.y)
    mm.plots.SeparabilityDisplay.from_verdict(verdict, data.X, data.y, ax=ax)
    ax.get_legend().remove()
    ax.set_anchor("C")
fig.set_layout_engine("constrained")
plt.show()

# %%
# The verdicts in words.

for name, verdict in verdicts.items():
    print(f"{name}\n{verdict}\n")

# %%
# Why does a common point exclude every plane? If w·x + b were positive on one class
# and negative on the other, it would be both at the common point. The weights are
# fractions, and the sums are equal exactly.

data, witness = mm.datasets.load("slack"), verdicts["slack"].witness
points = data.X.astype(int)


def weighted_mean(rows, weights):
    """The mean of some rows, in fractions, and how it comes about."""
    parts = [
        f"{w}·{tuple(x)}" for x, w in zip(points[rows].tolist(), weights, strict=True)
    ]
    return f"{' + '.join(parts)} = ({', '.join(map(str, weights @ points[rows]))})"


print(weighted_mean(witness.positive, witness.positive_weights))
print(weighted_mean(witness.negative, witness.negative_weights))
