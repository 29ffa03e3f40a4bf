# What can be asked for by name: `snakemake --cores 20 table4`. Each is the reports of the experiments whose names
# begin with it.
rule demo:
    input:
        lambda wildcards: reports_of(GRID, "demo"),
        [f"reports/figures/performance_profile.{kind}" for kind in FIGURE_KINDS],
        "reports/dashboard.html",


rule table4:
    input:
        lambda wildcards: reports_of(GRID, "table4"),


rule table5:
    input:
        lambda wildcards: reports_of(GRID, "table5"),


rule ismplus:
    input:
        lambda wildcards: reports_of(GRID, "ismplus"),


rule figure1a:
    input:
        lambda wildcards: reports_of(GRID, "figure1a"),


rule reports:
    input:
        reports_of(GRID),
        [f"reports/figures/performance_profile.{kind}" for kind in FIGURE_KINDS],
        "reports/published_vs_ours.csv",
        "reports/published_vs_ours.html",
        "reports/dashboard.html",
