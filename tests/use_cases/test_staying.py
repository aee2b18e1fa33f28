"""Whether a namespace goes, where the API server does not say what is in it."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.errors import ActionError, ApiError, Forbidden
from kvobs.settings import Settings
from kvobs.stack.facts import Facts
from kvobs.stack.record import Record
from kvobs.use_cases.progress import Silent
from kvobs.use_cases.staying import Staying

PARENT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kvobs", "namespace": "monitoring"}}


class Cluster:
    """Refuses to say what it serves."""

    def __init__(self, refusal: ApiError) -> None:
        self.refusal = refusal

    def discover(self) -> Any:
        """Refuse."""
        raise self.refusal


def namespace(refusal: ApiError) -> list[Any]:
    """Ask for the namespace of an install to be deleted; return what stays."""
    record = Record(settings={"namespace_created": True})
    facts = Facts(server_version="v1", kinds=frozenset())
    staying = Staying(cluster=Cluster(refusal), facts=facts, record=record, settings=Settings())  # type: ignore[arg-type]
    return staying.namespace(PARENT, Silent(), delete=True)


def test_a_right_that_is_missing() -> None:
    """It will be missing the next time too: the namespace stays, and is said with the reason."""
    (left,) = namespace(Forbidden("may not list pods", status=403))
    assert left.what == "Namespace monitoring"
    assert left.why == "whether others use it could not be asked: may not list pods"
    assert left.how == "kubectl delete namespace monitoring"


@pytest.mark.parametrize("status", [410, 429, 500, 503])
def test_a_fault_that_may_pass(status: int) -> None:
    """It is an error, so that the parent stays and the next run ends what this one could not."""
    with pytest.raises(ActionError, match="whether others use namespace monitoring could not be asked: busy") as failed:
        namespace(ApiError("busy", status=status))
    assert "run the same command again" in str(failed.value.hint)
