"""For the site (mkdocs.yml): pages beside docs/ become part of it, and links lead where they do in the repository.

README.md is the first page. A link to a file that the site lacks, or to a folder without a README, fails the build.
"""

from __future__ import annotations

import re
from os.path import normpath
from pathlib import Path
from posixpath import relpath
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
BESIDE_DOCS = ("*.md", "benchmarks/*.md", "traces/**/*", "schemas/*", "servers.yaml")
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")


def on_files(files: Any, *, config: Any) -> Any:
    """Add what stands beside docs/."""
    for pattern in BESIDE_DOCS:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file():
                source = path.relative_to(ROOT).as_posix()
                files.append(File.generated(config, site_path(source), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Turn links between files of the repository into those between files of the site."""
    if page.file.generated_by is None:
        source = f"docs/{page.file.src_uri}"
    else:
        source = "README.md" if page.file.src_uri == "index.md" else page.file.src_uri
    here = Path(source).parent
    start = str(Path(page.file.src_uri).parent)

    def moved(link: re.Match[str]) -> str:
        return relpath(site_path(normpath(here / link[1])), start)

    return LINK.sub(moved, markdown)


def site_path(source: str) -> str:
    """Where a file of the repository is in the site: docs/ is its root."""
    if source == "README.md":
        return "index.md"
    path = ROOT / source
    if path.is_dir() and (path / "README.md").is_file():
        source += "/README.md"
    return source.removeprefix("docs/")
