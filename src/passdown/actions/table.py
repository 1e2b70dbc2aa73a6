"""The table of actions by noun and verb; an action is loaded when it is looked up."""

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from passdown.errors import UsageError

Room = tuple[str, tuple[str, ...]]


def _in(room: str, verbs: str) -> Room:
    return room, tuple(verbs.split())


ACTIONS: Final[Mapping[str, Room]] = MappingProxyType(
    {
        "archives": _in("log", "clean resolve run verify"),
        "briefs": _in("handover", "describe_brief show_banner show_brief"),
        "certificates": _in("handover", "certify"),
        "checkpoints": _in("work", "plan_resume plan_validation resume save show validate"),
        "checkups": _in("project", "check_all"),
        "checks": _in("project", "check_files check_project"),
        "claims": _in("coordination", "claim close"),
        "command_runs": _in("work", "run_lines"),
        "contexts": _in("work", "check recall save"),
        "doctor": _in("project", "examine mend sum_up_costs"),
        "edits": _in("coordination", "judge_edit"),
        "events": _in("log", "retract_event show_event"),
        "facts": _in("sessions", "answer clear_now decide finish_work retract state tell"),
        "feedback": _in("work", "dismiss list_all"),
        "gates": _in("work", "list_all plan run show state"),
        "guard": _in(
            "coordination", "judge_branch judge_push judge_staged plan_install uninstall write_hooks"
        ),
        "handoffs": _in("handover", "create create_for_one list_newest list_sessions resume review show"),
        "history": _in(
            "project", "carry_out count_history forget list_sessions pick_words plan_import show_session"
        ),
        "host_ends": _in("sessions", "end_hosted"),
        "imports": _in("log", "carry_out plan_import"),
        "installs": _in("project", "install list_hosts plan_install plan_uninstall uninstall"),
        "log": _in("log", "label_events list_events"),
        "loops": _in("work", "append approve finish go_on leave_feedback open_loop status"),
        "mail": _in("coordination", "read_inbox send"),
        "observations": _in("sessions", "observe"),
        "offers": _in("coordination", "accept decline list_open offer review withdraw"),
        "preflight": _in("work", "list_agents lock preflight"),
        "project": _in("project", "pause sum_up_events unpause"),
        "prompts": _in("handover", "answer_prompt start_subagent"),
        "publications": _in("sessions", "publish"),
        "reservations": _in("coordination", "release renew reserve take_over"),
        "results": _in("coordination", "apply drop list_known read_rules show"),
        "searches": _in("project", "search"),
        "sessions": _in("sessions", "end send_heartbeat"),
        "setups": _in("project", "find_folder plan_setup write"),
        "starts": _in("sessions", "follow_start start start_hosted"),
        "status": _in("sessions", "status"),
        "syntheses": _in("log", "merge_files preview_synthesis render_elsewhere synthesize"),
        "tasks": _in("coordination", "add block change export give_back import_file note show"),
        "tdd": _in("work", "begin show"),
        "team": _in("coordination", "distribute migrate plan_distribution plan_key write_key"),
        "tracker": _in("work", "drop list_known sync"),
        "tracks": _in("handover", "bind finish show unbind"),
        "trials": _in("project", "try_out"),
        "turns": _in("sessions", "end_subagent end_turn follow_turn save"),
        "view_checks": _in("log", "check_last_commit check_working_tree"),
        "views": _in("log", "list_section show_view verify_view"),
    }
)
"""For each noun, its room and its verbs."""


def find_action(name: str) -> Callable[..., object]:
    """Return the action that is called `noun.verb`; raise a UsageError if there is none."""
    noun, _, verb = name.partition(".")
    room, verbs = ACTIONS.get(noun, ("", ()))
    if verb not in verbs:
        raise UsageError(f"there is no action {name[:60]!r}", hint="the table of actions lists them")
    module = importlib.import_module(f"passdown.actions.{room}.{noun}")
    action: Callable[..., object] = getattr(module, verb)
    return action
