"""Our hook beside another tool's text: what the host takes of one answer is less for us by as much.

Run by a host as `python crowded.py PASSDOWN CHARACTERS`.
"""

import json
import subprocess
import sys


def main(program: str, characters: int) -> None:
    """Answer as the hook does, with as many characters behind its brief."""
    said = subprocess.run([program, "hook"], stdin=sys.stdin, stdout=subprocess.PIPE, text=True, check=True)
    answer = json.loads(said.stdout or "{}")
    if "hookSpecificOutput" in answer:
        answer["hookSpecificOutput"]["additionalContext"] += "\n" + "x" * characters
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
