"""The bar is drawn a bounded number of times, fits its line, and is gone afterwards."""

import pytest

from passdown.faces.cli.progress import Progress


def drawn(capsys: pytest.CaptureFixture[str], total: int, *, shown: bool = True) -> list[str]:
    """Do all steps and give what was drawn, one piece for each time the cursor went back."""
    with Progress("checking", total, shown=shown) as progress:
        for _ in range(total):
            progress.step()
    out, err = capsys.readouterr()
    assert out == ""
    return err.split("\r")


def test_each_step_is_drawn_when_there_are_few(capsys: pytest.CaptureFixture[str]) -> None:
    assert drawn(capsys, 3) == [
        "",
        "checking [##########--------------------] 1 of 3",
        "checking [####################----------] 2 of 3",
        "checking [##############################] 3 of 3",
        " " * 48,
        "",
    ]


def test_many_steps_are_drawn_a_hundred_times(capsys: pytest.CaptureFixture[str]) -> None:
    assert len([piece for piece in drawn(capsys, 12_345) if piece.strip()]) == 100


def test_a_narrow_terminal_gets_a_line_that_fits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")

    assert {len(piece) for piece in drawn(capsys, 5)} == {0, 19}


def test_nothing_is_drawn_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    assert drawn(capsys, 5, shown=False) == [""]


def test_nothing_is_drawn_on_a_terminal_that_cannot_go_back(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")

    assert drawn(capsys, 5) == [""]


def test_the_bar_is_gone_when_the_work_fails(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        with Progress("checking", 2, shown=True) as progress:
            progress.step()
            raise KeyError

    with pytest.raises(KeyError):
        work()

    assert capsys.readouterr().err.endswith("1 of 2\r" + " " * 48 + "\r")


def test_hiding_twice_draws_once(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("checking", 2, shown=True) as progress:
        progress.step()
        progress.hide()
        capsys.readouterr()
        progress.hide()

    assert capsys.readouterr().err == ""
