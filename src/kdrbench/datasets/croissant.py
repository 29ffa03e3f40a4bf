"""A data set as Croissant metadata (https://docs.mlcommons.org/croissant/), with the fields for responsible AI.

Everything comes from the registry: what a field says, the data card says as well.
"""

from __future__ import annotations

import json
import re
from typing import Any

from kdrbench.datasets.card import biases_of, collection_of
from kdrbench.datasets.registry import DatasetEntry, SourceFile
from kdrbench.errors import counted

_LICENCES = {
    "CC BY 4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC BY-SA 3.0": "https://creativecommons.org/licenses/by-sa/3.0/",
    "MIT": "https://spdx.org/licenses/MIT",
}
_SCIKIT_LEARN = "https://scikit-learn.org/stable/datasets/toy_dataset.html"
_USES = (
    "Comparing methods that learn projections, metrics and kernels. Not for decisions about persons, and no measure of "
    "how a method does on other data."
)
_TERMS = "citeAs column extract field fileObject fileProperty fileSet format includes isLiveDataset jsonPath key md5"
_TERMS += (
    " parentField path recordSet references regex repeated replace samplingRate separator source subField transform"
)
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "equivalentProperty": "cr:equivalentProperty",
    "data": {"@id": "cr:data", "@type": "@json"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{term: f"cr:{term}" for term in _TERMS.split()},
}
# How the citation of a set begins that is known from a paper which used it.
_USED = "Used by"
_FORMATS = {".gz": "application/gzip", ".csv": "text/csv", ".png": "image/png", ".mat": "application/x-matlab-data"}


def croissant(entry: DatasetEntry) -> dict[str, Any]:
    """Return the metadata of a data set, fields that have nothing to say left out.

    Files without a public address and sets that are bundled or generated have no distribution.
    """
    creator, colon, _ = entry.citation.partition(":")
    # Of some sets only who used them is known, and of others no one is named.
    known = bool(colon) and not creator.startswith(_USED)
    year = re.findall(r"\b(?:19|20)\d\d\b", entry.citation)
    found = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": entry.name,
        "alternateName": entry.title,
        "description": _description(entry),
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "license": licence_of(entry),
        "citeAs": entry.citation,
        "creator": {"@type": "sc:Organization", "name": creator} if known else "",
        "url": _address(entry),
        "datePublished": year[0] if year else "",
        "version": "1.0.0",
        "distribution": [_file(file) for file in entry.files if file.urls],
        "recordSet": [_classes(entry)] if entry.classes else [],
        "rai:dataCollection": collection_of(entry),
        "rai:personalSensitiveInformation": entry.personal,
        "rai:dataBiases": biases_of(entry),
        "rai:dataImputationProtocol": entry.missing,
        "rai:dataPreprocessingProtocol": entry.scaling,
        "rai:dataUseCases": _USES,
    }
    return {name: value for name, value in found.items() if value not in ("", [])}


def croissant_text(entry: DatasetEntry) -> str:
    """Return the metadata as a document."""
    return json.dumps(croissant(entry), indent=1, ensure_ascii=False) + "\n"


def licence_of(entry: DatasetEntry) -> str:
    """Return the address of a licence that has one, otherwise what the registry says."""
    return _LICENCES.get(entry.licence.partition(" (")[0], entry.licence)


def _description(entry: DatasetEntry) -> str:
    size = f"{counted(entry.n_samples, 'sample')}, {counted(entry.n_features, 'feature')}"
    kind = size if entry.kind == "features" else f"A kernel matrix of {entry.n_samples} samples"
    parts = [f"{entry.title}. {kind}.", entry.notes, f"Differences from the papers': {entry.differences}"]
    return " ".join(filter(None, [*parts, f"SHA-256 of the values: {entry.content_sha256}."]))


def _address(entry: DatasetEntry) -> str:
    addresses = [url for file in entry.files for url in (*file.urls, *file.repackaged)]
    return next(iter(addresses), "" if entry.generated or entry.files else _SCIKIT_LEARN)


def _file(file: SourceFile) -> dict[str, Any]:
    name = file.path.rpartition("/")[2]
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": name,
        "contentUrl": file.urls[0],
        "contentSize": f"{file.size} B",
        "encodingFormat": next((kind for end, kind in _FORMATS.items() if name.endswith(end)), "text/plain"),
        "sha256": file.sha256,
    }


def _classes(entry: DatasetEntry) -> dict[str, Any]:
    fields = {"class": "sc:Text", "samples": "sc:Integer"}
    return {
        "@type": "cr:RecordSet",
        "@id": "classes",
        "name": "classes",
        "description": "The classes and their numbers of samples.",
        "key": {"@id": "classes/class"},
        "field": [
            {"@type": "cr:Field", "@id": f"classes/{name}", "name": name, "dataType": kind}
            for name, kind in fields.items()
        ],
        "data": [{"classes/class": name, "classes/samples": count} for name, count in entry.classes.items()],
    }
