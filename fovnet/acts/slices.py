"""The slices in a run's results folder, refused where they were cut with other settings."""

from __future__ import annotations

from pathlib import Path

from fovnet.commands import simulating, with_config
from fovnet.config.models import Settings
from fovnet.config.regions import vocabulary
from fovnet.errors import CollectionError, ConfigError
from fovnet.results import Results
from fovnet.volume.collection.pack import Pack, load_pack


def load_slices(settings: Settings) -> Pack:
    """The slices in the results folder of a configuration.

    Raises CollectionError as `load_pack`, and ConfigError ("slices-other-settings") if they were
    cut or labelled with other settings: regions could be mixed up, and a report would state
    settings that were not used.
    """
    results = Results(Path(settings.results))
    pack = load_pack(results.slices)
    _refuse_other_settings(settings, results, pack)
    return pack


def _refuse_other_settings(settings: Settings, results: Results, pack: Pack) -> None:
    """Raises ConfigError "slices-other-settings" unless the pack was cut and labelled with these
    settings."""
    configured_value_by_name = {
        "classes": ", ".join(vocabulary(settings.regions).classes),
        **{
            setting: settings.prepare.slicing[setting]
            for setting in ("target_spacing_mm", "max_tilt_deg", "even_light")
        },
    }
    pack_value_by_name = {
        "classes": ", ".join(pack.classes),
        "even_light": False,  # unless the format says so
        **pack.slice_format,
    }
    for setting, value in configured_value_by_name.items():
        if pack_value_by_name.get(setting, value) != value:
            raise ConfigError(
                "slices-other-settings",
                f"{results.slices}: made with {setting} = {pack_value_by_name[setting]}, but the configuration "
                f"says {value}; use the configuration that made them, set another `results`, or "
                "run `fovnet slice` again",
            )


def load_configured_slices(settings: Settings, config: Path) -> Pack:
    """The slices in the results folder.  Raises as `load_slices`; CollectionError "pack-missing"
    then says what to run first."""
    try:
        return load_slices(settings)
    except CollectionError as fault:
        if fault.code != "pack-missing":
            raise
    results = Results(Path(settings.results))
    commands_in_words = f"`{with_config('slice', config)}`"
    if results.is_to_simulate(settings.phantom.subjects):
        commands_in_words = f"`{simulating(settings)}` and {commands_in_words}"
    raise CollectionError(
        "pack-missing", f"{results.slices}: no slices yet; run {commands_in_words} first"
    )
