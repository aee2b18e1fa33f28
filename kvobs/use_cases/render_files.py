"""A render as files: one an object, or a folder that is a kustomization and stays one from render to render."""

from __future__ import annotations

from dataclasses import replace

from ..adapters.folders import delete_files, marked_files
from ..adapters.sources import write_files
from ..errors import ActionError
from ..stack.file_names import KUSTOMIZATION, MARK, file_names, kustomization
from ..stack.manifests import to_yaml
from .render import Rendered


def write(rendered: Rendered, directory: str) -> Rendered:
    """Write one YAML file an object into *directory*, made if missing; return the same with the files' paths."""
    return replace(rendered, files=tuple(write_files(directory, _files(rendered))))


def split(rendered: Rendered, directory: str) -> Rendered:
    """Keep *directory* as a kustomization of the objects; return the same with its files, and with those removed.

    What an earlier split wrote and this one does not is deleted; a file of somebody else's is never overwritten or
    deleted. Interrupted, it is finished by running it again. Raises `ActionError`.
    """
    files = {name: f"{MARK}\n".encode() + content for name, content in _files(rendered).items()}
    there = marked_files(directory, MARK, ending=".yaml")
    theirs = [name for name in (*files, KUSTOMIZATION) if there.get(name) is False]
    if theirs:
        raise ActionError(
            f"{directory} already has {', '.join(theirs)}, and kvobs render --split did not write it",
            hint="give --dir a folder of its own, and list that folder in your kustomization.yaml",
        )
    paths = write_files(directory, files)
    # After what it lists, and before what it no longer lists is gone: at any moment it can be built.
    paths += write_files(directory, {KUSTOMIZATION: kustomization(list(files)).encode()})
    stale = [name for name, ours in there.items() if ours and name not in files and name != KUSTOMIZATION]
    return replace(rendered, files=tuple(paths), removed=tuple(delete_files(directory, stale)))


def _files(rendered: Rendered) -> dict[str, bytes]:
    names = file_names(rendered.objects)
    return {
        name: to_yaml([each], public=rendered.public).encode()
        for name, each in zip(names, rendered.objects, strict=True)
    }
