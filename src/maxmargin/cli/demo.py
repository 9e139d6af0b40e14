"""``maxmargin demo``: the main job on real data, in a minute and on one screen."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

import maxmargin as mm

if TYPE_CHECKING:
    from rich.console import Console


@click.command()
@click.option(
    "--out",
    type=click.Path(),
    default="maxmargin-demo.html",
    show_default=True,
    help="The page that sums it up.",
)
@click.option("--quick", is_flag=True, help="Leave out the larger part (digits).")
def demo(out: str, quick: bool) -> None:
    """Tell the story of linear classification on data that ships with scikit-learn."""
    from rich.console import Console
    from sklearn.datasets import load_breast_cancer, load_digits, load_iris

    console = Console(highlight=False, width=min(Console().width, 100))
    iris, cancer = load_iris(), load_breast_cancer()
    began = time.perf_counter()
    console.rule("[bold]maxmargin: the linear classifier that comes with its proof")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)  # the story tells how each run ended
        _separable(console, iris.data, iris.target)
        _xor(console)
        _verdicts(console, iris, cancer)
        _overlapping(console, cancer.data, cancer.target)
        _margins(console, iris.data, iris.target)
        _audit(console, cancer.data, cancer.target)
        if not quick:
            _digits(console, *load_digits(return_X_y=True))
    _page(console, cancer, out, began)


def _chapter(console: Console, title: str) -> None:
    console.print(f"\n[bold]{title}[/bold]")


def _say(console: Console, text: str) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console.print(Padding(Text(text), (0, 0, 0, 3)))  # as it is: [plots] is no markup


def _show(console: Console, columns: Sequence[str], rows: Sequence[Sequence[str]], gap: int) -> None:
    from rich.table import Table

    table = Table(*columns, box=None, padding=(0, gap))
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _separable(console: Console, X: Any, y: Any) -> None:
    _chapter(console, "1  Iris setosa against the rest: the perceptron and its mistake bound")
    setosa = ["setosa" if label == 0 else "other" for label in y]
    model = mm.Perceptron().fit(X, setosa)
    bound = str(mm.mistake_bound(X, setosa))
    _say(console, str(model.stop_reason_))
    _say(console, f"Rosenblatt's theorem: {bound[0].lower()}{bound[1:]}")
    weights = " ".join([f"{w:+.2f}" for w in model.coef_[0]])
    _say(console, f"f(x) = ({weights})·x {model.intercept_[0]:+.2f}")
    batch = mm.BatchPerceptron().fit(X, setosa)
    _say(console, f"Steps of gradient descent with exact line search: {batch.n_iter_}.")


def _xor(console: Console) -> None:
    _chapter(console, "2  XOR: a run that would never end, and says so")
    model = mm.Perceptron().fit([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    _say(console, str(model.stop_reason_))


def _verdicts(console: Console, iris: Any, cancer: Any) -> None:
    _chapter(console, "3  Is it separable? Verdicts with exact proofs")
    names = list(cancer.feature_names)
    signs = cancer.data[:, [names.index("worst perimeter"), names.index("worst texture")]]
    signs[:, 0] = signs[:, 0] > 130
    cases = {
        "iris, setosa": (iris.data, iris.target == 0),
        "iris, the others": (iris.data[50:], iris.target[50:]),
        "tumours": (cancer.data, cancer.target),
        "tumours, 2 signs": (signs, cancer.target),
    }
    rows, confirmed = [], 0
    for name, (X, y) in cases.items():
        verdict = mm.separability(X, y)
        assert isinstance(verdict, mm.Verdict)  # two classes
        if verdict.margin is not None:
            because = f"margin ≥ {verdict.margin[0]:.3g}"
        else:
            assert verdict.witness is not None
            because = f"{len(verdict.witness.rows)} rows meet"
        rows.append((name, verdict.kind, verdict.statistical_name, because))
        confirmed += verdict.proof is not None and verdict.proof.verify(X, y)
    _show(console, ("data", "verdict", "to a statistician", "because"), rows, gap=2)
    _say(console, "(The two signs: a worst perimeter over 130, and the worst texture.)")
    _say(console, f"The independent checker confirms {confirmed} of {len(cases)} proofs, in integers.")


def _overlapping(console: Console, X: Any, y: Any) -> None:
    from sklearn.preprocessing import StandardScaler

    _chapter(console, "4  Breast cancer, 569 patients: the pocket keeps the best weights seen")
    rows = []
    for name, data in (("raw", X), ("standardised", StandardScaler().fit_transform(X))):
        last = mm.Perceptron().fit(data, y).history_[-1]
        pocket = mm.PocketPerceptron(random_state=0).fit(data, y)
        errors = last.training_error, pocket.unpolished_error_, pocket.best_error_
        rows.append((name, *[str(round(error * len(y))) for error in errors]))
    columns = "errors of", "the last perceptron", "the pocket", "the pocket, polished"
    _show(console, columns, rows, gap=3)


def _margins(console: Console, X: Any, y: Any) -> None:
    _chapter(console, "5  The largest margin, and the certificate that it is")
    model = mm.HardMarginSVC().fit(X, y == 0)
    _say(console, str(model.certificate_))
    try:
        mm.HardMarginSVC().fit(X, y == 1)
    except mm.NotSeparableError as error:
        _say(console, f"\nIris versicolor against the rest: {error}")
    soft = mm.SoftMarginSVC(C=1.0).fit(X, y == 1)
    free, bound = len(soft.free_support_), len(soft.bound_support_)
    gap = soft.certificate_.relative_gap
    _say(console, f"Soft margin, C = 1: {free} free and {bound} bound support vectors, gap {gap:.0e}.")


def _audit(console: Console, X: Any, y: Any) -> None:
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    _chapter(console, "6  An audit: scikit-learn's LinearSVC, one feature shifted by 50")
    X = StandardScaler().fit_transform(X)
    X[:, 0] += 50.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that it did not converge
        other = LinearSVC(loss="hinge", random_state=0).fit(X, y)
    audit = mm.certify(other, X, y)
    assert isinstance(audit, mm.Certificate)  # two classes: one certificate
    for finding in audit.findings:
        _say(console, f"· {finding}")


def _digits(console: Console, X: Any, y: Any) -> None:
    import numpy as np
    from rich.console import Console
    from rich.progress import track

    _chapter(console, "7  Digits, ten classes: one machine per class, each with its own story")
    model = mm.PocketPerceptron(random_state=0)
    rows, values = [], []
    for digit in track(range(10), "   fitting", console=Console(stderr=True), transient=True):
        one = model.fit(X, y == digit)
        values.append(one.decision_function(X))
        errors = str(round(one.best_error_ * len(y)))
        rows.append((str(digit), errors, str(one.n_mistakes_), one.stop_reason_.rule))
    _show(console, ("digit", "errors", "updates", "why it stopped"), rows, gap=3)
    right = np.count_nonzero(np.argmax(values, axis=0) == y)
    _say(console, f"The largest of the ten decision values names {right} of {len(y)} images right.")


def _page(console: Console, cancer: Any, out: str, began: float) -> None:
    from sklearn.model_selection import train_test_split

    _chapter(console, "The page: data, verdict, model, certificate and pictures in one file")
    try:
        import matplotlib as mpl
    except ImportError:
        _say(console, "(Left out: it needs matplotlib, pip install 'maxmargin[plots]'.)")
        console.print(f"\nDone in {time.perf_counter() - began:.1f} s.")
        return
    mpl.use("Agg")
    X, y = cancer.data, cancer.target_names[cancer.target]
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    path = mm.plots.write_report(
        out,
        mm.HardMarginSVC().fit(X_train, y_train),
        X_train,
        y_train,
        X_val=X_test,
        y_val=y_test,
        whole=(X, y),
        names=[str(name) for name in cancer.feature_names],
        title="Breast tumours: the largest margin",
        recipe="maxmargin demo",
    )
    console.print(f"\nDone in {time.perf_counter() - began:.1f} s. The page:")
    console.print(str(path.resolve()), soft_wrap=True, markup=False)
