"""Compile the kernels that most tests use, so that processes which run side by side find them ready."""

import warnings

import numpy as np
from scipy import sparse

import maxmargin as mm


def main():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    noisy = np.where(X[:, 0] + 0.3 * rng.normal(size=300) > 0, 1, -1)
    apart = np.where(X[:, 0] > 0, 1, -1)
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rows in (X, sparse.csr_array(X)):
            for model in (
                mm.Perceptron(max_iter=5, order="cyclic"),
                mm.Perceptron(max_iter=5, order="shuffled", average=True),
                mm.Perceptron(max_iter=5, normalize=True, threshold=0.1),
                mm.BatchPerceptron(max_iter=5),
                mm.BatchPerceptron(step="exact", max_iter=5),
                mm.PocketPerceptron(max_updates=50),
                mm.SoftMarginSVC(),
                mm.SoftMarginSVC(solver="descent"),
            ):
                model.fit(rows, noisy).predict(rows)
                model.fit(rows, three).score(rows, three)
            mm.Perceptron(max_iter=2).fit(rows, noisy, X_val=rows, y_val=noisy)  # epoch by epoch
            mm.HardMarginSVC().fit(rows, apart)
            for labels in (apart, noisy):
                mm.separability(rows, labels).proof.verify(rows, labels)


if __name__ == "__main__":
    main()
