"""`harness images`: what trials in containers need of this machine."""

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from harness.commands.options import Json


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    app.command()(images)


def images(
    python_base: Annotated[
        str | None,
        typer.Option(help="Image with Python and pip, on Debian.", show_default="the Dockerfiles'"),
    ] = None,
    debian_base: Annotated[
        str | None, typer.Option(help="Image of Debian.", show_default="the Dockerfile's")
    ] = None,
    as_json: Json = False,
) -> None:
    """Build the images that trials in containers run from; one of exactly this content is kept.

    Example: harness images
    """
    from harness.containers.images import build_images

    built = build_images(_tell, python_base, debian_base)
    if as_json:
        sys.stdout.write(json.dumps([asdict(image) for image in built], indent=2) + "\n")
        return
    for image in built:
        what = "kept" if image.kept else f"built in {image.seconds:.0f} s"
        sys.stdout.write(f"{image.tag}  {image.id}  {image.size / 1e6:.0f} MB  {what}\n")


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
