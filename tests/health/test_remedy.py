"""The steps of a fix: what can be given to a shell, and what is for a person."""

from __future__ import annotations

import pytest

from kvobs.health.causes import CAUSES
from kvobs.health.remedy import Step, steps

SENTENCE = "sentence"
CASES: dict[str, list[tuple[str, str]]] = {
    "": [],
    "kvobs install": [("kvobs install", "")],
    "kvobs install   # adds a monitor": [("kvobs install", "adds a monitor")],
    "kubectl -n llm edit servicemonitor vllm\n\n  kvobs install": [
        ("kubectl -n llm edit servicemonitor vllm", ""),
        ("kvobs install", ""),
    ],
    "Choose a range in which it ran": [(SENTENCE, "Choose a range in which it ran")],
    "Mend what is said, then: kvobs verify": [(SENTENCE, "Mend what is said, then:"), ("kvobs verify", "")],
    "is it running? curl http://p:9090/-/ready": [(SENTENCE, "is it running?"), ("curl http://p:9090/-/ready", "")],
    """kubectl patch prometheus k8s -p '{"a": "one; two, then # three"}'   # it is merged""": [
        ("""kubectl patch prometheus k8s -p '{"a": "one; two, then # three"}'""", "it is merged")
    ],
    "kubectl -n m logs p-0 | grep -i forbidden": [("kubectl -n m logs p-0 | grep -i forbidden", "")],
    "kubectl -n m get pods shows whether it runs": [(SENTENCE, "kubectl -n m get pods shows whether it runs")],
    "curl -sS http://g/api/health says whether it is there": [
        (SENTENCE, "curl -sS http://g/api/health says whether it is there")
    ],
    "kubectl -n m port-forward service/p 9090:9090, then --prometheus http://127.0.0.1:9090": [
        (SENTENCE, "kubectl -n m port-forward service/p 9090:9090, then --prometheus http://127.0.0.1:9090")
    ],
    "kubectl get pods; or kubectl get nodes": [(SENTENCE, "kubectl get pods; or kubectl get nodes")],
    "edit job vllm of scrape_configs": [(SENTENCE, "edit job vllm of scrape_configs")],
}


def told(step: Step) -> tuple[str, str]:
    """Return a step as the table has it."""
    return (step.text, step.remark) if step.command else (SENTENCE, step.text)


@pytest.mark.parametrize("fix", CASES)
def test_the_steps_of_a_fix(fix: str) -> None:
    """A line is a command only if a shell can have it as it stands."""
    assert [told(each) for each in steps(fix)] == CASES[fix]


@pytest.mark.parametrize("cause", CAUSES)
def test_what_mends_a_cause_is_written_so_that_its_commands_are_known(cause: str) -> None:
    """A program at the beginning of a line begins a command, and what is said of it stands behind ` # `."""
    for step in steps(CAUSES[cause].fix):
        assert step.command == step.text.startswith(("kvobs ", "kubectl ", "helm ", "curl ")), step
        assert not (step.command and "  " in step.text), step
