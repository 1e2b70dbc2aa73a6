"""Print which secrets of two public rule sets are found: `python -m tests.secrets`."""

from tests.secrets.report import render_report

if __name__ == "__main__":
    for line in render_report():
        print(line)
