"""Decisions based on probabilities: costs, thresholds, abstention, and policies for campaigns."""

from petiole.decisions.abstention import decide_or_abstain, with_abstention
from petiole.decisions.budgets import best_rows
from petiole.decisions.choice import decide, expected_cost
from petiole.decisions.cost_models import COST_MODELS, random_costs
from petiole.decisions.cost_sensitive import CostSensitiveClassifier
from petiole.decisions.expected_profit import ExpectedProfitClassifier
from petiole.decisions.mailing import campaign_profit, mail_policy
from petiole.decisions.thresholds import threshold

__all__ = [
    "COST_MODELS",
    "CostSensitiveClassifier",
    "ExpectedProfitClassifier",
    "best_rows",
    "campaign_profit",
    "decide",
    "decide_or_abstain",
    "expected_cost",
    "mail_policy",
    "random_costs",
    "threshold",
    "with_abstention",
]
