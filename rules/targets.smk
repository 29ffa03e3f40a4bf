# What can be asked for by name: `snakemake --cores 20 table4`. Each is the reports of the experiments whose names
# begin with it.
rule demo:
    input:
        lambda wildcards: reports_of(GRID, "demo"),


rule table4:
    input:
        lambda wildcards: reports_of(GRID, "table4"),


rule table5:
    input:
        lambda wildcards: reports_of(GRID, "table5"),


rule ismplus:
    input:
        lambda wildcards: reports_of(GRID, "ismplus"),


rule lowrank:
    input:
        LOWRANK.reports(),


rule reports:
    input:
        reports_of(GRID),
        LOWRANK.reports(),
        "reports/published_vs_ours.csv",
        "reports/published_vs_ours.html",
