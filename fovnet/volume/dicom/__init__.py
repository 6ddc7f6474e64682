"""From DICOM objects, in files, folders and archives, to volumes: `survey` for readers and discovery, `header` and `pixels` for exports."""
