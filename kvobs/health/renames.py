"""What became of a metric: whether a version of vLLM has it, and what to ask instead. Pure.

The history itself is data, in `vllm_history` and `vllm_optional_history`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from .metric import SUFFIXES, Metric
from .spellings import plain, prefix_of, respelled
from .versions import Version, version
from .vllm_history import CURRENT, GONE, NEWEST
from .vllm_optional_history import CONNECTORS, OPTIONAL

METRICS: tuple[Metric, ...] = (*CURRENT, *GONE, *OPTIONAL, *CONNECTORS)
"""Every metric that any known version of vLLM's engine has or had."""

State = Literal["there", "not yet", "hidden", "renamed", "removed", "uncertain"]

CAUSES: dict[State, str] = {"renamed": "KVO-502", "hidden": "KVO-503", "removed": "KVO-504", "not yet": "KVO-505"}
"""The cause that a state is; one that is not here is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """A name of a series that is one of a known metric's."""

    name: str
    """As it was asked for."""
    metric: Metric
    suffix: str
    """What the name has after the metric's."""

    def replacements(self) -> tuple[str, ...]:
        """Return the names to ask instead, in the spelling of this one; of another kind of metric its main one."""
        found = (by_base(each) for each in self.metric.replaced_by)
        return tuple(
            respelled(new.name + self.suffix if new.kind == self.metric.kind else new.main, self.name)
            for new in found
            if new is not None
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """How it stands with a metric in one version."""

    named: Named
    state: State
    said: str
    """One sentence: since when, until when, what came instead."""
    instead: tuple[str, ...] = ()
    """Names to ask instead, in the same spelling and with the same suffix."""
    exact: bool = False
    """Whether putting in the one name that is instead is all there is to do."""
    advice: str = ""
    """What to do: the new name, the expression, the flag; "" where there is nothing."""
    running: Version | None = None
    """The version that was asked about; None: it is not known, and the newest was meant."""

    def fix(self, source: str = "FILE") -> str:
        """Return the steps that mend a query, the command among them where there is one, as `remedy.steps` reads them.

        *source* is the dashboard, as a shell takes it.
        """
        if self.exact and self.state not in ("there", "not yet"):
            at = self.running or "VERSION"
            return f"{self.advice}\nkvobs verify --static {source} --vllm-version {at} --rewrite"
        if self.state == "removed" and not self.instead:
            return f"{self.advice}\nTake the query out of the panel, or accept the panel as dark: --expect FILE"
        return self.advice

    @property
    def cause(self) -> str | None:
        """Id of the cause that it is; None where it is none."""
        return CAUSES.get(self.state)


@lru_cache(maxsize=1)
def _by_wire_name() -> dict[str, tuple[Metric, str]]:
    return {each.name + suffix: (each, suffix) for each in METRICS for suffix in SUFFIXES[each.kind]}


@lru_cache(maxsize=1)
def _by_base() -> dict[str, Metric]:
    return {each.name: each for each in METRICS}


def by_base(name: str) -> Metric | None:
    """Return a metric by the name that its source gives it (`vllm:prompt_tokens`)."""
    return _by_base().get(name)


def known(name: str) -> Named | None:
    """Return what is known of a series' name, in any spelling; None: no version of vLLM ever had it.

    >>> known("ray_vllm_time_in_queue_requests_sum").replacements()
    ('ray_vllm_request_queue_time_seconds_sum',)
    """
    found = _by_wire_name().get(plain(name))
    return None if found is None else Named(name=name, metric=found[0], suffix=found[1])


def meant(name: str) -> tuple[str, ...]:
    """Return the names of a metric's series where a query asks for the metric without their ending; else none.

    Ray serves a counter without its ending too, so that nothing is said of names in its spelling.

    >>> meant("vllm:num_preemptions"), meant("vllm:num_preemptions_total")
    (('vllm:num_preemptions_total',), ())
    """
    prefix = prefix_of(name)
    if known(name) is not None or prefix is None or prefix.why == "ray":
        return ()
    metric = by_base(plain(name)) or by_base(plain(name).removesuffix("_total"))
    if metric is None:
        return ()
    return tuple(respelled(each, name) for each in metric.on_the_wire if not each.endswith("_created"))


def standing(name: str, running: Version | None) -> Standing | None:
    """Return how it stands with a series' name in a version, or in the newest known; None: nothing is known of it."""
    named = known(name)
    if named is None:
        return None
    at = running or version(NEWEST)
    metric = named.metric
    came = metric.since.state(at)
    went = "before" if metric.removed is None else metric.removed.state(at)
    if came == "before":
        state: State = "not yet"
    elif went == "after":
        state = "renamed" if metric.exact else "removed"
    elif metric.hidden is not None and metric.hidden.state(at) == "after":
        state = "hidden" if went == "before" else "uncertain"
    else:
        state = "uncertain" if "uncertain" in (came, went) else "there"
    instead = () if state == "not yet" else _there(named.replacements(), at)
    return Standing(
        named=named,
        state=state,
        said=_said(name, metric, state, at),
        instead=instead,
        exact=metric.exact and len(instead) == 1,
        advice=_advice(metric, state, at, instead),
        running=running,
    )


def hidden_flag(running: Version) -> str:
    """Return the flag that shows what a version hides: it must name exactly the minor version before it.

    >>> hidden_flag(version("0.11.2"))
    '--show-hidden-metrics-for-version=0.10'
    """
    major, minor = running.release[:2]
    return f"--show-hidden-metrics-for-version={major}.{max(minor - 1, 0)}"


def _there(names: tuple[str, ...], at: Version) -> tuple[str, ...]:
    """Keep the names that a version has; one that it may have is kept too."""
    found = ((each, known(each)) for each in names)
    return tuple(each for each, named in found if named is not None and named.metric.since.state(at) != "before")


def _said(name: str, metric: Metric, state: State, at: Version) -> str:
    if state == "there":
        old = metric.deprecated is not None and at.reached(metric.deprecated)
        return f"vLLM {at} has {name}" + (f", deprecated since {metric.deprecated}" if old else "")
    if state == "not yet":
        return f"{name} came in vLLM {metric.since}; {at} is older"
    if state == "hidden":
        return f"vLLM hides {name} since {metric.hidden}"
    if state in ("renamed", "removed"):
        return f"{name} is gone from vLLM since {metric.removed}"
    if metric.since.state(at) == "uncertain":
        return f"{name} came in vLLM {metric.since}; whether {at} has it is not known"
    return f"{name} is gone from vLLM since {metric.removed}; whether {at} still has it is not known"


def _advice(metric: Metric, state: State, at: Version, instead: tuple[str, ...]) -> str:
    if state == "there" and (metric.deprecated is None or not at.reached(metric.deprecated)):
        return ""
    if state == "not yet":
        return f"Run vLLM {metric.since.by} or newer, or load the dashboard's revision for {at}"
    new = f"Ask {instead[0]}: the same, under its new name" if metric.exact and instead else metric.why_not
    new = new[:1].upper() + new[1:]
    if state != "hidden":
        return new
    shown = f"start vLLM with {hidden_flag(at)}" + (f" (till {metric.removed})" if metric.removed else "")
    return f"{new}; or {shown}" if new else shown[:1].upper() + shown[1:]
