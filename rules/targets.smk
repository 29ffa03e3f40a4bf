# What can be asked for by name: `snakemake --cores 20 neurips2019_table4`. Every experiment that is run is a target, and
# so are the papers' tables and figures.
for target_name, target_files in TARGETS.items():

    rule:
        name:
            target_name
        input:
            target_files,
        localrule: True
