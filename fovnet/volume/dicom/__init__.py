"""From DICOM objects, in files, folders and archives, to volumes: `reading` for readers, `survey` for discovery, the rest for exports."""
