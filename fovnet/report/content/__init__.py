"""What the report says: nine chapters, a frozen dataclass and a file each, filled from the records of a run.

page         `Page`, the chapters in reading order, and `gather`, which fills them from
run_record   `RunRecord`: settings, manifest, trials, members, rule

answer       the result in a few sentences and three numbers, and the intended use
cohort       volumes and subjects:  flow  from those listed to those answered;  people  attributes by split
reference    the reference standard
performance  errors by slice, border, volume and subgroup;  ablation  what each step is worth
confidence   calibration, and risk against coverage;  statement_rates  of what is said of each region
said         of one volume, as chips and in a sentence, on its page
cases        failures  of single volumes;  pictures  of those chosen;  faces  covers what may show one
search       trials, members, rule:  trainings  and their cost;  explained  why the search went so
method       what was done, and its limits:  statements  of every report;  checklists  of two guidelines
provenance   versions, hashes, configuration

cells        tables and measured numbers;  wording  numbers as text;  doubt_words  codes, from `codes.tsv`
"""
