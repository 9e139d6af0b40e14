"""
The fewest errors, proven
=========================

No plane has all of these rows right, and the best one is hard to find: the problem is
NP-hard. Here it is found, and no other plane is better. The proof is a list of
witnesses, sets of rows that no plane has right, each with a share; shares never charge
a row more than the one error it can cost, so they sum to a lower bound.
"""

from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import maxmargin as mm

BLUE, RED, GREY = "#0072B2", "#D55E00", "#B8B8B8"

# %%
# Made-up records of 306 patients after an operation: age, year and the number of lymph
# nodes that were found. Many are equal, as in real registers, and often two equal
# patients fared differently. Every plane has one of the two wrong.

rng = np.random.default_rng(0)
age = np.round(rng.normal(52, 11, 306).clip(30, 80) / 5) * 5
year = rng.integers(58, 70, 306) // 3 * 3
nodes = np.minimum(rng.negative_binomial(0.4, 0.09, 306), 30)
died = rng.random(306) < 1 / (1 + np.exp(1.9 - 0.13 * nodes - 0.03 * (age - 52)))
X = np.column_stack([age, year, nodes]).astype(float)

found = mm.min_errors(X, died)
pocket = mm.PocketPerceptron(max_updates=2_000, random_state=0).fit(X, died)
textbook, polished = (
    round(pocket.unpolished_error_ * 306),
    round(pocket.best_error_ * 306),
)
disjoint = mm.error_bounds(X, died).lower

print(found)
print(f"{len(np.unique(X, axis=0))} different patients; {died.sum()} died.")
print(f"Pocket: {textbook} errors as in the textbook, {polished} after the polish.")

# %%
# The picture looks along the plane: across, the combination of age and year that the
# plane uses; upwards, the nodes. Nothing is lost: the plane is exactly this line, and
# each patient is exactly as far above or below it. Areas are numbers of patients, and
# rings are the patients given up.

w, b = found.w, found.b
across = (X[:, :2] @ w[:2]) / np.linalg.norm(w[:2])
fig, (left, right) = plt.subplots(
    1, 2, figsize=(11.5, 4.8), width_ratios=(1.9, 1), layout="constrained"
)
for side, colour, name in ((False, BLUE, "survived"), (True, RED, "died")):
    points, counts = np.unique(
        np.column_stack([across, nodes])[died == side], axis=0, return_counts=True
    )
    left.scatter(*points.T, s=22 * counts, color=colour, alpha=0.55, lw=0, label=name)
place = np.unique(np.column_stack([across, nodes])[found.given_up], axis=0)
left.scatter(*place.T, s=70, ec="black", fc="none", lw=1.1, label="wrong")
ends = np.array([across.min() - 1, across.max() + 1])
left.plot(ends, -(b + ends * np.linalg.norm(w[:2])) / w[2], color="black", lw=1.8)
left.set(xlim=ends, xticks=[], ylim=(-1.2, 31), ylabel="lymph nodes")
left.set_xlabel("age and year, as the plane combines them")
left.set_title(f"{found.upper} errors: no plane makes fewer")
left.legend(loc="upper right", frameon=False)

bars = {
    "disjoint\nwitnesses": (disjoint, GREY),
    "shares and\nbranches": (found.lower, BLUE),
    "the plane": (found.upper, "black"),
    "pocket,\npolished": (polished, GREY),
    "pocket,\ntextbook": (textbook, GREY),
}
heights, colours = zip(*bars.values(), strict=True)
drawn = right.bar(list(bars), heights, color=colours, width=0.7)
right.bar_label(drawn, padding=2)
right.axhline(found.lower, color=BLUE, lw=1, ls="--", zorder=0)
for middle, name in ((0.5, "at least"), (3, "at most")):
    right.text(middle, 1.1 * max(heights), name, ha="center")
right.tick_params(axis="x", labelsize=8, length=0)
right.set(yticks=[], ylim=(0, 1.18 * max(heights)))
right.spines[["top", "right", "left"]].set_visible(False)
plt.show()

# %%
# What the proof holds: witnesses, most of them two equal patients with different fates,
# and a tree of branches. The leaves add up to more than one error less than the bound;
# errors are whole numbers, so that is enough.

tree = found.proof.content["tree"]
sizes = [len(witness.rows) for witness in found.witnesses]
print(f"{len(sizes)} witnesses, of {min(sizes)} to {max(sizes)} rows; ", end="")
print(f"{len(tree['branches'])} branches, {len(tree['leaves'])} leaves.")
print("Checked by the independent checker:", found.proof.verify(X, died))

# %%
# Versicolor and virginica, two kinds of iris: one flower has to go. Its proof is one
# witness. Lines go from its rows to the star: a weighted mean of the versicolor flowers
# (circles) is the same point as one of the virginica flowers (squares), so a plane with
# all of them right would have the star on both sides.

iris = load_iris()
Z, kind = iris.data[50:], iris.target_names[iris.target[50:]]
one = mm.min_errors(Z, kind)
(witness,) = one.witnesses
print(one)
shares = one.proof.content["tree"]["leaves"][0]["shares"]
print("share of the witness:", sum(map(Fraction, shares)))

w, b = one.w, one.b
long = np.linalg.norm(w[:2]), np.linalg.norm(w[2:])
look = np.column_stack([Z[:, :2] @ w[:2] / long[0], Z[:, 2:] @ w[2:] / long[1]])
star = witness.point[:2] @ w[:2] / long[0], witness.point[2:] @ w[2:] / long[1]
ends = np.array([look[:, 0].min() - 0.1, look[:, 0].max() + 0.1])
fig, ax = plt.subplots(figsize=(8.5, 5.6), layout="constrained")
zoom = ax.inset_axes((0.62, 0.6, 0.37, 0.38))
for axes in (ax, zoom):
    for name, marker, colour, rows in (
        ("versicolor", "o", BLUE, witness.negative),
        ("virginica", "s", RED, witness.positive),
    ):
        axes.scatter(
            *look[kind == name].T, s=26, color=colour, alpha=0.3, marker=marker, lw=0
        )
        for i in rows:
            axes.plot(*np.transpose([look[i], star]), color=colour, lw=1.2, alpha=0.8)
        axes.scatter(
            *look[rows].T, s=60, color=colour, marker=marker, label=name, zorder=3
        )
    axes.plot(
        ends,
        -(b + ends * long[0]) / long[1],
        color="black",
        lw=1.8,
        label="the best plane",
    )
    ring = {"s": 190, "fc": "none", "ec": "black", "lw": 1.4, "zorder": 4}
    axes.scatter(*look[one.given_up].T, label="given up", **ring)
    axes.scatter(
        *star,
        s=150,
        color="#F0E442",
        ec="black",
        marker="*",
        label="both means",
        zorder=5,
    )
ax.set(xlim=ends, xticks=[], yticks=[], xlabel="sepals, as the plane combines them")
ax.set(ylim=(2.7, 7.4), ylabel="petals, as the plane combines them")
ax.set_title(f"{one.upper} error: no plane makes fewer")
ax.legend(frameon=False, loc="lower left")
near = look[witness.positive]
reach = 1.6 * np.abs(near - star).max(axis=0)
zoom.set(
    xlim=(star[0] - reach[0], star[0] + reach[0]),
    ylim=(star[1] - reach[1], star[1] + reach[1]),
)
zoom.set(xticks=[], yticks=[])
zoom.text(0.97, 0.93, "around the star", ha="right", va="top", transform=zoom.transAxes)
ax.indicate_inset_zoom(zoom, edgecolor="black")
plt.show()
