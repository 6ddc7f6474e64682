"""The kinds of error that fovnet raises.

An error is a sentence for the person who has to act on it: the file, the value seen, the value
wanted, and one thing to try. Its code is stable, so that a script may branch on it; the sentence
may be improved from release to release. Only `fovnet.cli` prints errors, and only `fovnet.cli`
turns them into an exit status.
"""


class FovnetError(Exception):
    """An expected failure: a stable `code` such as "volume-truncated", and a `sentence` for a
    person."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(code, sentence)  # both in args, so that the error survives pickling
        self.code = code
        self.sentence = sentence

    def __str__(self) -> str:
        return f"{self.sentence} [{self.code}]"


class ConfigError(FovnetError):
    """A configuration file or a command-line value that is not valid."""


class VolumeError(FovnetError):
    """A file that cannot be read as an MRI volume; the volume is refused, the batch goes on."""


class CollectionError(FovnetError):
    """A volumes.tsv / regions.tsv pair that contradicts itself or its volumes."""


class SearchError(FovnetError):
    """A search that cannot go on: no free row, a journal of another search, a second owner."""


class ModelError(FovnetError):
    """An ensemble folder or a weight file that is missing, damaged, or made for other inputs."""
