"""The rule matcher: keywords and phrases that cannot be dodged and do not misfire.

Flow: fold the text (``fold``, ``scan``, ``stream``) -> the automaton finds candidates -> each is compared
with the original, letter by letter (``verify``) -> its edges are judged by script (``boundary``) -> a hit.
"""

from worker.rules.compiled import CompiledRules
from worker.rules.compiler import compile_rules
from worker.rules.model import Hit, How, Level, ProblemLevel, Rule, RuleKind, RuleProblem, Switch
from worker.rules.syntax import parse_rule
from worker.rules.validation import validate_rules

__all__ = [
    "CompiledRules",
    "Hit",
    "How",
    "Level",
    "ProblemLevel",
    "Rule",
    "RuleKind",
    "RuleProblem",
    "Switch",
    "compile_rules",
    "parse_rule",
    "validate_rules",
]
