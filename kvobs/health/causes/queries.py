"""Causes 6xx to 9xx: labels, time and traffic, the query itself, and what could not be asked."""

from __future__ import annotations

from .cause import Cause

LABELS = (
    Cause(
        id="KVO-601",
        title="label differs",
        severity="broken",
        sentence="The metric is there, but has no label of the name that the query filters by.",
        evidence="The metric has series, none of them with the asked label; a label of a known other name is "
        "pointed out.",
        fix="Ask for label FOUND instead of LABEL in the query (or relabel it in the monitor's metricRelabelings)",
        explanation="""\
A filter on a label that a series lacks compares with the empty text, and fits nothing. Labels change when \
exporters do (the DCGM exporter wrote `Hostname` up to 4.5.3 and writes `hostname` since), and when Prometheus \
stores the target's own label under the name: the workload's `pod`, `namespace` and `container` then become \
`exported_pod`, `exported_namespace`, `exported_container`, unless the monitor says `honorLabels: true`.

Older vLLM versions have no `engine`, and `vllm:cache_config_info` has no `model_name`.""",
    ),
    Cause(
        id="KVO-602",
        title="label value absent",
        severity="broken",
        sentence="The metric has the label, but no series with the value that the query filters by.",
        evidence="The metric has series with the asked label, and none whose value fits the filter; the values that "
        "are "
        "there are named.",
        fix="Choose a value that is there: LABEL = VALUES",
        explanation="""\
A pattern (`=~`) has to fit the whole value: `small` does not fit `small-llm`, and `.*small.*` does.

The value is saved in the dashboard, or typed into the query, and this Prometheus has others: a job or release \
of another name, a model that is not served here, a pod that was replaced.

For a variable, choosing another value is enough; saving the dashboard keeps it. For a literal in the query, \
change it there. Two filters that each fit some series, but never the same one, are named together.""",
    ),
)

TIME = (
    Cause(
        id="KVO-701",
        title="window shorter than two scrapes",
        severity="broken",
        sentence="The query's window holds fewer than two samples, and a rate needs two.",
        evidence="The query has data with each window four times as long, and the metric's samples stand further apart "
        "than half the window.",
        fix="Use [$__rate_interval] and set the data source's scrape interval (timeInterval) to INTERVAL",
        explanation="""\
`rate`, `increase`, `irate`, `delta` and their kin need two samples within the window. With a scrape every 30 \
seconds a window of 30 seconds mostly holds one.

`$__interval` follows the width of the panel and may be as short as the step; it is no window for a rate. \
`$__rate_interval` is four scrapes long, provided that Grafana knows how long a scrape is: the data source's \
`timeInterval`, which is 15 s when unset. Where the scrape is slower than that setting, even `$__rate_interval` \
is too short. kube-prometheus-stack tells the data source the interval of its Prometheus, which a monitor that names \
an `interval` does not keep to: kvobs' own are never slower, and those of others are theirs to change.""",
    ),
    Cause(
        id="KVO-702",
        title="no traffic yet",
        severity="dark",
        sentence="The counter is there and has not grown in this range, so that the panel has nothing to divide.",
        evidence="The selectors match series, their counters did not grow over the range (or have one sample so "
        "far), and "
        "the result is empty or NaN.",
        fix="Send a request, and look again",
        explanation="""\
A quantile of a histogram that received nothing is not a number; so is the ratio of two rates that are zero. \
Grafana draws no line for it. A server that just started has written one sample of each counter, and a rate \
needs two.

Nothing is broken: after some requests the panels light up.""",
    ),
    Cause(
        id="KVO-703",
        title="healthy zero",
        severity="expected",
        sentence="The query filters for what would be wrong, and nothing is wrong.",
        evidence="A comparison in the query (such as `> 0`) leaves no series, and the compared series are there.",
        fix="",
        explanation="""\
A panel that shows preemptions `> 0`, alerts that fire, errors, or nodes that are down has no data when all is \
well. That is its good state.

To have it say 0 instead of "No data", write `or vector(0)` behind the comparison, or set the panel's "no value" \
text.""",
    ),
    Cause(
        id="KVO-704",
        title="only NaN",
        severity="dark",
        sentence="The query has series, and none of their values is a number.",
        evidence="The answer has samples, all NaN, and the counters it reads did grow, or are no counters.",
        fix="Look at the parts of the query: a division by zero, a quantile without buckets, a gauge that its "
        "exporter sets to NaN",
        explanation="""\
NaN is what 0/0 gives, and what `histogram_quantile` gives where buckets are missing (`+Inf` alone, or `le` lost \
in a `sum by`). An exporter may write it on purpose for a value that it cannot read.

`scalar()` makes NaN of more than one series; that query has to be mended, and counts as broken.

Where the counters simply did not move, kvobs says KVO-702 instead.""",
    ),
    Cause(
        id="KVO-705",
        title="outside of what is kept",
        severity="dark",
        sentence="The asked time range lies before the oldest sample that Prometheus has.",
        evidence="The range ends before the server's oldest sample, or before now less its retention; or the metric "
        "has "
        "samples, but none in this range.",
        fix="Choose a range after OLDEST, or keep more: prometheus.prometheusSpec.retention",
        explanation="""\
Prometheus deletes what is older than its retention (10 days in kube-prometheus-stack, 15 days by itself), and \
by size where that is set. Data from before its volume was made is gone too: without `storageSpec` each restart \
of the pod begins anew.

An `offset` looks further back than the range does: a comparison with last week needs more than a week of data.

Where a metric was there at another time and not in this one, what exports it did not run then, or runs no \
longer.""",
    ),
)

QUERY = (
    Cause(
        id="KVO-801",
        title="query refused",
        severity="broken",
        sentence="Prometheus refuses the query.",
        evidence="The answer is an error of kind bad_data or execution; its own words are quoted.",
        fix="Mend the query where Prometheus points",
        explanation="""\
A parse error shows place and reason. `many-to-many matching not allowed`, or `found duplicate series`, means \
that two sides of an operator meet in more than one way: two servers report the same labels, so that the \
`on(...)` or `by(...)` has to name one more (`instance`, `pod`). A function that this Prometheus does not know \
needs a newer one.

A variable that was left in the query as it stands (`$x`) is refused too: the dashboard does not declare it.""",
    ),
    Cause(
        id="KVO-802",
        title="query too expensive",
        severity="broken",
        sentence="Prometheus stops the query at one of its limits, or its answer is too large to take.",
        evidence="The answer says time-out, too many samples, too many points or series; or it is larger than kvobs "
        "reads.",
        fix="Aggregate in the query (sum by (...)), shorten the range, or raise --query.max-samples and "
        "--query.timeout",
        explanation="""\
Prometheus limits the samples one query may load (50 million), its time (two minutes), and the points a series \
may have in an answer (11,000). Proxies in front of it have limits of their own.

A query without any filter over a long range, or one that returns every series of a large metric, is the usual \
culprit.""",
    ),
    Cause(
        id="KVO-803",
        title="parts have data, their combination has none",
        severity="broken",
        sentence="Every metric of the query is there, and joining them leaves nothing.",
        evidence="Each selector matches series in the range, and the whole query has none.",
        fix="Compare the labels of both sides: on(...), ignoring(...), by(...) have to name labels that both have",
        explanation="""\
An operator between two vectors pairs series whose labels are equal. A label that only one side has keeps them \
apart: `vllm:cache_config_info` has no `model_name`, `kube_pod_labels` has the pod's name of another scrape, a \
side that was summed by `model` has lost `instance`.

`on(...)` names what to compare, `group_left` lets many on the left meet one on the right.""",
    ),
)

UNKNOWN = (
    Cause(
        id="KVO-901",
        title="could not ask",
        severity="unknown",
        sentence="The question was not answered, so that nothing is known about this panel.",
        evidence="Prometheus or what stands in front of it did not answer: away, no access, a login page, a time-out.",
        fix="Mend what is said, then: kvobs verify",
        explanation="""\
No answer is neither good nor bad news. kvobs never counts it as lit, and the exit code is 4 when nothing worse \
was found.

Through the API server the Service's proxy is used, which needs the right `get` on `services/proxy` in that \
namespace; without it a port-forward to a pod, which needs `get` and `create` on `pods/portforward` and `list` on \
`pods`. `--reach` chooses one of the two. With `--prometheus URL` the token, the certificate authority and a path \
prefix of the address matter. A page instead of JSON means that a login or an ingress answered.""",
    ),
)
