"""
A logistic regression that runs away
====================================

569 breast tumours, and a doctor's checklist: is the tumour large (worst perimeter
over 130), how uneven is its texture, how smooth its outline? The regression
"converges", but each tighter tolerance gives another coefficient for the first
feature. The verdict names the feature, the rows, and the proof.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

import maxmargin as mm

data = load_breast_cancer(as_frame=True)
tumour = np.where(data.target == 0, "malignant", "benign")
X = pd.DataFrame(
    {
        "large": (data.data["worst perimeter"] > 130).astype(float),
        "texture": data.data["worst texture"].round(1),
        "smoothness": data.data["worst smoothness"].round(3),
    }
)

# %%
# Logistic regression without a penalty, as the tolerance gets tighter. Two
# coefficients settle. The third goes on: every further digit of the tolerance moves
# it.

tolerances = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8]
coefficients = []
for tol in tolerances:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some versions warn, others do not
        model = LogisticRegression(
            C=np.inf, solver="newton-cholesky", tol=tol, max_iter=10_000
        )
        coefficients.append(model.fit(X, tumour).coef_[0])
coefficients = np.array(coefficients)
print("tolerance ", *(f"{name:>12}" for name in X))
for tol, values in zip(tolerances, coefficients, strict=True):
    print(f"{tol:<10g}", *(f"{value:12.2f}" for value in values))

# %%
# The verdict says what is wrong, and with which feature.

verdict = mm.separability(X, tumour)
print(verdict)

# %%
# On the left the coefficients. On the right the reason: all large tumours are
# malignant, so the likelihood grows for ever with the coefficient of that feature,
# while the small tumours of both kinds decide about the rest.

fig, axes = plt.subplots(1, 2, figsize=(11.5, 4.5), layout="constrained")
looks = zip(X, coefficients.T, ("#D55E00", "#0072B2", "#009E73"), "so^", strict=True)
for name, values, colour, marker in looks:
    axes[0].plot(tolerances, values, color=colour, marker=marker, lw=1.8, label=name)
axes[0].set(xscale="log", xlabel="tolerance of the solver", ylabel="coefficient")
axes[0].invert_xaxis()
axes[0].set_title("One coefficient never settles")
axes[0].grid(alpha=0.25)
axes[0].legend(frameon=False, loc="center left", bbox_to_anchor=(0.0, 0.68))
rng = np.random.default_rng(0)
across = X["large"] + rng.uniform(-0.12, 0.12, len(X))
for label, colour, marker in (
    ("benign", "#0072B2", "o"),
    ("malignant", "#D55E00", "s"),
):
    mine = tumour == label
    look = {"s": 14, "c": colour, "marker": marker, "alpha": 0.7, "label": label}
    axes[1].scatter(across[mine], X["texture"][mine], **look)
axes[1].set_xticks([0, 1], ["not large", "large"])
axes[1].set(xlim=(-0.4, 1.4), ylabel="worst texture")
axes[1].set_title("All large tumours are malignant")
axes[1].legend(frameon=False, loc="upper center")
plt.show()

# %%
# The rows off the weak plane are responsible. Without that feature all is well.

beyond = np.setdiff1d(np.arange(len(X)), verdict.on_plane)
kinds = " and ".join(sorted(set(tumour[beyond])))
print(f"The {len(beyond)} rows off the plane are all large, and all are {kinds}.")
without = mm.separability(X[["texture", "smoothness"]], tumour)
print(f"Without the feature: {without.statistical_name}.")
assert verdict.proof.verify(X, tumour)
print("The independent checker confirms the proof, row by row, in integers.")
