"""Help with formulas: what each model minimises, and when it stops."""

__all__ = ["AUDIT", "FIT"]

FIT = """\
Fit a model; print its certificate, or why it stopped, and its error.

Files too large for memory are read in blocks, over and over. Exit code 0: fitted; 1: no plane separates
the classes (hard margin); 2: the data cannot be used.

\b
When it stops, with f(x) = w·x + b and y = ±1:
  soft-margin       P = ½‖w‖² + C Σ ξ,  ξ = max(0, 1 − y f(x))
                    D = Σ α − ½‖Σ α y x‖²,  0 ≤ α ≤ C,  Σ α y = 0
                    (P − D) / P ≤ tol
  hard-margin       the same with ξ = 0 and C = ∞;  or no plane separates
                    the classes: Σ α y (x, 1) = 0, α ≥ 0, Σ α > 0
  perceptron        y f(x) > δ for all rows (else w ← w + η y x, b ← b + η y);
                    or w, b are exactly those of an earlier epoch;
                    or max-iter epochs
  batch-perceptron  R = Σ max(0, −y f(x)) = 0 with f(x) ≠ 0 for all rows;
                    or max-iter steps
  pocket            y f(x) > 0 for all rows;  or max-updates updates
  each of them      max-seconds
"""

AUDIT = """\
Judge a model on its training data: how far from the optimum it is, and why.

MODEL is a file of fit --out, of LIBLINEAR or LIBSVM (linear), or a table of weights (coef.csv: a line
"name, weight" per feature and one named intercept, or w₁, …, w_d, b in a line).

\b
P = ½‖w‖² + C Σ max(0, 1 − y f(x)) is that of the model,
D = Σ α − ½‖Σ α y x‖², 0 ≤ α ≤ C, Σ α y = 0, that of the optimum.
Exit code 0: (P − D) / P ≤ tol; 1: it is not; 2: a file cannot be used.
"""
