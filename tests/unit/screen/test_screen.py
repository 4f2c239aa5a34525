"""What people see: on 80 columns, without colour, in a pipe; and what no file can make a terminal do."""

import io
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from runner import formatting
from runner.analysis.stats import Interval
from runner.planning import plan_listing
from runner.planning.plan import Plan, Planned, of_cells
from runner.report.document import Report
from runner.screen import parts_view, say, show
from runner.screen.progress import RunProgress
from runner.screen.summary import summary_view
from runner.study.file import Study
from tests import made_report
from tests import made_rows as made
from tests.clock import FakeClock
from tests.made_report import DONE, FAST, SLOW
from tests.printing import on_screen, printed
from workloads.spec.cell import Cell

NAMES = ["torch-2.13-cpu", "tf-2.21", "mxnet-1.9", "torch-1.4", "tf-1.15", "mxnet-1.7"]
EVIL = "\x1b]0;owned\x07[red]x\u202e\x9b31m\r"


def session(stacks: int = 3, message: str = "no step finished in 300 s", task: str = "lenet5",
            end: made.Record = DONE, **plan: Any) -> Report:
    cells = [made.cell(name, task=task) for name in NAMES[:stacks]]
    records = [record for i, cell in enumerate(cells) for record in made.runs(cell, FAST if i == 1 else SLOW)]
    failed = made.run(cells[0], 5, ending="timeout", message=message)
    plan = {"rounds": 6, "baseline": NAMES[0], **plan}
    return made_report.reported([made.session(), made.plan(*cells, **plan), *records, *failed, end])


@pytest.mark.parametrize("stacks", [1, 2, 3, 6])
def test_a_summary_fits_80_columns(stacks: int) -> None:
    assert max(map(len, on_screen(session(stacks)).splitlines())) <= 80


def test_on_a_narrow_screen_nothing_of_a_table_is_lost() -> None:
    shown = on_screen(session(6), is_detailed=True, width=30)

    assert 30 >= max(map(len, shown.splitlines()))
    for line in (r"tf-2\.21         150", r"torch-2\.13-cpu  \[\d", r"torch-2\.13-cpu .* of 6"):
        assert re.search(f"^  {line}", shown, re.MULTILINE)


@pytest.mark.parametrize(("width", "parts"), [(60, 2), (80, 1)])
def test_a_table_with_more_columns_than_fit_stands_in_parts_whose_words_are_whole(width: int, parts: int) -> None:
    rows = [{"": name, "compile time": "4.22 s", "peak memory": "535 MB", "rate": "12,160 (11,944–12,386)",
             "loss": "0.614 to 0.514", "first step": "378 ms", "at steps": "112–113"} for name in NAMES[:2]]
    lines = printed(parts_view([{"LeNet-5": rows}]), width=width).splitlines()

    assert width >= max(map(len, lines)) and parts == lines.count("LeNet-5")
    assert {word for pair in rows[0].items() for text in pair for word in text.split()} <= set(" ".join(lines).split())
    assert all(any(value in line for line in lines) for value in ("4.22 s", "535 MB", "378 ms"))


def test_a_detailed_line_has_the_rate_with_its_interval_its_notes_and_its_runs() -> None:
    lines = on_screen(session(6), is_detailed=True).splitlines()
    line = next(line for line in lines if line.startswith("  tf-2.21"))

    assert re.fullmatch(r"  tf-2.21 +150 \(149–151\) +\[\d\] +5 of 6", line.rstrip())


def test_winners_and_no_difference_are_words_and_colours_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_screen(session(3))
    coloured = on_screen(session(3), force_terminal=True, color_system="standard")
    plain = on_screen(session(3), force_terminal=True, color_system="standard", no_color=True)
    monkeypatch.setenv("TERM", "dumb")

    assert "FASTEST" in shown and "as fast" in shown and "\x1b" not in shown
    assert "\x1b[1;32m" in coloured
    assert not re.search(r"\x1b\[[\d;]*3\d", plain)
    assert "\x1b" not in on_screen(session(3), force_terminal=True)


def test_details_say_what_a_ratio_is_what_failed_what_was_skipped_and_that_a_session_is_unfinished() -> None:
    told = session(skipped={made.cell("tf-0"): "no image"})
    shown = " ".join(on_screen(told, is_detailed=True, width=160).split())

    assert "1.32x (1.28–1.37) is 1.32 times as fast as torch-2.13-cpu in the same rounds" in shown
    assert f"torch-2.13-cpu {made.LENET5}, training, batch 10 timeout 5 no step finished in" in shown
    assert "tf-0 LeNet-5 (tanh, 62 k parameters), training, batch 10 no image" in shown
    assert "[1] It was not checked here that this stack builds the same model" in shown
    assert "NOT COMPLETE" in on_screen(session(end=made.INCOMPLETE))


def test_what_a_stack_cannot_do_is_told_once_for_all_cells_and_other_failures_one_by_one() -> None:
    cells = [made.cell("torch", batch=batch) for batch in (1, 2)]
    for ending, lines in (("unsupported", [["torch", "2 cells", "unsupported", "0", "no such kernel"]]),
                          ("timeout", [["torch", f"{made.LENET5}, training, batch {batch}", "timeout", "0",
                                        "no such kernel"] for batch in (1, 2)])):
        failed = [each for cell in cells for each in made.run(cell, 0, ending=ending, message="no such kernel")]
        said = on_screen(made_report.reported([made.session(), made.plan(*cells, rounds=1), *failed]),
                       width=120)
        assert lines == [re.split("  +", line.strip()) for line in said.splitlines() if "no such kernel" in line]


@pytest.mark.parametrize("view", [
    lambda: summary_view(session(message=EVIL), is_detailed=True), lambda: summary_view(session(task=EVIL)),
    lambda: summary_view(session(skipped={made.cell(EVIL): EVIL}), is_detailed=True),
    lambda: parts_view(plan_listing.parts(
        of_cells(EVIL, 1, 1, [made.cell(EVIL, task=EVIL), made.cell(f"{EVIL}2")]).without({f"{EVIL}2": EVIL}), 1.0)),
    lambda: parts_view([[{"result": EVIL}]]), lambda: summary_view(made_report.contents(made_report.evil())[2]),
    lambda: summary_view(made_report.contents(made_report.evil())[2], is_detailed=True),
])
def test_no_file_can_send_a_terminal_control_codes_or_markup(view: Any) -> None:
    shown = printed(view())

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)
    assert r"\x1b" in shown.replace("\n", "").replace(" ", "")


def test_a_stranger_s_markup_is_shown_and_not_obeyed() -> None:
    assert "[bold]x[/bold] :smile:" in printed(parts_view([[{"result": "[bold]x[/bold] :smile:"}]]))


def test_a_console_that_knows_only_ascii_gets_only_ascii() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    Console(file=file, width=80).print(summary_view(session(3)))
    file.flush()

    assert b"#####" in raw.getvalue() and b"1.49-1.51  FASTEST" in raw.getvalue()


def test_results_go_to_standard_output_and_messages_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    show(parts_view([[{"stack": "torch"}]]))
    say("a message [bold] " + "long " * 40)
    out, err = capsys.readouterr()

    assert "torch" in out and "message" not in out
    assert err.startswith("a message [bold] long") and 1 == err.count("\n")


def test_a_terminal_that_says_it_is_no_column_wide_is_printed_on(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    show("a result")
    say("a message")
    assert ("a result\n", "a message\n") == capsys.readouterr()


def test_a_plan_shows_its_runs_its_time_and_what_is_skipped_or_that_nothing_runs() -> None:
    plan = of_cells("s", 5, 1, map(made.cell, ("torch", "tf", "mxnet"))).without({"mxnet": "no image"})
    shown = printed(parts_view(plan_listing.parts(plan, 150.0)))
    assert "2 cells x 5 rounds = 10 runs, about 2 min; baseline torch" in shown
    assert re.search(r"train +LeNet-5 \(tanh, 62 k parameters\), training, batch 10 +torch, tf", shown)
    assert "mxnet, LeNet-5 (tanh, 62 k parameters), training, batch 10: no image" in shown

    shown = printed(parts_view(plan_listing.parts(plan.without({"torch": "no image", "tf": "no image"}), 0.0)))
    assert "Nothing of it can run here." in shown and "0 runs" not in shown and "no image" in shown
    seeds = of_cells("s", 5, 1, (made.cell("torch", seed=seed) for seed in (1, 2)))
    shown = printed(parts_view(plan_listing.parts(seeds, 1.0)))
    assert re.search(r"batch 10, seed 1 +torch *\n.*batch 10, seed 2 +torch *\n", shown)
    assert "nothing yet\n" == printed(parts_view([[]]))


LABEL = "LeNet-5 (tanh, 62 k parameters), training, batch 42"


def shown_progress(width: int = 80, is_detailed: bool = False, **settings: Any) -> str:
    file, clock = io.StringIO(), FakeClock(step=0.0)
    cells = [Cell(stack=name, task="lenet5", measure="train", batch=42) for name in ("torch", "tf")]
    keys = ("0123456789abcdef", "fedcba9876543210")
    planned = Plan(Study("s", "S", 1, "torch", "", ()), 1, "torch", 1, tuple(
        Planned(key, "e", cell) for key, cell in zip(keys, cells, strict=True)), ())
    runs = [f"{key}.0.1" for key in keys]
    made_so_far = made.measured(made.cell("torch"), made.cell("tf"), *made.runs(made.cell("torch"), [100.0]),
                                *made.runs(made.cell("tf"), [50.0]))
    with closing(RunProgress(planned, Console(file=file, width=width, **settings), clock, is_detailed)) as shown:
        for event in ({"event": "now", "ahead": 2, "seconds": 20.0}, {"event": "now", "starts": runs[0]},
                      {"event": "line", "run": runs[0], "line": {"event": "start"}},
                      {"event": "now", "doing": "turn 3 of 10"},
                      {"event": "line", "run": runs[0], "line": {"event": "steps", "seconds": [0.5], "turn": {}}},
                      {"event": "now", "waits": "another program takes 80 % of a CPU: waiting"},
                      {"event": "now", "waits": "another program takes 70 % of a CPU: waiting"}):
            shown.heard(event)
        clock.advance(8.25)
        for event in ({"event": "ending", "run": runs[0], "ending": "ok", "seconds": 8.25, "message": ""},
                      {"event": "now", "starts": runs[1]},
                      {"event": "ending", "run": runs[1], "ending": "oom", "seconds": 4.0,
                       "message": "out of memory " + "x" * 80 + EVIL},
                      {"event": "now", "left": 8.25, "missing": 1, "so_far": made_so_far},
                      {"event": "now", "left": 0.0, "missing": 1, "so_far": made_so_far},
                      {"event": "now", "left": 0.0, "missing": 0, "so_far": made_so_far},
                      {"event": "closed", "reason": "done"}):
            shown.heard(event)
    return file.getvalue()


def test_in_a_pipe_progress_is_a_line_a_round_and_of_what_did_not_go_well() -> None:
    lines = shown_progress().splitlines()

    assert ["2 runs, about 20 s", "0 of 1 rounds measured, about 8.2 s left", "0 of 1 rounds measured",
            "enough rounds measured"] == [lines[0], *lines[3:]]
    assert lines[1].startswith("another program takes 80 % of a CPU: waiting")
    assert lines[2].startswith(f"[2/2] fedcba9876543210 tf: {LABEL}: oom, 4.0 s: out of memory xxx")
    assert "\x1b" not in lines[2]


def test_with_v_each_run_has_a_line_with_its_key() -> None:
    assert f"[1/2] 0123456789abcdef torch: {LABEL}: ok, 8.2 s" in shown_progress(is_detailed=True).splitlines()


def test_a_terminal_shows_the_table_so_far_what_is_being_done_and_the_time_left_and_a_dumb_one_lines(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    shown = shown_progress(force_terminal=True)

    assert shown.index("starting") < shown.index("warming up") < shown.index("turn 3 of 10") < shown.index("70 % of")
    assert "0/2  ................  20 s left  starting  LeNet-5 (tanh" in shown
    assert "2/2  ━━━━━━━━━━━━━━━━  8.2 s left" in shown
    assert re.search(r"tf +2.13.0 +50.0 +━* +0.50 *\r?\n", re.sub(r"\x1b\[[\d;]*m", "", shown))       # and no word
    assert "\x1b]0" not in shown
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in shown_progress(force_terminal=True)


@pytest.mark.parametrize("width", [30, 40, 80])
def test_count_bar_and_time_left_are_whole_on_any_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    lines = re.split(r"\r|\n|\x1b\[[\d;?]*[A-Za-z]", shown_progress(width, force_terminal=True))
    drawn = [line for line in lines if line.startswith(("0/2", "1/2"))]

    assert len(drawn) > 5 and width >= max(map(len, drawn))
    assert all(re.match(r"\d/2  [━.]{8,16}  (20|8.2) s left", line) for line in drawn)


def test_no_time_is_said_to_be_left_of_a_session_that_takes_longer_than_it_was_thought_to(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    file, clock = io.StringIO(), FakeClock(step=0.0)
    planned = Plan(Study("s", "S", 1, "torch", "", ()), 1, "torch", 1, (), ())
    with closing(RunProgress(planned, Console(file=file, force_terminal=True), clock)) as shown:
        shown.heard({"event": "now", "ahead": 2, "seconds": 20.0})
        clock.advance(20.0)
        shown.heard({"event": "now", "doing": "turn 12, 9 of 10 count"})
    assert "turn 12, 9 of 10 count" in file.getvalue() and " left" not in file.getvalue()


@pytest.mark.parametrize(("form", "values", "expected"), [
    (formatting.rate, (1520.4, None), "1,520"), (formatting.rate, (1520.4, (1480.2, 1560.0)), "1,520 (1,480–1,560)"),
    (formatting.rate, (12.345, (9.876, 13.0)), "12.3 (9.9–13.0)"), (formatting.rate, (0.01234, None), "0.0123"),
    # an end that excludes 1 does not read as 1
    (formatting.ratio, (1.32, (1.28, 1.37)), "1.32x (1.28–1.37)"),
    (formatting.ratio, (1.02, (1.001, 1.04)), "1.020x (1.001–1.040)"),
    (formatting.ratio, (0.9999, (0.95, 1.05)), "1.00x (0.95–1.05)"),
    (formatting.ratio, (0.05, (0.04, 0.06)), "0.0500x (0.0400–0.0600)"),
    *((formatting.seconds, (seconds,), text) for seconds, text in (
        (0.0123, "12 ms"), (3.42, "3.4 s"), (25.4, "25 s"), (420.0, "7 min"), (9000.0, "2.5 h"),
        (8139600.0, "94 days"))),
    (formatting.size, (812e6,), "812 MB"), (formatting.size, (2.1e9,), "2.1 GB"),
    (formatting.share, (0.032,), "3.2 %"), (formatting.share, (0.0996,), "10 %")])
def test_numbers_have_the_digits_that_people_read(form: Any, values: tuple[Any, ...], expected: str) -> None:
    assert expected == form(*(Interval(*each) if isinstance(each, tuple) else each for each in values))


WHY = "the stacks sent other names of activation, and so on for as long as it takes"
MANY = dict.fromkeys((f"step p{index}0" for index in range(9)), "8.59 ms")
CHECKED = {"task": "resnet18_cifar", "stack": "torch-2.13-cpu", "layers": "1e-12", "loss": "1e-12", "gradient": "1e-12",
           "weight": "1e-12", "stats": "1e-12", "verdict": WHY}


@pytest.mark.parametrize(("view", "width", "beginning"), [
    (lambda: summary_view(session(6)), 62, "torch-2.13-cpu "),
    (lambda: parts_view([[CHECKED]]), 80, "resnet18_cifar  torch-2.13-cpu  1e-12"),
    (lambda: parts_view([{"LeNet-5": [{"": "torch-2.13-cpu", **MANY}]}]), 80, "torch-2.13-cpu  8.59")])
def test_columns_and_words_give_way_before_a_name_is_broken(view: Any, width: int, beginning: str) -> None:
    lines = printed(view(), width=width).splitlines()

    assert width >= max(map(len, lines)) and any(line.lstrip().startswith(beginning) for line in lines)


def test_paths_and_commands_below_the_answer_are_never_broken() -> None:
    path = Path("/a folder", "n" * 60, "report.html")
    shown = on_screen(made_report.reported(made_report.records()), written=path).splitlines()

    assert f"Charts: {path}" in shown


def test_a_list_breaks_lines_between_words_where_it_can_and_loses_no_letter_elsewhere() -> None:
    rows = [{"data": "digits32", "title": "handwritten digits of scikit-learn at 32x32", "licence": "CC BY 4.0 (UCI)"}]
    assert all(word in printed(parts_view([rows]), width=44) for word in ("handwritten", "scikit-learn", "digits32"))
    shown = printed(parts_view([[{f"key{index}": f"{index}" * 18 for index in range(6)}]]), width=40)
    found = [sum(line.count(str(index)) for line in shown.splitlines() if "key" not in line) for index in range(6)]
    assert [18 * 5, *[18] * 5] == found                         # the first stands in each part


def test_a_long_table_ends_with_the_way_to_all_of_its_rows() -> None:
    rows = [{"run": f"run{index}"} for index in range(250)]
    halves: dict[str, list[dict[str, str]]] = {"one": rows[:125], "other": rows[125:]}
    for part in (rows, halves):
        shown = printed(parts_view([part]))
        assert "run199" in shown and "run200" not in shown
        assert "and 50 more rows: --csv FILE writes all of them" in shown
    assert "more rows" not in printed(parts_view([rows[:200]]))


def test_parts_are_lines_tables_and_tables_by_label() -> None:
    shown = printed(parts_view(["first", [{"a": "x"}], {"label": [{"": "torch", "A": "1"}]}])).splitlines()

    assert "first" == shown[0].strip() and "label" in [line.strip() for line in shown]
    assert any(re.fullmatch(r"\s+torch\s+1\s*", line) for line in shown)
    assert ["    one and", "    two"] == printed(parts_view(["    one and two"]), width=12).splitlines()


def test_a_stack_s_version_and_way_of_running_stand_beside_it() -> None:
    own = {**made.PLACE, "pinned": False, "base": "not pinned: host, /here/python"}
    records = [record for name in ("mine", "torch-2.13-cpu") for record in made.runs(
        made.cell(name), SLOW, place=own if name == "mine" else made.PLACE, facts={**made.FACTS, "loop": "eager"})]
    cells = [made.cell(name) for name in ("mine", "torch-2.13-cpu")]
    shown = on_screen(made_report.reported([made.session(), made.plan(*cells, baseline="mine"), *records]))

    assert re.search(r"^  mine +2.13.0 eager +100", shown, re.MULTILINE)
