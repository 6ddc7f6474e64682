"""What is written for readers: HTML from `templates/`, and beside it the same for programs.

templating      the templates of all pages
pour            the report, filled in
card            the model card
facts           report.json, and the report's tables as TSV
volume_page     the page of one predicted volume
index_page      the list of all
predictions     the files that `fovnet predict` leaves: a JSON, a picture and one page per volume
answers_folder  the folder that they lie in
covering        whether faces are covered in them
"""
