"""A logistic regression that runs away, and the verdict that says why.

569 breast tumours, and a doctor's checklist: is the tumour large (worst perimeter over 130), how uneven
is its texture, how smooth its outline? The regression "converges", but each tighter tolerance gives
another coefficient for the first feature. The verdict names the feature, the rows, and the proof.
"""

from __future__ import annotations

import warnings

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

print("Unpenalised logistic regression, as the tolerance gets tighter:")
for tol in (1e-2, 1e-4, 1e-6, 1e-8):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some versions warn, others do not
        model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=tol, max_iter=10_000)
        coefficients = model.fit(X, tumour).coef_[0]
    shown = ", ".join(f"{name} {value:.2f}" for name, value in zip(X, coefficients, strict=True))
    print(f"  tol {tol:g}: {shown}")

print("\nThe verdict:")
verdict = mm.separability(X, tumour)
print(verdict)

beyond = np.setdiff1d(np.arange(len(X)), verdict.on_plane)
print(
    f"\nThe {len(beyond)} rows off the plane are responsible: all of them are large, and all are "
    f"{' and '.join(sorted(set(tumour[beyond])))}."
)

print("\nWithout that feature:")
print(mm.separability(X[["texture", "smoothness"]], tumour))

assert verdict.proof.verify(X, tumour)
print("\nThe independent checker confirms the proof, row by row, in integers.")
