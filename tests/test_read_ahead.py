"""The next part is read by a thread: in order, one part ahead, and the thread ends with the pass."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from maxmargin.rows import as_rows, on_disk
from maxmargin.rows.on_disk import FileRows, PartedRows, Section, read_ahead

PLACES = [(0, 2), (2, 4), (4, 6), (6, 7)]


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """With a thread however small the parts; none is left at the end."""
    monkeypatch.setattr(on_disk, "MIN_THREAD_ENTRIES", 0)
    monkeypatch.setattr(on_disk, "allowance", lambda: None)
    yield
    assert readers() == []


def readers() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("maxmargin-read")]


def test_parts_come_in_order_and_one_is_on_its_way() -> None:
    begun: list[int] = []
    done = threading.Semaphore(0)

    def read(start: int, stop: int) -> str:
        begun.append(start)
        done.release()
        return f"{start}-{stop}"

    seen = []
    for k, (where, part) in enumerate(read_ahead(read, PLACES, 1)):
        seen.append((where.start, part))
        for _ in range(1 if k else 2):
            # The next one is being read without being asked for; after the last there is none.
            done.acquire(timeout=120 if k < 3 else 0.0)
        assert begun == [0, 2, 4, 6][: k + 2]
    assert seen == [(0, "0-2"), (2, "2-4"), (4, "4-6"), (6, "6-7")]


def test_an_error_of_the_thread_is_raised_where_its_part_is_asked_for() -> None:
    def read(start: int, stop: int) -> int:
        if start == 4:
            raise OSError("the disk is gone")
        return start

    parts = read_ahead(read, PLACES, 1)
    assert [next(parts)[1], next(parts)[1]] == [0, 2]
    with pytest.raises(OSError, match="the disk is gone"):
        next(parts)


@pytest.mark.parametrize("reason", [KeyboardInterrupt, ZeroDivisionError])
def test_a_pass_given_up_leaves_no_thread(reason: type[BaseException]) -> None:
    parts = read_ahead(lambda start, stop: start, PLACES, 1)
    next(parts)
    assert len(readers()) == 1
    with pytest.raises(reason):
        parts.throw(reason)
    assert readers() == []


@pytest.mark.parametrize(("left", "numbers"), [(1 << 20, 1 << 30), (None, -1)])
def test_little_memory_or_small_parts_need_no_thread(
    monkeypatch: pytest.MonkeyPatch, left: int | None, numbers: int
) -> None:
    monkeypatch.setattr(on_disk, "allowance", lambda: left)
    for _ in read_ahead(lambda start, stop: start, PLACES, numbers):
        assert readers() == []


def test_a_pass_over_a_file_has_the_same_bits(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).standard_normal((10_000, 7))
    X.tofile(tmp_path / "X")
    V, C = X[:2].T, X[:, :2].T
    for left in (None, 0):  # mapped whole, and in windows
        monkeypatch.setattr("maxmargin.rows.on_disk.addresses_left", lambda left=left: left)
        rows = FileRows(tmp_path / "X", 7, [Section(tmp_path / "X", 0, "<f8", X.shape)], largest=5_000)
        with_thread = rows.times(V), rows.combine(C)
        doubled = rows.mapped(lambda block: as_rows(2 * block.X)).combine(C)
        with monkeypatch.context() as without:
            without.setattr(on_disk, "allowance", lambda: 0)
            assert np.array_equal(rows.times(V), with_thread[0])
            assert np.array_equal(rows.combine(C), with_thread[1])
        assert np.array_equal(doubled, 2 * with_thread[1])


def test_two_passes_at_once_do_not_meet() -> None:
    near = as_rows(np.arange(60.0).reshape(20, 3))
    far = PartedRows(near.between, (20, 3), 60, False, largest=12)
    pairs = list(zip(far.blocks(), far.blocks(), strict=True))
    assert all(np.array_equal(a.X, b.X) for (_, a), (_, b) in pairs)
    assert len(pairs) == 5
