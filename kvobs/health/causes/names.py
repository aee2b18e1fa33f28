"""Causes 5xx: the metric's name."""

from __future__ import annotations

from .cause import Cause

NAMES = (
    Cause(
        id="KVO-501",
        title="name escaped by the scrape",
        severity="broken",
        sentence="The metric is stored under its escaped name (`vllm_...` for `vllm:...`), and the query asks for "
        "the other.",
        evidence="The server lacks the asked name and has the one with `:` turned into `_` (or the other way round).",
        fix="Set nameEscapingScheme and nameValidationScheme of the Prometheus object, or let the query ask for FOUND",
        explanation="""\
A colon is allowed in a metric's name, but exposition formats with escaping may replace it: the scraper asks for \
`escaping=underscores`, or the server's library does it whenever the scraper does not say that it takes UTF-8. A \
curl of /metrics shows the colon, Prometheus stores the underscore, and the metadata of the target may still \
show the colon.

vLLM itself was measured not to do it. Servers that use newer releases of the Python client library in \
OpenMetrics form do, as do relabelling agents. Some dashboards made the opposite step, and ask for underscores \
where the server still has colons.

Either scrape without escaping, or use the spelling that is stored in the query.""",
    ),
    Cause(
        id="KVO-502",
        title="metric renamed",
        severity="broken",
        sentence="The running version has this metric under another name.",
        evidence="The metric's history says that it was replaced, and the server has the new name.",
        fix="kvobs verify --static FILE --vllm-version VERSION --rewrite   # or ask for NEW in the query",
        explanation="""\
vLLM renamed several metrics over the years, and dashboards outlive them: `gpu_cache_usage_perc` became \
`kv_cache_usage_perc`, the prefix cache counters lost their `gpu_`, time per output token split in two. The DCGM \
exporter's names are older and steadier; its labels changed instead.

Where the new metric means exactly the same, kvobs can rewrite the dashboard. Where the meaning moved (a gauge \
of a ratio became two counters, one value a token became one value a request), the new query has to be written \
by somebody who knows what the panel wants to show; kvobs names the candidates and the difference.""",
    ),
    Cause(
        id="KVO-503",
        title="metric hidden",
        severity="broken",
        sentence="The running version still has this metric, but hides it unless a flag asks for it.",
        evidence="The metric's history says that it is hidden in the running version.",
        fix="Start vLLM with --show-hidden-metrics-for-version=VERSION, or ask for NEW in the query",
        explanation="""\
vLLM takes a metric away in three steps: it is called deprecated in one minor version, hidden in the next, and \
removed in the one after (often later). A hidden metric comes back with `--show-hidden-metrics-for-version` and \
the minor version before the running one; no other value works.

The flag buys one release. The query should move to the new name.""",
    ),
    Cause(
        id="KVO-504",
        title="metric removed",
        severity="broken",
        sentence="The running version no longer has this metric.",
        evidence="The metric's history says that it was removed before the running version.",
        fix="Take the query out of the panel, or ask for what replaces it: NEW",
        explanation="""\
Some metrics went with the engine that had them: vLLM's V1 engine does not swap requests to the CPU, so \
`num_requests_swapped` and `cpu_cache_usage_perc` have no heir. Others were replaced by something to be \
computed, such as a ratio of two counters.

A panel that asks for such a metric only cannot light up again on this version.""",
    ),
    Cause(
        id="KVO-505",
        title="metric newer than the server",
        severity="broken",
        sentence="The metric came with a later version than the one that runs here.",
        evidence="The metric's history gives a first version that is later than the running one.",
        fix="Upgrade to VERSION or later, or use the dashboard's revision for the running version",
        explanation="""\
Dashboards follow the newest version of what they show. On an older server the panels for newer metrics stay \
dark, and nothing else is wrong.

The running version is told from the pods' image tag where it names one, else from which metrics are there.""",
    ),
    Cause(
        id="KVO-506",
        title="optional feature off",
        severity="expected",
        sentence="The metric belongs to a feature that is not switched on.",
        evidence="The metric is known to come with a flag or feature, and the server has other metrics of its kind.",
        fix="Only if the feature is wanted: start vLLM with FLAG",
        explanation="""\
vLLM registers some metrics only when their feature is used: LoRA, speculative decoding, KV cache residency \
(`--kv-cache-metrics`), KV transfer connectors. Panels for them are dark wherever the feature is off, which is \
as it should be.

Turn the feature on if you want it, not in order to light a panel.""",
    ),
    Cause(
        id="KVO-507",
        title="DCGM field not exported",
        severity="broken",
        sentence="The DCGM exporter does not export this field, by its list of fields or because the GPU does not "
        "have it.",
        evidence="The server has other DCGM metrics, and not this one: it is off in the default list, or a profiling "
        "field (`DCGM_FI_PROF_...`) on a GPU without it.",
        fix="Add FIELD to the exporter's CSV (GPU Operator: dcgmExporter.config.name) and restart it",
        explanation="""\
The exporter reads the fields that its CSV file lists. The default list leaves out several that dashboards ask \
for: SM activity and occupancy, FP16/32/64 pipes, ECC counters, throttling violations. A list of one's own is a \
ConfigMap that the GPU Operator (`dcgmExporter.config.name`) or the chart mounts.

Profiling fields need a data centre GPU of the Volta generation or newer, and the exporter needs the right to \
read them (SYS_ADMIN). A consumer card (GeForce, TITAN) has none, so that those panels stay dark there for good: \
that is expected, and nothing is broken. Another profiler on the same GPU takes them away while it runs.""",
    ),
    Cause(
        id="KVO-508",
        title="MIG drops this field",
        severity="expected",
        sentence="The GPUs are partitioned by MIG, and utilisation fields of the whole device are not available then.",
        evidence="DCGM series carry `GPU_I_ID`, and the asked metric is one of the `DCGM_FI_DEV_..._UTIL` family.",
        fix="Ask for DCGM_FI_PROF_GR_ENGINE_ACTIVE in the query (a fraction, so times 100)",
        explanation="""\
With MIG on, the driver has no utilisation of the whole device: `DCGM_FI_DEV_GPU_UTIL` and its kin are absent. \
The profiling field `DCGM_FI_PROF_GR_ENGINE_ACTIVE` is there, for each instance, as a fraction from 0 to 1.

Each instance is its own series with `GPU_I_ID` and `GPU_I_PROFILE`; a legend by `gpu` alone draws several lines \
of one name.""",
    ),
    Cause(
        id="KVO-509",
        title="no GPU here",
        severity="expected",
        sentence="No node of this cluster has a GPU, so that nothing exports GPU metrics.",
        evidence="No node offers a GPU resource, no DCGM exporter runs, and Prometheus holds no DCGM metric.",
        fix="",
        explanation="""\
On a cluster of CPUs the GPU panels have nothing to show. vLLM's own panels work there all the same: the metric \
names are equal on CPU and GPU, those with "gpu" in them too.

A GPU shows itself as a resource of its node (`nvidia.com/gpu`, or `nvidia.com/mig-…`), which NVIDIA's device plugin \
announces. Where the node has a card and offers none, the plugin or the driver is missing: install the GPU Operator.""",
    ),
    Cause(
        id="KVO-510",
        title="metric never existed on this server",
        severity="broken",
        sentence="Prometheus has never stored a metric of this name.",
        evidence="The name is neither among those with samples in the range, nor among all that the server holds, "
        "nor in "
        "any history that kvobs knows.",
        fix="Scrape what exports METRIC, or correct the name in the query",
        explanation="""\
Either the name is misspelt (the nearest name that is there is given), or what exports it is not scraped, or a \
relabelling drops it (`metricRelabelings`), or it is the result of a recording rule that is not loaded.

A rule's result has colons that are not the exporter's own, such as `job:request_latency:p99`: load the \
PrometheusRule that makes it.""",
    ),
    Cause(
        id="KVO-511",
        title="metric under another prefix",
        severity="broken",
        sentence="The metric is there under another prefix, as a wrapper such as Ray gives it.",
        evidence="The server lacks the asked name and has it behind a known prefix (`ray_vllm_...`, `ray_vllm:...`).",
        fix="Use the wrapper's own dashboard, or ask for FOUND in the query",
        explanation="""\
vLLM inside Ray Serve reports through Ray's metrics, which put `ray_` in front of each name and turn every \
character that is no letter, digit or underscore into one: `vllm:num_requests_running` is \
`ray_vllm_num_requests_running` (`ray_vllm:...` in older releases). Labels are Ray's too.

Ray ships a dashboard of its own for it. A query may also ask for both: `NAME or ray_NAME`.""",
    ),
)
