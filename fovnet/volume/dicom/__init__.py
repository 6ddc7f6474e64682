"""From DICOM objects in files, folders and archives to volumes: `reading` reads one volume, `survey` lists
those of a place."""
