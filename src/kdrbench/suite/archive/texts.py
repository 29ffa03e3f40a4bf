"""What a packed record says of itself to people: its README."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kdrbench.errors import counted

_README = """\
# A packed record of kdrbench

{size:.1f} MB, made by `kdrbench pack` of kdrbench {version}; written by no hand. {state}

Of {timed} timed rows {disturbed} were disturbed, and are marked: cores changed their speed, or worked for others too.
{limits}{uncommitted}
| folder | what it holds |
|---|---|
| `rows/` | the rows of each experiment, as CSV |
| `traces/` | points of the runs' traces, as CSV{thinned} |
| `arrays/` | what runs found, as NumPy arrays: a table says where each array begins, and which are not stored |
| `charts/` | figures that show samples of data sets, as JSON, so that no data are needed to draw them |
| `others/` | findings of plug-ins, and best known solutions |
| `configuration.json.xz` | the configuration that was run |
| `manifest.json` | what is here, with the SHA-256 of each file |

All files are compressed by xz. `xz -d`, pandas and Python's standard library read them.

    kdrbench report DIR --out reports/record     all tables, figures and pages, without data
    kdrbench verify DIR                          every stored result computed again, from data
    kdrbench unpack DIR --out results            a folder of results, from which the workflow goes on

{rules}
| experiment | rows | jobs | jobs missing | projections not stored | timed rows | disturbed |
|---|---|---|---|---|---|---|
{table}

The licence is {licence}, see LICENSE.
"""

_RULES = """\
Projections are in float32. Of each cell (data set, kernel, method) those of the first runs are stored, as long as they
take at most {most:.0f} KiB together; that of the first run always is. Traces keep the points that draw the same curves
to half a pixel, and those that decide a number in a table. All other numbers are as they were measured.
"""
_WHOLE = "Everything is as it was measured: nothing is thinned, rounded or left out.\n"


_LIMITS = """\
{n} were made under other limits of time than those of the configuration, and ended before both: {which}.
"""


_UNCOMMITTED = """\
{n} were made in a checkout with uncommitted changes: {which}.
"""


def _of_limits(experiments: Mapping[str, Any]) -> str:
    """Return the sentence on rows with other limits than their configuration's; nothing where there are none."""
    found = {name: one["other_limits_s"] for name, one in experiments.items() if one["other_limits_s"]}
    which = ", ".join(
        f"{count} of {name} under {float(limit):g} s" for name, one in found.items() for limit, count in one.items()
    )
    n_rows = sum(sum(one.values()) for one in found.values())
    return _LIMITS.format(n=counted(n_rows, "row").capitalize(), which=which) if found else ""


def _of_uncommitted(experiments: Mapping[str, Any]) -> str:
    """Return the sentence on rows whose sources no commit holds; nothing where there are none."""
    found = {name: one["uncommitted"] for name, one in experiments.items() if one["uncommitted"]}
    which = ", ".join(f"{count} of {name}" for name, count in found.items())
    return _UNCOMMITTED.format(n=counted(sum(found.values()), "row"), which=which) if found else ""


def readme(manifest: Mapping[str, Any], n_bytes: int) -> str:
    """Return the README of a record with this manifest and ``n_bytes`` of files."""
    whole, experiments = manifest["whole"], manifest["experiments"]
    missing = sum(one["jobs_missing"] for one in experiments.values())
    not_complete = f"It is not complete: {counted(missing, 'job')} of its experiments, or others of them, are missing."
    columns = ("rows", "jobs", "jobs_missing", "projections_not_stored", "timed", "disturbed")
    timed, disturbed = (sum(one[name] for one in experiments.values()) for name in ("timed", "disturbed"))
    return _README.format(
        size=n_bytes / 1e6,
        version=manifest["kdrbench_version"],
        timed=timed,
        disturbed=disturbed,
        limits=_of_limits(experiments),
        uncommitted=_of_uncommitted(experiments),
        state="It is complete." if manifest["complete"] else not_complete,
        licence=manifest["licence"],
        thinned="" if whole else ", thinned",
        rules=_WHOLE if whole else _RULES.format(most=manifest["most_of_a_cell"] / 1024),
        table="\n".join(
            f"| {name} | " + " | ".join(str(one[column]) for column in columns) + " |"
            for name, one in experiments.items()
        ),
    )
