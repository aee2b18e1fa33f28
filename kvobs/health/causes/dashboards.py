"""Causes 1xx to 3xx: the dashboard, its data sources, its variables."""

from __future__ import annotations

from .cause import Cause

DASHBOARDS = (
    Cause(
        id="KVO-101",
        title="not JSON",
        severity="broken",
        sentence="The dashboard's text is no JSON, so Grafana loads nothing of it.",
        evidence="The text that the sidecar would write into its folder does not parse; the line and column are named.",
        fix="kubectl -n NAMESPACE edit configmap NAME   # or mend FILE at the place named, and apply it again",
        explanation="""\
Grafana reads each provisioned file whole. One brace too many, a trailing comma or a template that was left \
unrendered makes the file invalid, and the dashboard is absent from the list: no panel says "No data", because \
there is no panel. The only trace is a line in Grafana's log.

kvobs reads the same text and names the place where the parser stopped. The mistake is there or just before it.

Tools that expand `${...}` or `{{...}}` in manifests are a frequent source: they eat parts of the JSON. Keep \
dashboards out of template engines; `kvobs patch` resolves the data sources without one.""",
    ),
    Cause(
        id="KVO-102",
        title="v2 form, refused by provisioning",
        severity="broken",
        sentence="The dashboard has Grafana's v2 form, which files and the sidecar cannot load.",
        evidence="The document has `elements` and `layout` (with or without the `dashboard.grafana.app` envelope) and "
        "comes from a ConfigMap or a file.",
        fix="In Grafana: open it, Export, Classic, and load that file; or create it through the API as "
        "dashboard.grafana.app",
        explanation="""\
Grafana 12 brought a second form of dashboards, in which panels are `elements` and their places are a `layout`. \
File provisioning, and with it the sidecar of the Helm chart, refuses this form and logs that the file appears \
to be in v2 format. The dashboard does not appear.

Nothing is wrong with its panels. It can be created through the dashboards API, or exported once more in the \
classic form, which every way of loading takes.""",
    ),
    Cause(
        id="KVO-103",
        title="too large to load",
        severity="broken",
        sentence="The dashboard is larger than the object that would carry it may be.",
        evidence="The document's bytes exceed what a ConfigMap may hold (1 MiB), or what a client-side apply may note "
        "down (262,144 bytes).",
        fix="kvobs install --dashboard FILE   # compact JSON, one ConfigMap each, server-side apply\n"
        "Or split the dashboard",
        explanation="""\
A ConfigMap holds at most 1 MiB. A plain `kubectl apply` also copies the whole object into an annotation, which \
may hold 262,144 bytes: larger dashboards are rejected though the ConfigMap would be small enough.

kvobs writes dashboards as compact JSON, one a ConfigMap, by server-side apply, so that only the 1 MiB limit is \
left. A dashboard beyond it has to be split, or loaded through Grafana's API.""",
    ),
    Cause(
        id="KVO-104",
        title="not seen by the sidecar",
        severity="broken",
        sentence="The dashboard's ConfigMap is not among those that Grafana's sidecar reads.",
        evidence="Label, label value or namespace of the ConfigMap differ from what the sidecar's container is told to "
        "look for.",
        fix="kubectl -n NAMESPACE label configmap NAME LABEL=VALUE",
        explanation="""\
The sidecar beside Grafana copies dashboards from ConfigMaps (or Secrets) into a folder. It looks for one label, \
often with one value, and in one namespace or in all of them; all three are in the environment of its container. \
An object that differs in any of them is passed over in silence.

kvobs reads the three settings from the running Deployment, never from the chart's defaults, and compares. The \
label in the fix is the one this sidecar really wants. Where the namespace is the reason, move the ConfigMap, or \
let the sidecar look everywhere (`grafana.sidecar.dashboards.searchNamespace: ALL`).""",
    ),
    Cause(
        id="KVO-105",
        title="uid or title used twice",
        severity="broken",
        sentence="Two dashboards have the same uid, or the same title in one folder, and Grafana keeps one of them.",
        evidence="Another loaded dashboard has the same uid, or the same title in the same folder.",
        fix="Give one of the two another `uid` (and title), or take one away:\n"
        "kubectl -n NAMESPACE delete configmap NAME",
        explanation="""\
A uid names one dashboard in all of Grafana. When two files carry the same one, Grafana refuses to write for the \
whole provider, since it cannot say which is meant: the second dashboard does not appear, and later changes to \
the others are not saved either. Copies of a published dashboard keep its uid, so that this happens as soon as \
two projects ship their own copy.

Decide which one is wanted. The other gets a new uid, or goes.""",
    ),
    Cause(
        id="KVO-106",
        title="panel type gone from Grafana",
        severity="broken",
        sentence="The panel's type is one that Grafana no longer has.",
        evidence="The type is on the list of panels that Grafana removed, or asks for a plugin that is not part of it.",
        fix="Open the panel in Grafana, choose the visualisation NEW, save, and load the saved JSON",
        explanation="""\
Grafana removed its Angular panels, and turns most of the old types into new ones by itself while it loads a \
dashboard (`graph` into `timeseries`, `singlestat` into `stat`, `table-old` into `table`). A few have no heir, \
and panels of outside plugins need the plugin: the panel then shows an error instead of its data, though its \
query is fine.

The query was asked all the same. If it has data, choosing another visualisation is all there is to do.""",
    ),
    Cause(
        id="KVO-107",
        title="library panel without its model",
        severity="broken",
        sentence="The panel stands for a library panel, whose own model is not in the document.",
        evidence="The panel has a `libraryPanel` reference and no targets, and `__elements` does not hold its model.",
        fix="In Grafana that has it: open the panel, Unlink library panel, save, export the dashboard again",
        explanation="""\
A library panel lives in the database of the Grafana it was made in; a dashboard only refers to it. Provisioning \
never creates library panels, so a dashboard that is carried to another Grafana shows "Unable to load library \
panel" in its place.

An export for sharing holds the models in `__elements`, and kvobs reads them there. Without it nobody outside \
that Grafana knows what the panel asks.""",
    ),
)

DATASOURCES = (
    Cause(
        id="KVO-201",
        title="data source reference dangling",
        severity="broken",
        sentence="The panel's data source is a placeholder that nothing resolves.",
        evidence="The reference holds `${...}`, and there is neither a variable of that name nor a value given for it.",
        fix="kvobs patch FILE --datasource prometheus=UID --in-place",
        explanation="""\
A dashboard that was exported for sharing says `${DS_PROMETHEUS}` where its author's data source stood. The \
import form of Grafana asks for a value; loading from a file, a ConfigMap or the API does not, so the \
placeholder goes to Grafana as it stands, and every panel says that the data source was not found.

The same text may also be a working variable: that is decided by the dashboard's own list of variables, never by \
the spelling. `kvobs patch` tells them apart, and `kvobs install --dashboard` patches on the way.""",
    ),
    Cause(
        id="KVO-202",
        title="data source of another Grafana",
        severity="broken",
        sentence="The panel refers to a data source by a uid that this Grafana does not have.",
        evidence="The literal uid is not among the data sources of this Grafana.",
        fix="kvobs patch FILE --remap-foreign --datasource prometheus=UID --in-place",
        explanation="""\
A uid that was generated by the author's Grafana means nothing elsewhere. Explore works, the data source tests \
green, and the dashboard stays dark, because its panels look for another one. A panel's own reference counts for \
all of its targets, unless it is the mixed one or there is none: then each target's does.

`--remap-foreign` points every such reference at the data source given. References that this Grafana knows stay.""",
    ),
    Cause(
        id="KVO-203",
        title="data source's name used as uid",
        severity="broken",
        sentence="The reference holds the name of a data source where its uid belongs.",
        evidence="An object-form reference's uid equals a data source's name and no uid, in letters and case.",
        fix="kvobs patch FILE --remap-foreign --datasource prometheus=UID --in-place",
        explanation="""\
Old dashboards refer to a data source by its name, as a plain text; newer ones by an object with a uid. Tools \
that turn one into the other sometimes copy the name over. Grafana resolves names in some places and not in \
others, so that part of the dashboard works.

Use the uid throughout.""",
    ),
    Cause(
        id="KVO-204",
        title="data source unreachable",
        severity="broken",
        sentence="Grafana's data source points at an address where no Prometheus answers.",
        evidence="The address of the data source names a Service or port that is not there, or Grafana's own probe of "
        "the data source fails, while Prometheus itself answers.",
        fix="Set the data source's url to http://SERVICE.NAMESPACE:PORT",
        explanation="""\
The panels' queries never arrive. The address of the data source is as Grafana's pod sees it: `localhost` is \
Grafana itself, a Service of another namespace needs the namespace in its name, and a path prefix of Prometheus \
(`--web.route-prefix`) belongs into the address. A wrong path answers 404 to every query, which looks like \
missing data.

In the Helm chart the address is made from the Prometheus that the chart installs. A Prometheus of one's own \
needs `grafana.sidecar.datasources.url`, or a data source of its own.""",
    ),
)

VARIABLES = (
    Cause(
        id="KVO-301",
        title="variable empty",
        severity="broken",
        sentence="A variable that the query uses has no value, so that its filter matches nothing.",
        evidence="The variable's own query has no result, after every variable that it depends on was settled.",
        fix="Mend what the variable asks: VARIABLE = QUERY",
        explanation="""\
Grafana fills a query variable when the dashboard loads. Where its query finds nothing, panels ask with an empty \
text in the filter (`instance=~""`), which fits only series that lack the label. All panels of the dashboard go \
dark at once, and none says why.

A variable that the dashboard does not declare has no value either: Grafana leaves `$name` in the query as it is \
written, and a filter by that text fits nothing.

The variable's question is about a metric and a label. Either the metric is not there (nothing scrapes it, or \
its name changed), or the label has another name (`Hostname` became `hostname`, `pod` is `exported_pod`), or a \
variable before it in the chain has no value. kvobs says which, in the evidence.

A variable that asks `label_values(gpu)` without a metric may also be filled by an exporter that has nothing to \
do with the dashboard. Scope it to a metric.""",
    ),
)
