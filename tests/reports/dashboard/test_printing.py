"""Which tables paper shows where it has no room for all."""

from dataclasses import replace

import pytest

from kdrbench.reports.dashboard.printing import not_printed, printed_tables
from support.dashboard_grid import extra_table, grid_config


def named(name, n_rows=20):
    made = extra_table()
    return replace(made, name=name, blocks=[made.rows[:1] * n_rows])


@pytest.mark.parametrize(("n_tables", "said"), [(40, ""), (41, "41 tables and 0 figures")])
def test_all_tables_are_printed_up_to_forty(n_tables, said):
    assert not_printed([extra_table()] * n_tables, []) == said


def test_tables_of_papers_are_printed_before_others_and_long_ones_are_not():
    config = grid_config(["own", "by_protocol", "first"])
    published = config["experiments"]["first"]["published"]
    config["experiments"]["by_protocol"] = config["experiments"]["first"] | {
        "published": published | {"protocol": True}
    }
    config["experiments"]["own"] = config["experiments"]["first"] | {"published": {}}
    others = [named(f"other{place}") for place in range(40)]
    printed = printed_tables([*others, named("own"), named("by_protocol"), named("long", 41), named("first")], config)
    assert {"first", "by_protocol", "other0"} <= printed
    assert not {"long", "own", "other39"} & printed
    assert 5 < len(printed) < 20
