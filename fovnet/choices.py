"""The words that a configuration and the code that obeys it share, each list once."""

from __future__ import annotations

from typing import Literal

# models of a search: `search.look.view.Modelling`
Models = Literal["alternating", "single"]
Targets = Literal["half-ranked", "half-limited", "ranked", "raw"]
Kernel = Literal["matern52", "squared-exponential"]
Hyperparameters = Literal["map", "sampled"]
Choose = Literal["best", "drawn"]
Fidelity = Literal["latest", "axis"]
BoundWidth = float | Literal["schedule"]
Candidates = Literal[24, "all"]
# how "mads", "a-mads" and "a-dogs" search: `search.look.view.Neighbour` and `Polling`
NeighbourLevels = Literal["all", "next", "steps"]
PollOrder = Literal["shepard", "none"]
PollCategories = Literal["free", "fixed", "reals"]
# how "ranking" learns: `search.look.view.Ranking`
RankingLoss = Literal["list", "pair", "net", "point"]
RankingWeight = Literal["log", "inverse", "linear", "one"]
RankingAcquisition = Literal["log-ei", "thompson", "mean-rank"]
# what a search spends on a training: `search.spend.schedule`
SpendKind = Literal["full", "hyperband", "asha", "asha-or-full"]
# kinds of DICOM series that are set aside, and read on request: `volume.dicom.triage`
IncludableSeries = Literal["localizer", "derived", "phase", "single", "repeat", "animal"]
