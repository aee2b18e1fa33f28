"""`kvobs render`."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import UsageError
from ..settings import DEFAULT_NAMESPACE, DEFAULT_RELEASE, KUBERNETES_VERSION, Settings
from .options import (
    CaFile,
    Chart,
    ChartVersion,
    Dashboards,
    Datasources,
    Dcgm,
    HelmPath,
    ImagePullSecrets,
    ImageRegistry,
    Offline,
    Output,
    PrometheusName,
    Release,
    Set,
    StackChoice,
    Values,
    expanded,
    values_documents,
)
from .places import folder_to_write
from .streams import errors, finish, print_account


def render(
    namespace: Annotated[
        str, typer.Option("-n", "--namespace", metavar="NAME", help="Namespace of the objects.")
    ] = DEFAULT_NAMESPACE,
    release: Release = DEFAULT_RELEASE,
    with_stack: Annotated[
        bool,
        typer.Option(
            "--with-stack",
            help="The chart's objects too, hooks and CRDs with them, Secrets and tests without; needs Helm.",
        ),
    ] = False,
    images: Annotated[
        bool,
        typer.Option(
            "--images",
            help="Print the images and the chart of the stack instead, one a line; with --image-registry what each is"
            " there, after it. Needs Helm.",
        ),
    ] = False,
    rbac: Annotated[
        bool,
        typer.Option(
            "--rbac",
            help="Print the service account that kvobs needs instead, with the rights it uses and no other; needs"
            " Helm, but for --stack reuse.",
        ),
    ] = False,
    stack: Annotated[
        StackChoice,
        typer.Option("--stack", help="With --rbac, reuse: the rights to work beside a stack that is there."),
    ] = StackChoice.auto,
    prometheus: PrometheusName = None,
    chart: Chart = None,
    chart_version: ChartVersion = None,
    kube_version: Annotated[
        str, typer.Option("--kube-version", metavar="VERSION", help="Kubernetes to render the chart for.")
    ] = KUBERNETES_VERSION,
    values: Values = None,
    set_values: Set = None,
    image_registry: ImageRegistry = None,
    image_pull_secret: ImagePullSecrets = None,
    dashboard: Dashboards = None,
    offline: Offline = False,
    ca_file: CaFile = None,
    datasource: Datasources = None,
    dcgm: Dcgm = None,
    helm: HelmPath = "helm",
    directory: Annotated[
        str | None,
        typer.Option("--dir", metavar="DIR", help="Write one file an object there, not to stdout."),
    ] = None,
    split: Annotated[
        bool,
        typer.Option(
            "--split",
            help="With --dir: keep the folder as a kustomization; files of an earlier render that are no longer"
            " rendered are deleted.",
        ),
    ] = False,
    output: Annotated[
        Output | None, typer.Option("-o", "--output", help="Format (yaml for objects, else text).", show_default=False)
    ] = None,
) -> None:
    """Print the objects that install would apply; needs no cluster; Helm and the network for the stack only."""
    with errors(Output.text):
        from ..use_cases.render import images as list_images
        from ..use_cases.render import rbac as render_rbac
        from ..use_cases.render import render as run
        from ..use_cases.render_files import split as keep_folder
        from ..use_cases.render_files import write

        _refuse_contradictions(with_stack, images, rbac, stack, split=split, directory=directory)
        folder = folder_to_write(directory, "--dir")
        settings = Settings(
            namespace=namespace,
            release=release,
            stack=stack.value,
            prometheus=prometheus,
            chart=chart,
            chart_version=chart_version,
            kube_version=kube_version,
            values=tuple(values_documents(values)),
            set_values=tuple(set_values or ()),
            image_registry=image_registry,
            image_pull_secrets=tuple(image_pull_secret or ()),
            dashboards=tuple(dashboard or ()),
            offline=offline,
            ca_file=expanded(ca_file),
            datasources=tuple(datasource or ()),
            dcgm=dcgm.value if dcgm else None,
            helm=helm,
        )
        if images:
            listed = list_images(settings)
            missed = [
                f"{image} is named whole in the values, so --image-registry does not reach it: mirror it, and name it"
                " there as it is called in your registry"
                for image in listed.missed
            ]
            print_account("\n".join(f"! {each}" for each in (*missed, *(note.text for note in listed.notes))))
            finish(listed, output or Output.text)
        rendered = render_rbac(settings) if rbac else run(settings, with_stack=with_stack)
        told = [*(f"{source}: {why}" for source, why in rendered.refused), *(note.text for note in rendered.notes)]
        print_account("\n".join(f"! {each}" for each in told))
        if folder is not None:
            rendered = (keep_folder if split else write)(rendered, folder)
            finish(rendered, Output.text if output in (None, Output.yaml) else output)
        finish(rendered, output or Output.yaml)


def _refuse_contradictions(
    with_stack: bool, images: bool, rbac: bool, stack: StackChoice, *, split: bool, directory: str | None
) -> None:
    chosen = [flag for flag, given in (("--with-stack", with_stack), ("--images", images), ("--rbac", rbac)) if given]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} print different things", hint="give one of them")
    if split and directory is None:
        raise UsageError("--split keeps a folder, and none is named", hint="name it with --dir DIR")
    if images and directory is not None:
        raise UsageError("--images prints a list, and writes no files", hint="leave --dir out")
    if stack is StackChoice.reuse and not rbac:
        raise UsageError("render asks no cluster, so it cannot reuse a stack", hint="leave --stack out")
