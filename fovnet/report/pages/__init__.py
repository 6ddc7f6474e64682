"""What is written for readers: HTML from `templates/`, and beside it the same for programs.

pour          the templates, and the report filled in
card, facts   the model card; report.json and the report's tables as TSV
volume_page   the page of one predicted volume;  index_page  the list of all
predictions   the files that `fovnet predict` leaves: a JSON, a picture and one page per volume
covering      whether faces are covered in them
"""
