"""Whether slices are those that an ensemble was made for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fovnet.errors import ModelError
from fovnet.volume.slices import Slicing, slice_format

if TYPE_CHECKING:
    from fovnet.decision.ensemble import Ensemble
    from fovnet.volume.pack import Pack


def refuse_unfit(name: str, ensemble: Ensemble, pack: Pack) -> None:
    """Nothing, if the ensemble, called `name` in errors, has the classes of the pack, and slices cut in the same way.

    Raises ModelError "weights-other-classes" or "slices-differ".
    """
    if ensemble.vocabulary.classes != pack.classes:
        mine, wanted = (", ".join(classes) for classes in (ensemble.vocabulary.classes, pack.classes))
        raise ModelError("weights-other-classes", f"{pack.folder}: its classes are {wanted}, those of {name} are {mine}; slice it with "
                                                  "the regions the model knows")
    if slice_format(Slicing(**ensemble.prepare)) != dict(pack.slice_format):
        raise ModelError("slices-differ", f"{pack.folder}: its slices are cut otherwise than those of {name}; cut them with "
                                          f"prepare: {dict(ensemble.prepare)}")
