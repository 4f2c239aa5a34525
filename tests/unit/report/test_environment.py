"""What a report says of the machine."""

from runner.analysis.summary_format import Machine
from runner.report.environment import machine


def test_what_control_groups_left_of_the_machine_is_named() -> None:
    shown = Machine(cpu="a CPU", cpus=1, memory_bytes=400_000_000)
    assert "a CPU, 1 CPU, 400 MB" == machine(shown, {})
    assert "a CPU, 1 CPU (a quota of 1.5), 400 MB (a control group's limit)" == machine(
        shown, {"group_cpus": 1.5, "group_memory_bytes": 400_000_000})
    assert "a CPU, 1 CPU, 400 MB" == machine(shown, {"group_memory_bytes": 500_000_000})
