# What can be asked for by name: `snakemake --cores 20 table4`. Each is the reports of the experiments whose names
# begin with it.
rule demo:
    input:
        lambda wildcards: reports_of(GRID, "demo"),
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
        REPORTS,
        "reports/dashboard.html",
