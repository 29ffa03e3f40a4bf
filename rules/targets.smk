# What can be asked for by name: `snakemake --cores 20 table4`. Each is the reports of the experiments whose names
# begin with it.
rule demo:
    input:
        lambda wildcards: reports_of(GRID, "demo"),
        scaling_reports_of(GRID),
        "reports/claims.html",
        "reports/dashboard.html",
        [f"reports/figures/performance_profile.{kind}" for kind in FIGURE_KINDS],


rule table4:
    input:
        lambda wildcards: reports_of(GRID, "table4"),


rule table5:
    input:
        lambda wildcards: reports_of(GRID, "table5"),


rule ismplus:
    input:
        lambda wildcards: reports_of(GRID, "ismplus"),


rule scaling:
    input:
        lambda wildcards: reports_of(GRID, "scaling"),
        scaling_reports_of(GRID),


rule kpca:
    input:
        lambda wildcards: metric_reports_of(METRIC, "kpca"),


rule lowrank:
    input:
        LOWRANK.reports(),


rule figure1a:
    input:
        lambda wildcards: reports_of(GRID, "figure1a"),


rule reports:
    input:
        reports_of(GRID),
        scaling_reports_of(GRID),
        "reports/claims.html",
        "reports/paired_tests.html",
        metric_reports_of(METRIC),
        LOWRANK.reports(),
        [f"reports/figures/performance_profile.{kind}" for kind in FIGURE_KINDS],
        "reports/published_vs_ours.csv",
        "reports/published_vs_ours.html",
        "reports/dashboard.html",
