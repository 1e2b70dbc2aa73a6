"""As many distinct items come out of merging as went in."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from passdown.core.merge.merge import make_digest, merge_events
from tests.proof import proof_count
from tests.proofs.conftest import Tell
from tests.support.commands import environment
from tests.support.events import START, make_text, read

EACH = 100
KINDS = ("done", "question", "constraint", "decision")


def make_texts(count: int) -> list[str]:
    """Write events with so many distinct items in all, a hundred in each."""
    texts = []
    for number in range(0, count, EACH):
        items = [
            f"item {number + place}: long enough to be cut by whoever cuts at {'x' * 60}"
            for place in range(EACH)
        ]
        second, quarter = number // EACH % 86_400, EACH // 4
        at = f"{START.date()}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"
        done, questions, constraints, decisions = (items[at : at + quarter] for at in range(0, EACH, quarter))
        texts.append(
            make_text(
                at,
                f"agent-{number % 7}",
                this_session=done,
                open_questions=questions,
                constraints=constraints,
                decisions={f"k{number + place}": text for place, text in enumerate(decisions)},
            )
        )
    return texts


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("R108", "R109", "R111", "R113")
def test_as_many_items_come_out_of_merging_as_went_in(tell: Tell) -> None:
    count = proof_count(fast=10_000, ci=100_000, long=1_000_000)

    merged = merge_events([read(text) for text in make_texts(count)])

    found = Counter({kind: len(merged.tables[kind]) for kind in KINDS})
    assert found.total() == count
    assert sum(newest.total for newest in make_digest(merged, 0, 20).kinds.values()) == count
    held = [one for kind in KINDS for one in merged.tables[kind].values()]
    numbers = {one.text.partition("item ")[2].partition(":")[0] for one in held}
    assert numbers == {str(number) for number in range(count)}
    tell(count)


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("R113")
def test_as_many_items_come_out_of_the_log_as_went_in(tmp_path: Path, tell: Tell) -> None:
    count = proof_count(fast=2_000, ci=20_000, long=1_000_000)
    folder = tmp_path / "thoughts/shared/handoffs/events"
    folder.mkdir(parents=True)
    for number, text in enumerate(make_texts(count)):
        (folder / f"{number:06}.md").write_text(text, encoding="utf-8")

    command = [sys.executable, "-m", "passdown", "log", "--all", "--json"]
    with (tmp_path / "answer.json").open("wb") as answer:
        subprocess.run(command, cwd=tmp_path, stdout=answer, check=True, env=environment())

    found = (tmp_path / "answer.json").read_text(encoding="utf-8")
    assert {int(number) for number in re.findall(r'"item ([0-9]+):', found)} == set(range(count))
    tell(count)
