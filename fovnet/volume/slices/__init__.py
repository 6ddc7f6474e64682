"""From a volume to what networks and people look at; 128 × 128 pixels each.

    stack      `slice_volume`: a source's `SliceStack`, and `Slicing`, how it is cut
    placing    where slices lie; numpy alone, as training needs it
    resizing   from a plane of voxels to the pixels of a slice
    sections   sagittal and coronal sections, made from the slices
    planes     three pictures of each plane
    outlines   directions of edges in these pictures

Behind these doors: `noisy_air`, noise around the body, made black; `even_light`, shading divided out.
"""
