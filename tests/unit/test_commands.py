"""Shell commands: which of them tests, and what its exit code tells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.commands import Ran, find_commits, find_tests, is_test, split_command

TESTS = """
pytest -q
py.test
python -m pytest tests/unit
python3.12 -m unittest -q
/usr/bin/python3 -m doctest README.md
python manage.py test app
FOO=1 BAR='a b' pytest
uv run pytest
uv run --frozen -q pytest tests -k 'a && b'
poetry run pytest
coverage run -m pytest
bundle exec rspec
sudo env A=1 timeout -k 5 60s go test ./...
nice -n 10 cargo test --all
cargo nextest run
npm test
npm t
npm run test
npm run test:unit -- --watch=false
yarn test
pnpm -r test
bun test
npx jest
npx playwright test
node --test
deno test
make test
make -j4 -C sub test
make check
just test
./gradlew test
mvn -q verify
mix test
rake spec
dotnet test
bazel test //...
zig build test
tox -e py311
nox
ctest --output-on-failure
./scripts/test
./run_tests.sh
bash run-tests.sh
sh tests/test.sh
python tests/run_all_tests.py
rebar3 ct
"""
NO_TESTS = """
test -f README.md
[ -f pytest ]
echo pytest
ls tests
cat test.py
git commit -m "make test"
make
make -j4 all
npm run build
npm install
npm
python script.py
python -m
python
bash
go build ./...
cargo build
pip install pytest
grep -rn pytest .
zig build
vim test_add.py
FOO=1
timeout 60
node script.js
"""


@pytest.mark.parametrize("text", TESTS.strip().splitlines())
def test_a_test_command_is_recognised(text: str) -> None:
    assert is_test(text)
    assert list(find_tests(text, 3)) == [Ran(text, 3)]


@pytest.mark.parametrize("text", NO_TESTS.strip().splitlines())
def test_what_only_looks_like_a_test_is_none(text: str) -> None:
    assert not is_test(text)
    assert list(find_tests(text, 0)) == []


@pytest.mark.parametrize(
    ("command", "code", "ran"),
    [
        ("cd sub && pytest", 1, Ran("pytest", 1)),
        ("cd sub && export A=1 && pytest", 1, Ran("pytest", 1)),
        ("echo a; pytest", 4, Ran("pytest", 4)),
        ("false\npytest", 4, Ran("pytest", 4)),
        ("(cd a && pytest)", 2, Ran("pytest", 2)),
        ("npm run build && npm test", 0, Ran("npm test", 0)),
        ("npm run build && npm test", 1, Ran("npm test", None)),
        ("false; cd a && npm test", 1, Ran("npm test", 1)),
        ("make test && git push", 0, Ran("make test", 0)),
        ("make test && git push", 1, Ran("make test", None)),
        ("make test; echo done", 0, Ran("make test", None)),
        ("make test || true", 0, Ran("make test", None)),
        ("true || make test", 0, Ran("make test", None)),
        ("make test 2>&1 | tail -3", 0, Ran("make test", None)),
        ("set -o pipefail; make test 2>&1 | tail -3", 2, Ran("make test", 2)),
        ("set -o pipefail; make test | tail -3; echo", 0, Ran("make test", None)),
        ("make test & wait", 0, Ran("make test", None)),
        ("make test > log 2>&1", 2, Ran("make test > log", 2)),
        ("make test &> log", 2, Ran("make test &> log", 2)),
        ("pytest", None, Ran("pytest", None)),
    ],
)
def test_an_exit_code_is_that_of_the_test_only_where_it_tells(
    command: str, code: int | None, ran: Ran
) -> None:
    assert list(find_tests(command, code)) == [ran]


def test_what_stands_in_quotes_comments_and_here_documents_is_not_run() -> None:
    command = (
        "cat > a <<'EOF' && echo b\npytest\nEOF\n# make test\necho 'x; pytest' \"&& pytest\" \\; ls <<< y"
    )

    assert [one.text for one in split_command(command)] == [
        "cat > a <<'EOF'",
        "echo b",
        "echo 'x; pytest' \"&& pytest\" \\; ls <<< y",
    ]
    assert list(find_tests(command, 0)) == []


def test_a_here_document_without_an_end_takes_the_rest() -> None:
    assert [one.text for one in split_command("cat <<A\nx\npytest")] == ["cat <<A"]
    assert [one.text for one in split_command("cat <<A <<B\nx\nA\ny\nB\npytest")] == ["cat <<A <<B", "pytest"]


@given(st.text("ab'\"\\;&|<>\n #(E$1 ", max_size=60))
def test_no_command_is_too_strange_to_be_cut(command: str) -> None:
    for one in split_command(command):
        assert one.text in command
    list(find_tests(f"pytest {command}", 1))


def test_commits_are_those_that_git_names() -> None:
    output = (
        "[main 830e374] Add\n 5 files\n[topic (root-commit) 1234567890] x\n[main 830e374] again\n[no id] y"
    )

    assert list(find_commits("git add . && git -C sub commit -m x", output)) == ["830e374", "1234567890"]
    assert list(find_commits("git log", output)) == []
    assert list(find_commits("cat log", output)) == []
