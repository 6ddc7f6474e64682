"""gp-ei: the free row of greatest expected improvement, under two models of the scores by turns.

No model is right about every loss.  Ranks of the worse half protect a model from losses of 1e30,
but spread trainings that learned nothing as far apart as good ones.  Lengthscales fitted to a few
failures exclude half a space; failures that count as bad scores exclude what lies beside them, where
a learning rate just below divergence may be the best.  A search that keeps to one model is misled
for dozens of trainings where it is wrong; one that takes turns only at every second.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from fovnet.search.look.feasibility import Chances
from fovnet.search.look.gaussian import (
    Belief,
    believe,
    choose_from_best,
    forecast_score,
    most_improving_rows,
)
from fovnet.search.look.hyperparameters import REFIT_SHARE
from fovnet.search.look.view import Choice, View
from fovnet.search.trial import Forecast

BOLD_STRETCH = 1.5
"""What the bolder model multiplies the fitted lengthscales by; 2 differs by chance on thirteen
recorded tables, 1.25 on five."""
ALTERNATING_REFIT_SHARE = REFIT_SHARE // 2
"""Each of two models is fitted half as often as a single one, so that a proposal costs no more."""


def choose_by_expected_improvement(view: View) -> Choice:
    """The row of greatest log expected improvement (with `per_second`, per predicted second),
    weighted by its probability to train (`Chances.best_rows`).

    Where the number of rows begun is odd, by a bolder model, unless `models` is "single".
    """
    if view.modelling.models == "single":
        return choose_by_single_model(view)
    if view.begun_count % 2 == 1:
        return _choose_boldly(view)
    believe_by_turns = partial(believe, refit_share=ALTERNATING_REFIT_SHARE)
    return choose_from_best(view, most_improving_rows, believe_by_turns)


def choose_by_single_model(view: View) -> Choice:
    """The row of greatest log expected improvement, weighted by its probability to train, without
    turns.

    gp-hyperband chooses so: alternating models cost it 1.0, 0.8, 1.5 and 1.3 times the epochs on
    four tasks of TaskSet (20 runs each), where gp-ei with asha needs 1.0, 1.2, 0.9 and 0.9 times.
    """
    return choose_from_best(view, most_improving_rows)


def _choose_boldly(view: View) -> Choice:
    """The choice under a model with longer lengthscales, for which a failure is the worst score; of
    the targets "half-ranked" it keeps the distances in the worse half.  Memory is estimated as ever.

    The forecast has no expected regret: it would be smaller, by the lengthscales alone.
    """
    bold_modelling = view.modelling
    if bold_modelling.targets == "half-ranked":
        bold_modelling = replace(bold_modelling, targets="half-limited")

    def forecast(_bold_view: View, belief: Belief, _chances: Chances, row: int) -> Forecast:
        """The forecast of a row, with the probability to train that the failures tell of."""
        return forecast_score(belief, Chances(view), row)

    return choose_from_best(
        replace(score_failures(view), modelling=bold_modelling),
        most_improving_rows,
        partial(believe, stretch=BOLD_STRETCH, refit_share=ALTERNATING_REFIT_SHARE),
        forecast,
    )


def score_failures(view: View) -> View:
    """The view in which every training that failed because of its configuration has the worst score
    of all; the same view if there is no failure or no score.

    A model of the scores then has one set of lengthscales to say where both are: those fitted to a
    few failures alone excluded the best of 600 networks for up to 60 trainings.
    """
    scores = view.scored_losses.losses
    if not len(scores) or not len(view.failed_rows):
        return view
    worst_score = float(scores.max())
    trials = []
    for trial in view.trials:
        if view.is_failure(trial):
            outcome = replace(trial.outcome, status="completed", score=worst_score)
            trial = replace(trial, outcome=outcome)
        trials.append(trial)
    return replace(view, trials=tuple(trials))
