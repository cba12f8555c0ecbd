"""The rule matcher: keywords and phrases, found in disguise and not inside innocent words.

Flow: the text is folded and the automaton finds candidates (``folding``) -> each candidate is compared with
the original: letters and gaps, word edges, context (``matching``) -> a hit.
"""

from worker.rules.compiled import CompiledRules
from worker.rules.compiler import RuleSettings, compile_account_rules, compile_rules, rule_settings
from worker.rules.model import Hit, MatchMethod, ProblemLevel, RuleKind, RuleProblem
from worker.rules.syntax import parse_rule
from worker.rules.validation import validate_rules
