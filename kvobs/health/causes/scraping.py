"""Causes 4xx: from the pod that serves metrics to the sample in Prometheus."""

from __future__ import annotations

from .cause import Cause

SCRAPING = (
    Cause(
        id="KVO-401",
        title="no monitor that this Prometheus reads",
        severity="broken",
        sentence="No ServiceMonitor or PodMonitor for these servers is among those that Prometheus reads.",
        evidence="Monitors that select the servers' Services or pods are absent, or their labels or namespace do "
        "not fit "
        "the Prometheus object's selectors.",
        fix="kvobs install   # applies monitors with the labels that it wants\n"
        "kubectl -n NAMESPACE label KIND NAME LABEL=VALUE   # does as well",
        explanation="""\
The Prometheus object chooses its monitors by label (`serviceMonitorSelector`, `podMonitorSelector`) and by \
namespace. A monitor that does not fit is ignored: no error, no event, no target.

kube-prometheus-stack fills an empty selector with its own release label as long as \
`prometheus.prometheusSpec.serviceMonitorSelectorNilUsesHelmValues` is true, its default. So `{}` in the values \
does not mean everything. The GPU Operator's monitor, and those of other charts, carry no such label unless told \
so.

kvobs reads the selector from the live Prometheus object, and names the label that is missing.""",
    ),
    Cause(
        id="KVO-402",
        title="monitor rejected by the operator",
        severity="broken",
        sentence="The Prometheus Operator refuses the monitor, and leaves it out of the configuration.",
        evidence="A Warning event about the monitor (InvalidConfiguration) in the operator's own words, and no scrape "
        "config of the monitor in Prometheus, as far as it tells (`/api/v1/scrape_pools`).",
        fix="kubectl -n NAMESPACE describe KIND NAME   # then mend what the event says",
        explanation="""\
The operator checks each monitor before it writes Prometheus' configuration. A Secret that it names and that is \
not there, a relabelling that is not valid, or access to files that the Prometheus object forbids make it drop \
that one monitor; all others go on.

The reason stands in an event on the monitor, and in the operator's log. Kubernetes keeps events for about an \
hour, also those of what has been mended: a monitor that Prometheus has a scrape config of is rejected no more.""",
    ),
    Cause(
        id="KVO-403",
        title="monitor selects nothing",
        severity="broken",
        sentence="The monitor is read, but no Service or pod fits its selector in the namespaces where it looks.",
        evidence="The monitor's label selector, within its namespaceSelector, fits no Service (PodMonitor: no pod).",
        fix="kubectl -n NAMESPACE label service NAME LABEL=VALUE   # or set the monitor's selector, namespaceSelector",
        explanation="""\
A ServiceMonitor selects Services by their labels, not by the pods' labels, and in its own namespace unless \
`namespaceSelector` says otherwise. The install looks clean: the monitor is there, Prometheus reads it, and no \
target appears.

Compare the labels of the Service (`kubectl get service --show-labels`) with the monitor's selector. Where there \
is no suitable Service at all, a PodMonitor selects the pods themselves.""",
    ),
    Cause(
        id="KVO-404",
        title="monitor's port does not exist",
        severity="broken",
        sentence="The monitor names a port that the selected Service (or pod) does not have.",
        evidence="The endpoint's `port` is none of the selected Service's port names, and its `targetPort` no port of "
        "its pods.",
        fix="kubectl -n NAMESPACE edit KIND NAME   # set the endpoint's port to PORT",
        explanation="""\
In a ServiceMonitor `port` is the name of a port of the Service, not a number and not the container's port name. \
The DCGM exporter's Service calls it `gpu-metrics` when the GPU Operator made it, and `metrics` when its own \
chart did.

A name that is not there gives no target and no error.""",
    ),
    Cause(
        id="KVO-405",
        title="no target",
        severity="broken",
        sentence="Servers of this kind run here, and Prometheus has no target among them.",
        evidence="None of the active targets belongs to the servers' pods; monitors, selectors and ports show no "
        "fault.",
        fix="kubectl -n NAMESPACE get endpointslices -l kubernetes.io/service-name=SERVICE",
        explanation="""\
Between a good monitor and a target stand the endpoints of the Service, the rights of Prometheus to list them in \
that namespace, and the time it takes the operator and the config reloader to bring a new configuration in (a \
minute or two).

A Service without ready pods has no endpoints. Prometheus' page Status, Service Discovery shows targets that \
relabelling dropped. Just installed: ask again with `--wait 2m`.""",
    ),
    Cause(
        id="KVO-406",
        title="target down",
        severity="broken",
        sentence="Prometheus scrapes the target, and the scrape fails.",
        evidence="The target's health is down; the last scrape's error is quoted.",
        fix="Mend what the scrape's error says about URL",
        explanation="""\
The error is Prometheus' own. `connection refused`: nothing listens on that port, or not on the pod's address. \
`context deadline exceeded`: the answer takes longer than the scrape timeout, or a NetworkPolicy drops the \
packets. `401`, `403`: the endpoint wants a login that the monitor does not give. `404`: another path than \
/metrics. `server gave HTTP response to HTTPS client`, or the other way round: the monitor's scheme is wrong. \
`unsupported Content-Type`, `expected ...`: what answers there is no exposition.

A target that is down keeps its series for five minutes; after that they are gone from panels that show now.""",
    ),
    Cause(
        id="KVO-407",
        title="no such server here",
        severity="expected",
        sentence="Nothing of the kind that these panels show runs on this cluster.",
        evidence="No pod of a known kind (vLLM, DCGM exporter) is found, Prometheus holds none of their metrics, "
        "and no "
        "target of them.",
        fix="",
        explanation="""\
The panels ask about a server that is not here. That is no fault: start one, and the panels light up by \
themselves where its monitor is in place.

kvobs recognises vLLM by image, command and port, and the DCGM exporter by the packagings it knows. A server \
that runs outside of the cluster, or is packed in a way that hides it, is not seen; Prometheus' targets are \
looked at too.""",
    ),
    Cause(
        id="KVO-408",
        title="dropped by the scrape's relabelling",
        severity="broken",
        sentence="The server exposes the metric, and a relabelling of its scrape drops it, or stores it under another "
        "name.",
        evidence="A target that is up declares the metric (`/api/v1/targets/metadata`), and the steps that Prometheus "
        "has loaded for its scrape config (`/api/v1/status/config`) drop or rename it by its name.",
        fix="kubectl -n NAMESPACE edit KIND NAME   # spec.endpoints[N].metricRelabelings[N]: narrow its regex",
        explanation="""\
Between the scrape and the storage, Prometheus applies the monitor's `metricRelabelings` to every sample. To save \
series, people drop metrics there by name, or keep a list of those that are used; a dashboard that comes later asks \
for one that is not on the list. The target is up, a curl of its /metrics shows the metric, and no panel does. A step \
that puts a prefix before each name has the same effect.

The order of the steps counts, and an expression has to fit the whole name: `vllm:.*` and not `vllm:`, and of a \
histogram the series with `_bucket`, `_sum` and `_count`. A scrape class of the Prometheus object \
(`spec.scrapeClasses`) puts its own steps before those of each monitor that is of it.

Prometheus notes what a target declares before it relabels, which is how this is told from a version or an option \
that lacks the metric. A step that looks at other labels too is not judged, nor is one of a server that does not show \
its configuration.""",
    ),
)
