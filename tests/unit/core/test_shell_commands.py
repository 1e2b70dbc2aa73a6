"""Shell commands: which of them tests, and what its exit code tells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.shell_commands import (
    LEFT_OUT,
    ObservedTest,
    find_commits,
    find_tests,
    is_test,
    is_whole,
    share_test,
    split_command,
)

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
    assert list(find_tests(text, 3)) == [ObservedTest(text, 3)]


@pytest.mark.parametrize("text", NO_TESTS.strip().splitlines())
def test_what_only_looks_like_a_test_is_none(text: str) -> None:
    assert not is_test(text)
    assert list(find_tests(text, 0)) == []


@pytest.mark.parametrize(
    ("command", "code", "ran"),
    [
        ("cd sub && pytest", 1, ObservedTest("pytest", 1)),
        ("cd sub && export A=1 && pytest", 1, ObservedTest("pytest", 1)),
        ("echo a; pytest", 4, ObservedTest("pytest", 4)),
        ("false\npytest", 4, ObservedTest("pytest", 4)),
        ("(cd a && pytest)", 2, ObservedTest("pytest", 2)),
        ("npm run build && npm test", 0, ObservedTest("npm test", 0)),
        ("npm run build && npm test", 1, ObservedTest("npm test", None)),
        ("false; cd a && npm test", 1, ObservedTest("npm test", 1)),
        ("make test && git push", 0, ObservedTest("make test", 0)),
        ("make test && git push", 1, ObservedTest("make test", None)),
        ("make test; echo done", 0, ObservedTest("make test", None)),
        ("make test || true", 0, ObservedTest("make test", None)),
        ("true || make test", 0, ObservedTest("make test", None)),
        ("make test 2>&1 | tail -3", 0, ObservedTest("make test", None)),
        ("set -o pipefail; make test 2>&1 | tail -3", 2, ObservedTest("make test", 2)),
        ("set -o pipefail; make test | tail -3; echo", 0, ObservedTest("make test", None)),
        ("make test & wait", 0, ObservedTest("make test", None)),
        ("make test > log 2>&1", 2, ObservedTest("make test > log", 2)),
        ("make test &> log", 2, ObservedTest("make test &> log", 2)),
        ("pytest", None, ObservedTest("pytest", None)),
    ],
)
def test_an_exit_code_is_that_of_the_test_only_where_it_tells(
    command: str, code: int | None, ran: ObservedTest
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


@pytest.mark.requirement("C61", "G18")
@pytest.mark.parametrize(
    ("command", "shared"),
    [
        ("pytest", "pytest"),
        ("pytest -q tests/unit/test_a.py::test_b", "pytest -q tests/unit/test_a.py::test_b"),
        ("DB_PASSWORD=hunter2 pytest tests/unit -k x", "… pytest tests/unit …"),
        ("PGPASSWORD='two words' sudo env A=1 B=2 npm test", "… sudo env … npm test"),
        ("pytest --token=abc tests", "pytest … tests"),
        ("pytest --token abc -q tests", "pytest … -q tests"),
        ("pytest -pabc --token tests", "pytest … tests"),
        ("pytest tests/a.py::test_b[hunter2]", "pytest …"),
        ("uv run --with x pytest", "…"),
        ("uv run --frozen pytest", "uv run … pytest"),
        ("timeout 60 .venv/bin/python -X dev -m pytest", "timeout … python … -m pytest"),
        ("go test ./internal/auth/... -run TestX", "go test ./internal/auth/... …"),
        ("go test ./... hunter2/x", "go test ./... hunter2/x"),
        ("go test --password hunter2/x", "go test …"),
        ("go test wJalrXUtnFEMI/K7MDENG", "go test …"),
        ("bazel test //pkg:unit", "bazel test //pkg:unit"),
        ("cargo test --all merge", "cargo test --all …"),
        ("npm run test:unit -- --token=1", "npm run test:unit -- …"),
        ("npm run test:E2E9x", "npm run test:…"),
        ("make -k test-A1", "…"),
        ("make test TOKEN=abc", "make test …"),
        ("./scripts/run_tests.sh hunter2", "./scripts/run_tests.sh …"),
        ("/home/me/secret/run_tests.sh", "…/run_tests.sh"),
        ("/opt/x/pytest /etc/passwd ../tests/a.py", "pytest …"),
        (f"pytest tests/{'a' * 300}.py", "pytest …"),
        ("jest src/Button.test.tsx 'a b'", "jest src/Button.test.tsx …"),
        ("pytest [redacted: github-pat]", "pytest …"),
        ("DB_PASSWORD=[redacted: password-value] pytest", "… pytest"),
        ("PGPASSWORD='[redacted: password-value]' npm test", "… npm test"),
        ("curl https://x", "…"),
    ],
)
def test_of_a_test_only_known_words_are_shared(command: str, shared: str) -> None:
    assert share_test(command) == shared
    assert share_test(shared) == shared
    assert is_whole(shared) == (command == shared)


@pytest.mark.parametrize("command", ["/usr/bin/python3 -m pytest", ".venv/bin/pytest", "./gradlew test"])
def test_the_folder_of_a_known_program_is_not_shared(command: str) -> None:
    assert share_test(command) == command.rpartition("/")[2]


WORDS = st.sampled_from(
    [
        *(
            "pytest",
            "npm",
            "test",
            "run",
            "make",
            "test:a",
            "test-B",
            "-m",
            "-q",
            "--x",
            "env",
            "timeout",
            "60",
        ),
        *(
            "uv",
            "python",
            "bash",
            "run_tests.sh",
            "A=b",
            "tests/a.py",
            "src/x",
            LEFT_OUT,
            "coverage",
            "'q z'",
        ),
    ]
)


@given(st.lists(WORDS, max_size=6).map(" ".join))
def test_a_shared_command_is_shared_as_it_is(command: str) -> None:
    shared = share_test(command)

    assert share_test(shared) == shared
    assert "A=b" not in shared
    assert (shared != LEFT_OUT) <= is_test(command)
