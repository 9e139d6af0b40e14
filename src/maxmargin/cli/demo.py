"""``maxmargin demo``: the main job on real data, in a minute and on one screen."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING

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

    console = Console(highlight=False, width=min(Console().width, 100))
    began = time.perf_counter()
    console.rule("[bold]maxmargin: the linear classifier that comes with its proof")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)  # the story tells how each run ended
        _separable(console)
        _xor(console)
        _verdicts(console)
        _overlapping(console)
        _margins(console)
        _audit(console)
        if not quick:
            _digits(console)
    _page(console, out, began)


def _chapter(console: Console, title: str) -> None:
    console.print(f"\n[bold]{title}[/bold]")


def _say(console: Console, text: str) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console.print(Padding(Text(text), (0, 0, 0, 3)))  # as it is: [plots] is no markup


def _separable(console: Console) -> None:
    import numpy as np
    from sklearn.datasets import load_iris

    iris = load_iris()
    X, y = iris.data, np.where(iris.target == 0, "setosa", "other")
    _chapter(console, "1  Iris setosa against the rest: the perceptron and its mistake bound")
    model = mm.Perceptron().fit(X, y)
    bound = mm.mistake_bound(X, y)
    _say(console, str(model.stop_reason_))
    _say(console, f"Rosenblatt's theorem: {str(bound)[0].lower()}{str(bound)[1:]}")
    weights = " ".join(f"{w:+.2f}" for w in model.coef_[0])
    _say(console, f"f(x) = ({weights})·x {model.intercept_[0]:+.2f}")
    batch = mm.BatchPerceptron().fit(X, y)
    _say(console, f"Steps of gradient descent with exact line search: {batch.n_iter_}.")


def _xor(console: Console) -> None:
    _chapter(console, "2  XOR: a run that would never end, and says so")
    model = mm.Perceptron().fit([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    _say(console, str(model.stop_reason_))


def _verdicts(console: Console) -> None:
    import numpy as np
    from rich.table import Table
    from sklearn.datasets import load_breast_cancer, load_iris

    _chapter(console, "3  Is it separable? Verdicts with exact proofs")
    iris, cancer = load_iris(), load_breast_cancer()
    names = list(cancer.feature_names)
    perimeter = cancer.data[:, names.index("worst perimeter")]
    texture = cancer.data[:, names.index("worst texture")]
    cases = {
        "iris, setosa": (iris.data, iris.target == 0),
        "iris, the others": (iris.data[50:], iris.target[50:]),
        "tumours": (cancer.data, cancer.target),
        "tumours, 2 signs": (np.column_stack([perimeter > 130, texture]), cancer.target),
    }
    table = Table("data", "verdict", "to a statistician", "because", box=None, padding=(0, 2))
    confirmed = 0
    for name, (X, y) in cases.items():
        verdict = mm.separability(X, y)
        assert isinstance(verdict, mm.Verdict)  # two classes
        because = f"margin ≥ {verdict.margin[0]:.3g}" if verdict.margin else _meeting(verdict)
        table.add_row(name, verdict.kind, verdict.statistical_name, because)
        confirmed += verdict.proof.verify(X, y)
    console.print(table)
    _say(console, "(The two signs: a worst perimeter over 130, and the worst texture.)")
    _say(console, f"The independent checker confirms {confirmed} of {len(cases)} proofs, in integers.")


def _meeting(verdict: mm.Verdict) -> str:
    assert verdict.witness is not None
    return f"{len(verdict.witness.rows)} rows meet"


def _overlapping(console: Console) -> None:
    from rich.table import Table
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    _chapter(console, "4  Breast cancer, 569 patients: the pocket keeps the best weights seen")
    X, y = load_breast_cancer(return_X_y=True)
    columns = "errors of", "the last perceptron", "the pocket", "the pocket, polished"
    table = Table(*columns, box=None, padding=(0, 3))
    for name, data in (("raw", X), ("standardised", StandardScaler().fit_transform(X))):
        last = mm.Perceptron().fit(data, y)
        pocket = mm.PocketPerceptron(random_state=0).fit(data, y)
        errors = last.history_[-1].training_error, pocket.unpolished_error_, pocket.best_error_
        table.add_row(name, *(str(round(e * len(y))) for e in errors))
    console.print(table)


def _margins(console: Console) -> None:
    from sklearn.datasets import load_iris

    iris = load_iris()
    X, y = iris.data, iris.target
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


def _audit(console: Console) -> None:
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    _chapter(console, "6  An audit: scikit-learn's LinearSVC, one feature shifted by 50")
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    X[:, 0] += 50.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that it did not converge
        other = LinearSVC(loss="hinge", random_state=0).fit(X, y)
    audit = mm.certify(other, X, y)
    assert isinstance(audit, mm.Certificate)  # two classes: one certificate
    for finding in audit.findings:
        _say(console, f"· {finding}")


def _page(console: Console, out: str, began: float) -> None:
    _chapter(console, "The page: data, verdict, model, certificate and pictures in one file")
    try:
        import matplotlib as mpl
    except ImportError:
        _say(console, "(Left out: it needs matplotlib, pip install 'maxmargin[plots]'.)")
        console.print(f"\nDone in {time.perf_counter() - began:.1f} s.")
        return
    mpl.use("Agg")
    import numpy as np
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    X, y = load_breast_cancer(return_X_y=True, as_frame=False)
    names = [str(name) for name in load_breast_cancer().feature_names]
    parts = train_test_split(X, np.where(y == 0, "malignant", "benign"), random_state=0)
    X_train, X_test, y_train, y_test = parts
    model = mm.HardMarginSVC().fit(X_train, y_train)
    path = mm.plots.write_report(
        out,
        model,
        X_train,
        y_train,
        X_val=X_test,
        y_val=y_test,
        whole=(X, np.where(y == 0, "malignant", "benign")),
        names=names,
        title="Breast tumours: the largest margin",
        recipe="maxmargin demo",
    )
    console.print(f"\nDone in {time.perf_counter() - began:.1f} s. The page:")
    console.print(str(path.resolve()), soft_wrap=True, markup=False)


def _digits(console: Console) -> None:
    import numpy as np
    from rich.console import Console
    from rich.progress import track
    from rich.table import Table
    from sklearn.datasets import load_digits

    _chapter(console, "7  Digits, ten classes: one machine per class, each with its own story")
    X, y = load_digits(return_X_y=True)
    model = mm.PocketPerceptron(random_state=0)
    table = Table("digit", "errors", "updates", "why it stopped", box=None, padding=(0, 3))
    values = []
    for digit in track(range(10), "   fitting", console=Console(stderr=True), transient=True):
        one = model.fit(X, y == digit)
        values.append(one.decision_function(X))
        errors = round(one.best_error_ * len(y))
        table.add_row(str(digit), str(errors), str(one.n_mistakes_), one.stop_reason_.rule)
    console.print(table)
    right = np.count_nonzero(np.argmax(values, axis=0) == y)
    _say(console, f"The largest of the ten decision values names {right} of {len(y)} images right.")
