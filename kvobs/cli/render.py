"""`kvobs render`."""

from __future__ import annotations

from typing import Annotated

import typer

from ..settings import DEFAULT_NAMESPACE, DEFAULT_RELEASE, Settings
from .options import Dashboards, Datasources, Dcgm, Output, Release, Set, Values, values_documents
from .streams import errors, finish, print_account


def render(
    namespace: Annotated[
        str, typer.Option("-n", "--namespace", metavar="NAME", help="Namespace of the objects.")
    ] = DEFAULT_NAMESPACE,
    release: Release = DEFAULT_RELEASE,
    values: Values = None,
    set_values: Set = None,
    dashboard: Dashboards = None,
    datasource: Datasources = None,
    dcgm: Dcgm = None,
    directory: Annotated[
        str | None,
        typer.Option("--dir", metavar="DIR", help="Write one file an object there, not to stdout."),
    ] = None,
    output: Annotated[
        Output, typer.Option("-o", "--output", help="Format of the objects (text is yaml).")
    ] = Output.yaml,
) -> None:
    """Print the objects that install would apply; needs no cluster, no Helm, no network."""
    with errors(Output.text):
        from ..use_cases.render import render as run
        from ..use_cases.render import write

        settings = Settings(
            namespace=namespace,
            release=release,
            values=tuple(values_documents(values)),
            set_values=tuple(set_values or ()),
            dashboards=tuple(dashboard or ()),
            datasources=tuple(datasource or ()),
            dcgm=dcgm.value if dcgm else None,
        )
        rendered = run(settings)
        print_account("\n".join(f"! {source}: {why}" for source, why in rendered.refused))
        if directory is not None:
            finish(write(rendered, directory), Output.text if output is Output.yaml else output)
        else:
            finish(rendered, output)
