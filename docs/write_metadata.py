"""Writes dist/codemeta.json and dist/.zenodo.json from pyproject.toml and CITATION.cff; `make metadata` runs it."""

import json
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
LICENCE = "https://spdx.org/licenses/{}"


def read_sources():
    """Return the project's table of pyproject.toml, and CITATION.cff."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project, yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def codemeta(project, citation):
    """Return the metadata in CodeMeta 3.0."""
    return {
        "@context": "https://w3id.org/codemeta/3.0",
        "type": "SoftwareSourceCode",
        "name": project["name"],
        "alternateName": citation["title"],
        "description": project["description"],
        "version": project["version"],
        "license": LICENCE.format(project["license"]),
        "author": [{"type": "Organization", "name": author["name"]} for author in project["authors"]],
        "keywords": project["keywords"],
        "programmingLanguage": "Python",
        "runtimePlatform": f"Python {project['requires-python'].removeprefix('>=')} or newer",
        "operatingSystem": "Linux",
        "softwareRequirements": project["dependencies"],
        "referencePublication": [
            {
                "type": "ScholarlyArticle",
                "name": work["title"],
                "datePublished": str(work["year"]),
                "author": [
                    {"type": "Person", "givenName": one["given-names"], "familyName": one["family-names"]}
                    for one in work["authors"]
                ],
            }
            for work in citation["references"]
        ],
        **address_of(citation, "codeRepository"),
    }


def zenodo(project, citation):
    """Return the metadata of a deposit at Zenodo."""
    return {
        "upload_type": "software",
        "access_right": "open",
        "title": citation["title"],
        "description": project["description"],
        "version": project["version"],
        "license": project["license"],
        "creators": [{"name": author["name"]} for author in project["authors"]],
        "keywords": project["keywords"],
        "notes": citation["message"],
        "related_identifiers": [
            {"identifier": address, "relation": "references", "resource_type": "publication-article"}
            for name, address in project["urls"].items()
            if name.startswith("Paper")
        ],
    }


def address_of(citation, name):
    """Return the address of the repository under this name; nothing while there is none."""
    return {name: citation["repository-code"]} if "repository-code" in citation else {}


def metadata():
    """Return the text of each file by its name."""
    sources = read_sources()
    made = {"codemeta.json": codemeta(*sources), ".zenodo.json": zenodo(*sources)}
    return {name: json.dumps(one, indent=2, ensure_ascii=False) + "\n" for name, one in made.items()}


if __name__ == "__main__":
    (ROOT / "dist").mkdir(exist_ok=True)
    for name, text in metadata().items():
        (ROOT / "dist" / name).write_text(text, encoding="utf-8")
