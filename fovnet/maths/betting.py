"""A test of whether a mean lies below a limit, by betting (a test supermartingale).

    x (n,)  independent observations in [0, 1] of the same mean, in an order that does not depend on
            their values
    limit   null hypothesis: the mean is this or more
    wealth  starts at 1; before each observation a share λ of it is staked on x < limit:  wealth *=
            1 + λ (limit - x)

If the mean is the limit or more, the expected wealth never grows, so wealth ≥ 1/p happens with
probability p at most (Ville): 1 / (highest wealth) is a p-value, valid for every number of
observations and every distribution of x.  The stake depends on the previous observations: it is
larger the less they vary. Sources: Waudby-Smith & Ramdas (2024), *Estimating means of bounded
random variables by betting*, JRSS B 86:1, section 4.2 and eq. 26; used for stated error rates by
Angelopoulos et al. (2021), *Learn then test*, arXiv:2110.01052, and Bates et al. (2021), JACM
68:43.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# of the largest stake that cannot ruin: a single observation of 1 leaves a hundredth of the wealth
GREATEST_STAKE_SHARE = 0.99


def p_value_of_reaching(
    limit: float, observations: NDArray[np.float64], error_level: float = 0.1
) -> float:
    """The p-value, in (0, 1], of "the mean of the `observations` (n,) is `limit` or
    more".

    error_level  the error level that the stakes are optimised for; the p-value is valid for any, and
             best near it
    """
    if not len(observations):
        return 1.0
    stake_scale = math.sqrt(2.0 * math.log(1.0 / error_level) / len(observations))
    greatest_stake = GREATEST_STAKE_SHARE / (1.0 - limit)
    # in logarithms; mean and variance begin at 1/2 and 1/4, as in the source
    log_wealth = 0.0
    highest_log_wealth = 0.0
    value_sum = 0.5
    squared_deviation_sum = 0.25
    for observation_count, observation in enumerate(map(float, observations), start=1):
        log_wealth += math.log1p(
            min(greatest_stake, stake_scale / math.sqrt(squared_deviation_sum / observation_count))
            * (limit - observation)
        )
        highest_log_wealth = max(highest_log_wealth, log_wealth)
        value_sum += observation
        squared_deviation_sum += (observation - value_sum / (observation_count + 1)) ** 2
    return math.exp(-highest_log_wealth)
