"""
Is real data separable?
=======================

Four data sets that come with scikit-learn, each class against the rest, and one
verdict for each, proven in exact arithmetic. In many features separability is the
rule rather than the exception, even where nobody would expect it. It says that
training errors can be avoided, not that new points will be right.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import maxmargin as mm

# %%
# One question per class, for the data as it is. The margin is given in parts of the
# radius of the data.

sets = {
    "iris": load_iris(),
    "wine": load_wine(),
    "tumours": load_breast_cancer(),
    "digits": load_digits(),
}
rows = []
for name, data in sets.items():
    X, y = data.data, data.target
    radius = np.linalg.norm(X - X.mean(axis=0), axis=1).max()
    for label in range(1 if name == "tumours" else 0, y.max() + 1):
        verdict = mm.separability(X, y == label)
        assert verdict.proof.verify(X, y == label)
        rows.append((f"{name}: {data.target_names[label]}", X.shape, verdict, radius))

# %%
# The table as a picture: how wide the gap between the classes is, or how many rows it
# takes to show that there is none.

COLOURS = {"separable": "#0072B2", "touching": "#E69F00", "overlapping": "#D55E00"}
MARKERS = {"separable": "o", "touching": "D", "overlapping": "s"}
places = np.arange(len(rows))[::-1]
fig, ax = plt.subplots(figsize=(10, 6.6), layout="constrained")
for place, (_, _, verdict, radius) in zip(places, rows, strict=True):
    kind, across = verdict.kind, 2e-9
    ax.axhline(place, color="#EEEEEE", lw=6, zorder=0)
    if verdict.separable:
        across = verdict.margin[0] / radius
    else:
        words = f"{kind}: {len(verdict.witness.rows)} rows are a witness"
        ax.text(4e-9, place, words, va="center", fontsize=9.5)
    ax.plot(across, place, MARKERS[kind], color=COLOURS[kind], ms=8, zorder=3)
ax.set_yticks(places, [name for name, *_ in rows])
ax.set(xscale="log", xlim=(8e-10, 0.6), ylim=(-0.7, len(rows) - 0.3))
ax.set_xlabel("certified margin, in parts of the radius of the data")
ax.set_title("Each class against the rest: is there a plane between them?")
for kind, colour in COLOURS.items():
    many = sum(verdict.kind == kind for _, _, verdict, _ in rows)
    ax.plot([], [], MARKERS[kind], color=colour, ms=8, label=f"{kind} ({many})")
fig.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# The same as text. The independent checker has confirmed every one of the proofs.

print("                        rows × features   verdict      because")
for name, (n, d), verdict, _ in rows:
    if verdict.separable:
        because = f"margin {verdict.margin[0]:.3g}"
    else:
        because = f"{len(verdict.witness.rows)} rows meet"
    print(f"{name:>22}{n:8d} × {d:<10d}{verdict.kind:13}{because}")
