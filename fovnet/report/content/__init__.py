"""What the report says: nine chapters, a frozen dataclass and a file each, filled from the records
of a run.

page         `Page`, the chapters in reading order, and `gather_page`, which fills them from
run_record   `RunRecord`: settings, manifest, trials, members, rule

answer       the result in a few sentences and three numbers, and the intended use
cohort       volumes and subjects
reference    the reference standard
performance  errors by slice, border, volume and subgroup
confidence   calibration, and risk against coverage
cases        failures and pictures of single volumes
search       trials, members, rule
method       what was done, and its limits
provenance   versions, hashes, configuration

Of these chapters:
flow                from the volumes listed to those answered
people              attributes by split
ablation            what each step is worth
statement_rates     of what is said of each region
failures            of single volumes
pictures            of volumes that were chosen
faces               covers slices that may show one
trainings           of a search, and their cost
search_explanation  why a search went so
layer_drawings      members whose layers are drawn
statements          texts of every report
checklists          of two guidelines

On the page of one volume:
region_answers      what is said of each region, as chips and in a sentence
parts               of the parts of regions

cells           tables and measured numbers
wording         numbers as text
layers          a network of layers on a line of text
doubt_words     codes in words
package_tables  codes.tsv, claim.tsv and tripod.tsv of this folder
"""
